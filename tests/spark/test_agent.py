"""The agent in a driver, over its own protocol: who may ask, what it tells, whose plans it takes, and what stays."""

from __future__ import annotations

import signal
import socket
import stat
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from penstock.changes import Assign, Cap, Change, Part, Place, Receipt, Rescale, Revert, Status, Target
from penstock.engines.spark.agent import Agent
from penstock.engines.spark.engine import SparkEngine
from penstock.errors import ChangeRefused, LeaseTaken, NotAttached
from penstock.ids import ChangeId, ComponentId, ContainerId, TopologyId
from penstock.topology.assignment import Assignment
from tests.spark.harness import JOBS, penstock
from tests.spark.launched import ENVIRONMENT, Launched, instances_used, launched, run, runs_as, schedule, within

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
COUNTS = Target(TopologyId("words"), ComponentId("counts"))
NOBODY = "00000000-0000-0000-0000-000000000000"


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


UI_PORT = free_port()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    """What `penstock conf` prints, and a spark-submit of the user's own: no Penstock runs beside it."""
    directory = tmp_path_factory.mktemp("production") / "run of clicks"
    conf = " ".join(f"'{word}'" for word in penstock("conf", "--run-dir", directory))
    options = f"--master 'local[4]' --conf spark.ui.port={UI_PORT} $PENSTOCK_OPTIONS"
    script = f'eval "$({conf})" && exec {SUBMIT} {options} {JOBS}/small_words.py'
    with launched(directory, ["bash", "-c", script]) as job:
        assert within(120, lambda: (directory / "url").exists()), job.complained[-4000:]
        seen = Agent.in_directory(directory)
        assert within(120, lambda: any(f["fact"] == "progress" for f in seen.facts(0).facts)), job.complained[-4000:]
        yield job


@pytest.fixture
def agent(driver: Launched) -> Agent:
    return Agent.in_directory(driver.out)


@pytest.fixture
def engine(agent: Agent) -> Iterator[SparkEngine]:
    engine = SparkEngine(agent)
    engine.observe()
    yield engine
    engine.release()


def counts(agent: Agent) -> dict[str, Any]:
    [query] = agent.state()["queries"]
    return dict(query)


def next_batch(agent: Agent) -> dict[str, tuple[int, int]]:
    """How the stages run in a batch that begins after this is called, and has rows in it."""
    since = agent.facts(0).next
    later: list[Any] = []

    def come() -> bool:
        later[:] = [f for f in agent.facts(since, 1000).facts if f["fact"] == "progress" and f["stages"]]
        return len(later) >= 2

    assert within(60, come)
    return instances_used(later[1])


# who may ask --------------------------------------------------------------------------------------------------


def status(url: str, header: dict[str, str], body: bytes | None = None) -> int:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, body, header), timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        assert error.read() == b""
        return error.code


def test_nothing_is_told_without_the_token(agent: Agent) -> None:
    assert status(f"{agent.url}/state", {"Authorization": f"Bearer {agent.token}"}) == 200
    almost = agent.token[:-1] + ("A" if agent.token[-1] != "A" else "B")
    for header in ({}, {"Authorization": agent.token}, {"Authorization": f"Bearer {almost}"}):
        for path in ("/state", "/facts?since=0", "/no-such-path"):
            assert status(agent.url + path, header) == 401
        assert status(f"{agent.url}/lease", header, b'{"holder": "x", "ttl_s": 100}') == 401
    with pytest.raises(NotAttached, match="does not take this token"):
        Agent(agent.url, almost).state()


def test_the_token_stands_in_its_file_only(driver: Launched, agent: Agent) -> None:
    assert stat.S_IMODE((driver.out / "token").stat().st_mode) == 0o600
    assert stat.S_IMODE(driver.out.stat().st_mode) == 0o700
    assert "SparkSubmit" in driver.command_lines()
    api = f"http://127.0.0.1:{UI_PORT}/api/v1/applications"
    [fact] = [f for f in agent.facts(0).facts if f["fact"] == "driver"]
    with urllib.request.urlopen(f"{api}/{fact['application']}/environment", timeout=30) as answer:
        configuration = answer.read().decode()
    assert "spark.app.name" in configuration
    family = driver.family()
    environments = "".join(Path(f"/proc/{p.pid}/environ").read_text(errors="replace") for p in family)
    assert str(driver.out) in environments
    for where in (driver.command_lines(), configuration, environments, driver.said, driver.complained):
        assert agent.token not in where


