"""The door into a Spark job: environment variables, never a key of Spark's configuration."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

from penstock.errors import MissingTool

OFF = "PENSTOCK_OFF"
JAR = Path(__file__).resolve().parents[2] / "jars" / "penstock.jar"

# query.stop() reads the error text with a regular expression that overflows the default stack of Spark's stream thread;
# 4 MB were seen to be too few for what an interrupted foreachBatch says. It is reserved, and used only when needed.
DRIVER_OPTIONS = "-Xss16m -Dspark.ui.showConsoleProgress=false"


def jar() -> Path:
    if not JAR.exists():
        raise MissingTool(f"{JAR} is missing: this checkout was not built. Run: make setup")
    return JAR


def prepare(run: Path) -> None:
    """A run directory with its token, readable by its owner only: it never stands in a command line, log or UI.
    A file of before may be readable by others, or a link to elsewhere: the token's is always a new one."""
    run.mkdir(parents=True, exist_ok=True, mode=0o700)
    for old in ("url", "token"):
        (run / old).unlink(missing_ok=True)
    with os.fdopen(os.open(run / "token", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(32))


def is_off(environment: Mapping[str, str]) -> bool:
    """The off switch, as the jar reads it too."""
    return environment.get(OFF, "0") not in ("", "0")


def opened(environment: Mapping[str, str], run: Path, python: str | None = sys.executable) -> dict[str, str]:
    """The environment with the door open: what the user set stays, ours is added. Python workers follow `python`.

    >>> opened({"PENSTOCK_OFF": "1"}, Path("/run"))
    {'PENSTOCK_OFF': '1'}
    """
    if is_off(environment):
        return dict(environment)
    added = {"PENSTOCK_RUN": str(run.resolve())}
    added["SPARK_DIST_CLASSPATH"] = ":".join(filter(None, [environment.get("SPARK_DIST_CLASSPATH"), str(jar())]))
    added["SPARK_SUBMIT_OPTS"] = f"{DRIVER_OPTIONS} {environment.get('SPARK_SUBMIT_OPTS', '')}".strip()
    if python and "PYSPARK_PYTHON" not in environment:
        added["PYSPARK_PYTHON"] = python
    return {**environment, **added}
