"""Jobs are run as their users wrote them, wherever they run; and their ends are told apart."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import pytest

from penstock.engines.spark import door
from tests.spark.harness import JOBS, PLAIN, penstock
from tests.spark.launched import ENVIRONMENT, Launched, all_gone, instances_used, launched, run, runs_as, schedule

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

SPARK = Path(pyspark.__file__).parent
KEYS = {"rows_in", "rows_out", "pending", "latency_s", "success_share", "mean_instances", "instance_seconds", "batches"}


@dataclass(frozen=True, slots=True)
class Users:
    """Classes of the user's own: a jar of them, and a folder of them."""

    jar: Path
    classes: Path


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Users:
    folder = tmp_path_factory.mktemp("users")
    (folder / "classes").mkdir()
    compiler = ["java", "-Xss8m", "-cp", f"{SPARK}/jars/*", "scala.tools.nsc.Main", "-usejavacp"]
    subprocess.run([*compiler, "-d", folder / "classes", JOBS / "small_users.scala"], check=True)
    with zipfile.ZipFile(folder / "users.jar", "w") as jar:
        for file in sorted((folder / "classes").rglob("*.class")):
            jar.write(file, file.relative_to(folder / "classes"))
            if not file.name.startswith("Extension"):
                file.unlink()  # each has what the other has not
    return Users(folder / "users.jar", folder / "classes")


def stopped_cleanly(job: Launched, how: signal.Signals) -> None:
    """Nothing that it started is left, and it says what happened."""
    family = job.family()
    assert len(family) >= 3, "the JVM was not seen"
    assert job.end(how) == 0, job.log()
    assert "the job was stopped, as asked" in job.complained
    assert all_gone(family) == []


def in_force(job: Launched) -> bool:
    entries = [json.loads(line) for line in (job.out / "actions.jsonl").read_text().splitlines()]
    return any((entry.get("receipt") or {}).get("status") == "in force" for entry in entries)


# where and how a job runs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("master", ["local[4]", "local-cluster[2,1,1024]"])
def test_what_a_job_sets_in_code_holds_and_it_is_rescaled(master: str, users: Users, tmp_path: Path) -> None:
    job: list[str | Path] = [JOBS / "small_users_own.py", master, users.jar, users.classes]
    with run(tmp_path / "run", schedule(tmp_path, ("counts", 1)), *job) as own:
        own.until(lambda r: runs_as(r, "counts", 1) and in_force(own))
        assert "extension 42 plugin on" in own.job_log
        assert "rows " in own.job_log, "the user's function did not run in the executors"
        assert [f for f in own.facts("executor-removed")] == []
        before = next(f for f in own.facts("progress") if f["stages"])
        assert instances_used(before)["state-0"][1] == 4
        stopped_cleanly(own, signal.SIGTERM)


def test_spark_submit_with_a_properties_file(tmp_path: Path) -> None:
    properties = tmp_path / "own.conf"
    properties.write_text("spark.master local[3]\nspark.app.name from-the-file\nspark.ui.enabled false\n")
    submit: list[str | Path] = ["--", "spark-submit", "--properties-file", properties, JOBS / "small_words.py"]
    with run(tmp_path / "run", schedule(tmp_path, ("counts", 2)), *submit) as job:
        job.until(lambda r: runs_as(r, "counts", 2))
        driver = job.facts("driver")[-1]
        assert (driver["master"], driver["slots"]) == ("local[3]", 3)
        stopped_cleanly(job, signal.SIGINT)


def test_a_scala_application_with_a_query_that_has_no_name(users: Users, tmp_path: Path) -> None:
    conf = ["--conf", "spark.sql.shuffle.partitions=4", "--conf", "spark.ui.enabled=false", "--master", "local[3]"]
    submit: list[str | Path] = [
        "--",
        SPARK / "bin" / "spark-submit",
        *conf,
        "--class",
        "users.App",
        users.jar,
        "its",
        "arguments",
    ]
    with run(tmp_path / "run", schedule(tmp_path, ("query-1", 2)), *submit) as job:
        job.until(lambda r: runs_as(r, "query-1", 2))
        assert "the users' application runs with its arguments" in job.said
        stopped_cleanly(job, signal.SIGTERM)


