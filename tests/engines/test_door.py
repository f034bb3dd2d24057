"""The door: environment variables that are added to the user's; and the relay of what a job says."""

from __future__ import annotations

import stat
import sys
from io import BytesIO, FileIO
from pathlib import Path

import pyspark
import pytest

from penstock.engines.spark import door
from penstock.engines.spark.job import command_of
from penstock.engines.spark.relay import copy
from penstock.errors import InvalidInput


def test_what_the_user_set_stays(tmp_path: Path) -> None:
    users = {
        "SPARK_DIST_CLASSPATH": "/hadoop/*",
        "SPARK_SUBMIT_OPTS": "-Xss64m",
        "PYSPARK_PYTHON": "/opt/python",
        "HOME": "/home/user",
    }
    opened = door.opened(users, tmp_path)
    assert opened["SPARK_DIST_CLASSPATH"] == f"/hadoop/*:{door.jar()}"
    assert opened["SPARK_SUBMIT_OPTS"].endswith(" -Xss64m"), "of two the JVM takes the last"
    assert opened["PYSPARK_PYTHON"] == "/opt/python"
    assert opened["HOME"] == "/home/user"
    assert opened["PENSTOCK_RUN"] == str(tmp_path)


def test_python_workers_follow_only_where_that_is_ours_to_say(tmp_path: Path) -> None:
    assert door.opened({}, tmp_path, "/venv/python")["PYSPARK_PYTHON"] == "/venv/python"
    assert "PYSPARK_PYTHON" not in door.opened({}, tmp_path, None)


@pytest.mark.parametrize(("value", "off"), [("1", True), ("yes", True), ("0", False), ("", False)])
def test_the_off_switch(value: str, off: bool, tmp_path: Path) -> None:
    environment = {"PENSTOCK_OFF": value}
    assert (door.opened(environment, tmp_path) == environment) == off
    assert door.is_off(environment) == off


def test_a_token_is_new_and_its_owners_only(tmp_path: Path) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    run.mkdir()
    elsewhere.write_text("somebody else's")
    (run / "token").symlink_to(elsewhere)
    (run / "url").write_text("http://of-a-driver-that-is-gone")
    door.prepare(run)
    assert elsewhere.read_text() == "somebody else's"
    assert not (run / "url").exists()
    first = (run / "token").read_text()
    assert len(first) >= 40
    (run / "token").chmod(0o644)
    door.prepare(run)
    assert stat.S_IMODE((run / "token").stat().st_mode) == 0o600
    assert (run / "token").read_text() != first


def test_a_run_directory_that_it_makes_is_its_owners_only(tmp_path: Path) -> None:
    door.prepare(tmp_path / "run")
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o700


def test_what_runs_a_job_and_what_its_workers_follow(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.touch()
    python = str(Path(sys.executable))
    assert command_of([str(job), "in", "out"]) == ([python, str(job), "in", "out"], python)
    assert command_of([python, str(job)]) == ([python, str(job)], python)
    assert command_of(["sh", "run.sh"]) == (["sh", "run.sh"], None)
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    assert command_of([submit, "job.py"]) == ([submit, "job.py"], None)
    for words in (["gone.py"], ["no-such-program-anywhere"]):
        with pytest.raises(InvalidInput):
            command_of(words)


def test_the_relay_goes_on_where_one_of_its_sinks_does_not(tmp_path: Path) -> None:
    with FileIO(tmp_path / "log", "w") as log, FileIO("/dev/full", "w") as full:
        copy(BytesIO(b"one\ntwo\nand an end without a line's"), [full, log])
    assert (tmp_path / "log").read_bytes() == b"one\ntwo\nand an end without a line's"