def test_it_listens_on_loopback_only(agent: Agent) -> None:
    port = int(agent.url.rpartition(":")[2])
    lines = [
        line.split() for file in ("tcp", "tcp6") for line in Path(f"/proc/net/{file}").read_text().splitlines()[1:]
    ]
    listening = {
        local.partition(":")[0] for _, local, _, state, *_ in lines if state == "0A" and local.endswith(f":{port:04X}")
    }
    assert listening in ({"0100007F"}, {"0000000000000000FFFF00000100007F"})


def test_a_proxy_of_the_environment_is_not_asked(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert agent.state()["queries"]


# what it tells ------------------------------------------------------------------------------------------------


def test_facts_are_numbered_without_a_gap(agent: Agent) -> None:
    whole = agent.facts(0)
    assert (whole.next, whole.missed) == (len(whole.facts), 0)
    assert [f["fact"] for f in whole.facts[:2]] == ["driver", "executor-added"]
    part = agent.facts(whole.next - 2)
    assert part.facts[:2] == whole.facts[-2:]
    assert part.next == whole.next - 2 + len(part.facts)
    fresh = agent.facts(part.next, wait_ms=10_000)
    assert fresh.facts, "it did not wait for the next fact"


def test_what_is_not_understood_is_refused_with_a_reason(agent: Agent) -> None:
    for method, path, body, why in (
        ("GET", "/facts?since=yesterday", None, "yesterday"),
        ("GET", "/no-such-path", None, "there is no GET /no-such-path"),
        ("POST", "/lease", {"holder": "x"}, "ttl_s"),
        ("POST", "/plans", {"version": 0, "plans": {}}, "who changes plans holds the lease"),
    ):
        with pytest.raises(ChangeRefused, match=why):
            agent._ask(method, path, body)


@pytest.fixture(scope="module")
def flooded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """A driver that has had more to tell than its agent keeps."""
    out = tmp_path_factory.mktemp("flooded") / "run"
    environment = {**ENVIRONMENT, "PENSTOCK_BIND": "127.0.0.2"}
    with run(out, [], JOBS / "small_flood.py", environment=environment) as job:
        job.until(lambda r: "the flood is over" in job.job_log)
        yield Agent.in_directory(out)


def test_memory_is_bounded_and_a_late_reader_is_told_what_it_missed(flooded: Agent) -> None:
    assert flooded.url.startswith("http://127.0.0.2:"), "PENSTOCK_BIND says where"
    page = flooded.facts(0)
    assert page.missed > 0
    assert page.next == page.missed + len(page.facts)
    assert sum(f["fact"] == "flood" for f in page.facts) <= 16, "a megabyte each"
    snapshot = SparkEngine(flooded).observe()
    assert snapshot is not None
    assert snapshot.missed_facts > 0


def test_a_late_reader_still_learns_what_stands(flooded: Agent) -> None:
    """Which queries run, and on what: told hours ago, and needed by whoever attaches now."""
    engine = SparkEngine(flooded)
    engine.observe()
    assert [t.component for t in engine.describe().targets] == ["counts"]
    assert engine.describe().slots == 2


# whose plans it takes -----------------------------------------------------------------------------------------


def test_one_regulator_holds_the_lease(agent: Agent) -> None:
    first = agent.take_lease("first", 100)
    with pytest.raises(LeaseTaken, match="first holds the lease"):
        agent.take_lease("second", 100)
    for lease in ("", "no lease", NOBODY):
        with pytest.raises(ChangeRefused, match="holds the lease"):
            agent.want(lease, first["version"], {})
    assert agent.take_lease("first", 100, first["lease"])["lease"] == first["lease"]
    agent.release("no lease")
    with pytest.raises(LeaseTaken):
        agent.take_lease("second", 100)
    agent.release(first["lease"])
    second = agent.take_lease("second", 100)
    with pytest.raises(LeaseTaken, match="second holds the lease"):
        agent.take_lease("first", 100, first["lease"])
    agent.release(second["lease"])


def test_a_lease_lapses(agent: Agent) -> None:
    first = agent.take_lease("first", 0.5)
    taken: list[Any] = []

    def second_has_it() -> bool:
        try:
            taken.append(agent.take_lease("second", 100))
        except LeaseTaken:
            return False
        return True

    assert within(10, second_has_it)
    with pytest.raises(ChangeRefused, match="holds the lease"):
        agent.want(first["lease"], first["version"], {counts(agent)["query"]: {"parallelism": 1}})
    agent.release(taken[0]["lease"])


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "parallelism 0": ({"parallelism": 0}, "parallelism is 0"),
    "parallelism below 0": ({"parallelism": -3}, "parallelism is -3"),
    "no parallelism": ({"instance_of": [0, 0, 0, 0]}, "parallelism"),
    "not a number": ({"parallelism": "two"}, "."),
    "an instance without work": ({"parallelism": 3, "instance_of": [0, 1, 0, 1]}, "without a substream"),
    "an instance that is not there": ({"parallelism": 2, "instance_of": [0, 1, 2, 1]}, "outside 0 to 1"),
    "an empty assignment": ({"parallelism": 1, "instance_of": []}, "outside 0 to 0"),
}