def test_spark_connects_local_server(tmp_path: Path) -> None:
    with run(tmp_path / "run", schedule(tmp_path, ("counts", 1)), JOBS / "small_words.py", "local[2]") as job:
        job.until(lambda r: runs_as(r, "counts", 1))
        stopped_cleanly(job, signal.SIGINT)


# the interpreter of Python workers, and the off switch --------------------------------------------------------


def worker(tmp_path: Path, environment: dict[str, str]) -> dict[str, Any]:
    with run(tmp_path / "run", [], JOBS / "small_ends.py", "without-query", environment=environment) as job:
        assert job.process.wait(120) == 0, job.log()
    assert "ended by itself, and never started a streaming query" in job.complained
    told = next(line for line in job.said.splitlines() if line.startswith("worker:"))
    return dict(json.loads(told.removeprefix("worker:")))


@pytest.fixture
def another_python(tmp_path: Path) -> Path:
    """The same, but one can see that it was taken."""
    file = tmp_path / "python3"
    file.write_text(f'#!/bin/sh\nUSERS_PYTHON=yes exec {sys.executable} "$@"\n')
    file.chmod(0o755)
    return file


def test_python_workers_run_the_jobs_interpreter(another_python: Path, tmp_path: Path) -> None:
    path = f"{another_python.parent}:{ENVIRONMENT['PATH']}"
    assert worker(tmp_path, {**ENVIRONMENT, "PATH": path}) == {
        "executable": sys.executable,
        "said": sys.executable,
        "users": None,
    }


def test_python_workers_run_what_the_user_set(another_python: Path, tmp_path: Path) -> None:
    found = worker(tmp_path, {**ENVIRONMENT, "PYSPARK_PYTHON": str(another_python)})
    assert (found["said"], found["users"]) == (str(another_python), "yes")


def of_penstock(output: str) -> dict[str, Any]:
    found = next(line for line in output.splitlines() if line.startswith("found:"))
    return dict(json.loads(found.removeprefix("found:")))


NOTHING = {"class path": [], "environment": ["PENSTOCK_OFF"], "threads": [], "switches": 0, "files": "LocalFs"}


def test_switched_off_nothing_of_penstock_is_in_the_job(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "PENSTOCK_OFF": "1"}
    with run(tmp_path / "run", [], JOBS / "small_alone.py", environment=environment) as job:
        assert job.process.wait(120) == 0, job.log()
    assert of_penstock(job.said) == NOTHING
    assert job.facts() == []


