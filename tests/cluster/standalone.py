"""A standalone cluster from PySpark's own classes, on loopback: one master and one worker, each ended by its pid."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

from tests.spark.launched import ENVIRONMENT, within

HOME = Path(pyspark.__file__).parent
DEPLOY = "org.apache.spark.deploy"


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@contextmanager
def standalone(folder: Path, cores: int) -> Iterator[str]:
    """Its address, once its worker has registered."""
    environment = {**ENVIRONMENT, "SPARK_HOME": str(HOME), "SPARK_DAEMON_MEMORY": "128m"}
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    master = [f"{DEPLOY}.master.Master", "--port", str(port)]
    worker = [f"{DEPLOY}.worker.Worker", "--cores", str(cores), "--memory", "4g", "--work-dir", str(folder), address]
    with daemon(folder / "master", master, environment) as log:
        assert within(60, lambda: "I have been elected leader" in log.read_text()), log.read_text()
        with daemon(folder / "worker", worker, environment) as log:
            assert within(60, lambda: "Successfully registered" in log.read_text()), log.read_text()
            yield address


@contextmanager
def daemon(log: Path, words: list[str], environment: dict[str, str]) -> Iterator[Path]:
    """`spark-class` becomes the JVM itself, so that its pid is the daemon's."""
    name, *options = words
    command = [str(HOME / "bin" / "spark-class"), name, "--host", "127.0.0.1", "--webui-port", "0", *options]
    with log.open("w") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=out, start_new_session=True)
    try:
        yield log
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=30)
        process.kill()
        process.wait(timeout=30)