def test_bad_plans_are_refused_whole(agent: Agent) -> None:
    before = counts(agent)
    lease = agent.take_lease("tester", 100)
    version = lease["version"]
    for fields, why in BAD.values():
        with pytest.raises(ChangeRefused, match=why):
            agent.want(lease["lease"], version, {before["query"]: fields})
    for nobody, why in ((NOBODY, "no query .* runs here"), ("counts", "Invalid UUID")):
        with pytest.raises(ChangeRefused, match=why):
            agent.want(lease["lease"], version, {before["query"]: {"parallelism": 1}, nobody: {"parallelism": 1}})
    for stale in (version - 1, version + 1):
        with pytest.raises(ChangeRefused, match=f"version {version} is current"):
            agent.want(lease["lease"], stale, {before["query"]: {"parallelism": 1}})
    agent.release(lease["lease"])
    assert agent.state()["version"] == version
    assert counts(agent) == before


def apply(engine: SparkEngine, *parts: Part, id: str = "change") -> Receipt:
    return engine.apply(Change(ChangeId(id), parts, "the test asks", "tester"))


REFUSED: dict[str, tuple[Part, str]] = {
    "above the slots": (Rescale(COUNTS, 5), "cannot run as 5 instances: 1 to 4"),
    "none": (Rescale(COUNTS, 0), "cannot run as 0 instances"),
    "unknown query": (Rescale(Target(TopologyId("words"), ComponentId("count")), 1), "there are: words/counts"),
    "incomplete assignment": (Assign(COUNTS, Assignment((0, 1, 0))), "4"),
    "unknown executor": (Place(COUNTS, (ContainerId("17"),) * 4), "there is no executor 17"),
    "too many places": (Place(COUNTS, (ContainerId("driver"),) * 2), "has 1 instances, 2 places were given"),
    "a change of another kind": (Cap(COUNTS, 10), "cannot cap"),
    "no such change": (Revert(ChangeId("never")), "there is no change never"),
}


def test_a_change_that_cannot_be_is_refused_and_nothing_moves(agent: Agent, engine: SparkEngine) -> None:
    before = (agent.state()["version"], counts(agent))
    for part, why in REFUSED.values():
        receipt = apply(engine, Rescale(COUNTS, 1), part)
        assert receipt.status is Status.REFUSED, part
        assert why in (receipt.reason or ""), receipt.reason
    assert (agent.state()["version"], counts(agent)) == before


def test_an_assignment_is_in_force_within_two_batches_and_goes_back(agent: Agent, engine: SparkEngine) -> None:
    last = [f["batch"] for f in agent.facts(0).facts if f["fact"] == "progress"][-1]
    assert apply(engine, Assign(COUNTS, Assignment((0, 0, 0, 1))), id="uneven").status is Status.TAKEN
    assert instances_used_is(agent, 2)
    plan = [f for f in agent.facts(0).facts if f["fact"] == "plan-in-force"][-1]
    assert plan["plan"]["instance_of"] == [0, 0, 0, 1]
    assert plan["batch"] - last <= 3, "one may have been under way, two more are allowed"
    assert apply(engine, Revert(ChangeId("uneven")), id="back").status is Status.TAKEN
    assert instances_used_is(agent, 4)