@pytest.mark.parametrize("off", [True, False])
def test_the_switch_closes_a_door_whose_jar_is_there(off: bool, tmp_path: Path) -> None:
    door.prepare(tmp_path)
    environment = {**PLAIN, **door.opened({}, tmp_path), **({"PENSTOCK_OFF": "1"} if off else {})}
    command = [sys.executable, str(JOBS / "small_alone.py")]
    found = of_penstock(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert found["class path"] == [str(door.jar())]
    assert (found["switches"] > 0, found["files"]) == ((False, "LocalFs") if off else (True, "FastLocal"))
    assert (bool(found["threads"]), (tmp_path / "url").exists()) == (not off, not off)


# how it ends --------------------------------------------------------------------------------------------------


def test_a_job_that_dies_before_spark_keeps_its_exit_code(tmp_path: Path) -> None:
    with run(tmp_path / "run", ["--json"], JOBS / "small_ends.py", "before") as job:
        assert job.process.wait(60) == 3
    assert job.last_object["exit"] == 3
    assert "ended with exit code 3, and never started Spark" in job.complained
    assert job.complained.count("no such table: clicks") == 2, "said once as it came, and once as the end of its output"


def test_a_job_that_dies_later_keeps_its_exit_code_and_shows_its_end(tmp_path: Path) -> None:
    with run(tmp_path / "run", ["--json"], JOBS / "small_ends.py", "dies") as job:
        assert job.process.wait(120) == 7
    assert job.last_object["exit"] == 7
    assert "the job ended with exit code 7\n" in job.complained
    assert "the query failed: StreamingQueryException" in job.complained.partition("the end of its output")[2]
    [ended] = job.facts("query-ended")
    assert "the table is gone" in ended["error"]


def test_a_job_that_ends_by_itself(tmp_path: Path) -> None:
    with run(tmp_path / "run", ["--json"], JOBS / "small_ends.py", "by-itself") as job:
        assert job.process.wait(120) == 0
    assert job.last_object["exit"] == 0
    assert job.last_object["ended"] == "the job ended by itself"
    assert job.last_object["batches"] >= 3, "what it said last was not read"
    assert "StackOverflowError" not in job.job_log, "stopping a query broke its thread"


def test_duration_and_one_json_object(tmp_path: Path) -> None:
    with run(tmp_path / "run", ["--duration", "4", "--json"], JOBS / "small_words.py") as job:
        job.until(lambda r: bool(r.facts("query-started")))
        family = job.family()
        assert job.process.wait(60) == 0, job.log()
        assert all_gone(family) == []
    summary = job.last_object
    assert summary.keys() >= KEYS | {"changes", "components", "exit"}
    assert summary["latency_s"].keys() == {"mean", "p50", "p95", "p99", "max", "how"}
    assert summary["components"]["counts"].keys() >= KEYS
    assert summary["success_share"] is None
    assert summary["ended"] == "the job was stopped, as asked"


# what cannot be started ---------------------------------------------------------------------------------------


def refused(tmp_path: Path, *words: str, environment: dict[str, str] | None = None) -> tuple[int, str]:
    """Exit code and the one sentence; nothing is written."""
    command = penstock("run", "--out", tmp_path / "run", *words)
    done = subprocess.run(command, env=environment or ENVIRONMENT, capture_output=True, text=True, check=False)
    assert not (tmp_path / "run").exists()
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.returncode, done.stderr


def test_a_job_that_is_not_there(tmp_path: Path) -> None:
    assert refused(tmp_path, "gone.py") == (2, "penstock: there is no file gone.py\n")
    code, why = refused(tmp_path, "--", "spork-submit", "job.py")
    assert code == 2
    assert "'spork-submit' is neither a Python file nor a program that can be run" in why


def fake_java(folder: Path, script: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(script)
    java.chmod(0o755)
    return java


OLD = '#!/bin/sh\necho "Picked up JAVA_TOOL_OPTIONS: -Da=b" >&2\necho \'openjdk version "11.0.2" 2019-01-15\' >&2\n'
EIGHT = "#!/bin/sh\necho 'java version \"1.8.0_292\"' >&2\n"


@pytest.mark.parametrize(("script", "said"), [(OLD, '"11.0.2"'), (EIGHT, '"1.8.0_292"'), ("no program", "nothing")])
def test_a_java_that_is_too_old_gets_one_sentence(script: str, said: str, tmp_path: Path) -> None:
    java = fake_java(tmp_path / "java", script)
    job = str(JOBS / "small_words.py")
    without_home = {k: v for k, v in ENVIRONMENT.items() if k != "JAVA_HOME"}
    for environment in (
        {**without_home, "PATH": f"{java.parent}:{ENVIRONMENT['PATH']}"},
        {**without_home, "JAVA_HOME": str(java.parent.parent)},
    ):
        code, why = refused(tmp_path, job, environment=environment)
        assert code == 5
        assert "Spark needs Java 17 or newer: install a JRE" in why
        assert str(java) in why
        assert said in why or said == "nothing"


def test_no_java_gets_one_sentence(tmp_path: Path) -> None:
    job = str(JOBS / "small_words.py")
    without_home = {k: v for k, v in ENVIRONMENT.items() if k != "JAVA_HOME"}
    code, why = refused(tmp_path, job, environment={**without_home, "PATH": str(tmp_path)})
    assert code == 5
    assert "install a JRE" in why
    code, why = refused(tmp_path, job, environment={**without_home, "JAVA_HOME": str(tmp_path / "gone")})
    assert code == 5
    assert f"JAVA_HOME is {tmp_path / 'gone'}, and has no bin/java" in why


def test_doctor_says_what_is_missing(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "JAVA_HOME": str(tmp_path / "gone"), "PENSTOCK_OFF": "1"}
    with launched(tmp_path / "doctor", penstock("doctor", tmp_path), environment) as doctor:
        assert doctor.process.wait(60) == 1
    lines = dict(line.split(maxsplit=1) for line in doctor.said.splitlines())
    assert lines["java"].startswith("missing")
    assert lines["jar"].startswith("ok")
    assert lines["agent"].startswith("missing  no agent is announced in")
    assert "PENSTOCK_OFF is set" in lines["off"]
