"""A real Kafka broker on loopback, for tests and to try things out: one node, KRaft, from Maven Central's artifacts.

scripts/kafka.py start DIR    fetches Kafka once, starts a broker with its logs in DIR, prints host:port when it answers
scripts/kafka.py stop DIR     ends it, by the process id that start left in DIR
scripts/kafka.py fetch        only fetches, into ~/.cache/penstock (or $PENSTOCK_CACHE)
scripts/kafka.py connector    fetches Spark's connector there, prints its jars as `spark-submit --jars` takes them
"""

from __future__ import annotations

import argparse
import base64
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from penstock.engines.spark.java import find_java

VERSION = "4.1.2"
SPARK, CONNECTOR = "org.apache.spark", "spark-sql-kafka-0-10_2.13"
NEAR = "4.2.0"  # Maven Central can be behind PyPI: the newest before 4.3 that was tried with 4.3.0
NEAR_PARTS = (
    (SPARK, CONNECTOR, NEAR),
    (SPARK, "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    ("org.apache.kafka", "kafka-clients", "3.9.2"),
    ("org.apache.commons", "commons-pool2", "2.13.1"),
)
SPARK_JARS = Path(pyspark.__file__).parent / "jars"
LOGGING = ("slf4j-api-2", "log4j-slf4j2-impl", "log4j-api-2", "log4j-core-2")  # Kafka's own jars bring no log
SMALL = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.apache.logging.log4j.level=WARN")
UP_S = 60.0  # 4 s on a quiet machine
DOWN_S = 30.0
LOOK_S = 0.1

PROPERTIES = """\
process.roles=broker,controller
node.id=1
listeners=BROKER://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=BROKER://127.0.0.1:{port}
listener.security.protocol.map=BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=BROKER
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller}
log.dirs={logs}
num.partitions=4
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
"""


def cache() -> Path:
    return Path(os.environ.get("PENSTOCK_CACHE") or Path.home() / ".cache" / "penstock")


def fetch() -> Path:
    """The folder of Kafka's jars; a minute the first time."""
    jars = cache() / f"kafka-{VERSION}"
    if not jars.exists():
        _retrieve([("org.apache.kafka", "kafka_2.13", VERSION)], jars)
    return jars


def connector() -> str:
    """Spark's connector as `--jars` takes it: of the installed version where Maven Central has that."""
    exact, near = (cache() / f"connector-{version}" for version in (pyspark.__version__, NEAR))
    if not exact.exists() and not near.exists():
        try:
            _retrieve([(SPARK, CONNECTOR, pyspark.__version__)], exact)
        except LookupError:
            _retrieve(NEAR_PARTS, near, "-notransitive")
    if not exact.exists():
        sys.stderr.write(f"{CONNECTOR} {pyspark.__version__} is not to be had: version {NEAR} stands in for it\n")
    folder = exact if exact.exists() else near
    return ",".join(str(jar) for jar in sorted(folder.glob("*.jar")) if not _is_in_spark(jar))


def _is_in_spark(jar: Path) -> bool:
    """What Spark brings itself, in a version of its own: scala-library, snappy, slf4j and the like."""
    name = jar.name.rsplit("-", 1)[0]
    return any(name == own.name.rsplit("-", 1)[0] for own in SPARK_JARS.glob(f"{name}-*.jar"))


def _retrieve(parts: Sequence[tuple[str, str, str]], folder: Path, *options: str) -> None:
    """With the Ivy that is among Spark's jars. The folder appears whole or not at all."""
    part = folder.with_name(f"{folder.name}.{os.getpid()}")
    for part_of in parts:
        ivy = [find_java(), "-cp", f"{SPARK_JARS}/*", "org.apache.ivy.Main", "-warn", "-confs", "default", *options]
        where = ["-cache", str(cache() / "ivy"), "-retrieve", f"{part}/[artifact]-[revision].[ext]"]
        done = subprocess.run([*ivy, "-dependency", *part_of, *where], capture_output=True, text=True, check=False)
        if not (part / f"{part_of[1]}-{part_of[2]}.jar").exists():
            shutil.rmtree(part, ignore_errors=True)
            raise LookupError(f"Maven Central does not give {' '.join(part_of)}:\n{done.stdout[-2000:]}{done.stderr}")
    with suppress(OSError):  # somebody else was quicker
        part.rename(folder)


@dataclass(frozen=True, slots=True)
class Broker:
    folder: Path
    process: int
    servers: str

    def stop(self) -> None:
        _end(self.process)


def start(folder: Path) -> Broker:
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:  # both at once, so that they differ
        port, controller = [held.enter_context(_free_port()) for _ in range(2)]
    properties = folder / "server.properties"
    properties.write_text(PROPERTIES.format(port=port, controller=controller, logs=folder / "logs"))
    java = _java()
    cluster = base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")
    formatting = [
        *java,
        "kafka.tools.StorageTool",
        "format",
        "--ignore-formatted",
        "-t",
        cluster,
        "-c",
        str(properties),
    ]
    subprocess.run(formatting, check=True, stdout=subprocess.DEVNULL)
    with (folder / "broker.log").open("w") as log:
        serving = [*java, "kafka.Kafka", str(properties)]
        process = subprocess.Popen(serving, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
    (folder / "pid").write_text(str(process.pid))
    _await(process, port, folder / "broker.log")
    return Broker(folder, process.pid, f"127.0.0.1:{port}")


@contextmanager
def broker(folder: Path) -> Iterator[Broker]:
    running = start(folder)
    try:
        yield running
    finally:
        running.stop()


def _java() -> list[str]:
    logging = [str(jar) for name in LOGGING for jar in SPARK_JARS.glob(f"{name}*.jar")]
    return [find_java(), *SMALL, "-cp", ":".join([*logging, f"{fetch()}/*"])]


@contextmanager
def _free_port() -> Iterator[int]:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        yield int(asked.getsockname()[1])


def _await(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """A broker opens its port when it is ready to serve, not before."""
    until_s = time.monotonic() + UP_S
    while time.monotonic() < until_s:
        with socket.socket() as asked:
            asked.settimeout(1)
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        try:
            process.wait(LOOK_S)
            break
        except subprocess.TimeoutExpired:
            continue
    _end(process.pid)
    sys.exit(f"Kafka did not come up in {UP_S:.0f} s:\n{log.read_text()[-2000:]}")


def _end(process: int) -> None:
    for how in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(process, how)
        except ProcessLookupError:
            return
        if _gone(process):
            return


def _gone(process: int) -> bool:
    until_s = time.monotonic() + DOWN_S
    while time.monotonic() < until_s:
        try:
            if os.waitpid(process, os.WNOHANG)[0]:
                return True
        except ChildProcessError:  # started by an earlier command
            if not _lives(process):
                return True
        threading.Event().wait(LOOK_S)
    return False


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("start", "stop", "fetch", "connector"))
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR")
    asked = parser.parse_args()
    if asked.verb in ("fetch", "connector"):
        print(fetch() if asked.verb == "fetch" else connector())
    elif asked.folder is None:
        parser.error(f"{asked.verb} needs a DIR")
    elif asked.verb == "start":
        print(start(asked.folder).servers)
    else:
        _end(int((asked.folder / "pid").read_text()))


if __name__ == "__main__":
    try:
        main()
    except LookupError as missing:
        sys.exit(str(missing))