def instances_used_is(agent: Agent, parallelism: int) -> bool:
    return within(30, lambda: next_batch(agent)["state-0"] == (parallelism, 4))


# attach, doctor, and what stays -------------------------------------------------------------------------------


def test_attach_regulates_leaves_and_the_plan_stays(driver: Launched, agent: Agent, tmp_path: Path) -> None:
    options = [*schedule(tmp_path, ("counts", 2)), "--duration", "600", "--json", "--quiet"]
    words = penstock("attach", driver.out, *options, "--out", tmp_path / "attached")
    with launched(tmp_path / "attached", words) as attached:
        attached.until(lambda r: runs_as(r, "counts", 2))
        with launched(tmp_path / "doctor", penstock("doctor", driver.out)) as doctor:
            assert doctor.process.wait(60) == 0
        assert attached.end(signal.SIGTERM) == 0
    assert attached.last_object["ended"] == "left; the last plan stays in force"
    assert [c["status"] for c in attached.last_object["changes"]] == ["in force"]
    assert "attached to words on local[4]: 4 slots" in doctor.said
    assert "counts: 2 instances, 4 state partitions" in doctor.said
    assert next_batch(agent)["state-0"] == (2, 4)
    agent.release(agent.take_lease("the next", 1)["lease"])  # it was given back


def test_attach_by_address_leaves_when_its_time_is_up(driver: Launched, agent: Agent, tmp_path: Path) -> None:
    options: list[str | Path] = ["--token-file", driver.out / "token", "--duration", "2", "--quiet"]
    words = penstock("attach", f"{agent.url}/", *options, "--out", tmp_path / "attached")
    with launched(tmp_path / "attached", words) as attached:
        assert attached.process.wait(60) == 0
    assert "left; the last plan stays in force" in attached.complained
    assert attached.facts("progress")


def test_what_cannot_be_attached_to_gets_one_sentence(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("not the token\n")
    (tmp_path / "left").mkdir()
    (tmp_path / "left" / "token").write_text("left over")
    (tmp_path / "left" / "url").write_text(f"http://127.0.0.1:{free_port()}\n")
    cases: list[tuple[list[str | Path], int, str]] = [
        ([tmp_path], 4, "no agent is announced in"),
        ([tmp_path / "left"], 4, "does not answer"),
        ([agent.url], 2, "an address needs --token-file"),
        ([agent.url, "--token-file", tmp_path / "gone"], 2, "cannot be read"),
        ([agent.url, "--token-file", tmp_path / "token"], 4, "does not take this token"),
    ]
    for words, code, why in cases:
        with launched(tmp_path / "attach", penstock("attach", *words, "--out", tmp_path / "run")) as attach:
            assert attach.process.wait(60) == code
        assert why in attach.complained
        assert len(attach.complained.splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_a_job_outlives_a_penstock_that_is_killed(tmp_path: Path) -> None:
    """And goes on under its last plan, until another takes over."""
    with run(tmp_path / "run", schedule(tmp_path, ("counts", 2)), JOBS / "small_talks.py") as job:
        job.until(lambda r: runs_as(r, "counts", 2))
        family = job.family()
        job.process.kill()
        job.process.wait(30)
        agent = Agent.in_directory(job.out)
        said = job.job_log.count("batch")
        assert within(30, lambda: job.job_log.count("batch") > said + 2), "it says nothing any more"
        assert next_batch(agent)["state-0"] == (2, 4)
        assert within(30, lambda: lease_is_free(agent))
        words = penstock("attach", job.out, *schedule(tmp_path, ("counts", 3)), "--out", tmp_path / "next", "--quiet")
        with launched(tmp_path / "next", words) as heir:
            heir.until(lambda r: runs_as(r, "counts", 3))
            driver = next(p for p in family if p.pid == job.driver_pid)
            driver.end(signal.SIGTERM)
            assert heir.process.wait(60) == 0
        assert "the driver has ended" in heir.complained


def lease_is_free(agent: Agent) -> bool:
    try:
        agent.release(agent.take_lease("looks only", 1)["lease"])
    except LeaseTaken:
        return False
    return True
