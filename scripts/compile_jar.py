"""Compile jvm/*.scala into penstock/jars/penstock.jar with the Scala compiler among PySpark's jars: a JRE is enough."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from importlib.machinery import PathFinder
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from penstock.engines.spark.java import find_java  # noqa: E402
from penstock.errors import MissingTool  # noqa: E402

JAR = ROOT / "penstock" / "jars" / "penstock.jar"
SERVICE = "META-INF/services/org.apache.spark.sql.SparkSessionExtensionsProvider"
PROVIDER = "org.apache.spark.sql.penstock.Door"


def find_pyspark() -> Path | None:
    """PySpark's folder: as imported here, or in the environment that installs (pip's isolation hides that one)."""
    spec = importlib.util.find_spec("pyspark") or PathFinder.find_spec("pyspark", [sysconfig.get_paths()["purelib"]])
    return Path(spec.origin).parent if spec and spec.origin else None


def stale(sources: list[Path]) -> bool:
    return not JAR.exists() or max(f.stat().st_mtime for f in [*sources, Path(__file__)]) > JAR.stat().st_mtime


def pack(classes: Path) -> None:
    JAR.parent.mkdir(exist_ok=True)
    fresh = JAR.with_suffix(".tmp")
    with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED) as jar:
        jar.writestr(SERVICE, PROVIDER + "\n")
        for file in sorted(classes.rglob("*.class")):
            jar.write(file, file.relative_to(classes))
    fresh.replace(JAR)


def compile_against(pyspark: Path, sources: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as classes:
        compiler = [find_java(), "-Xss8m", "-cp", f"{pyspark}/jars/*", "scala.tools.nsc.Main", "-usejavacp"]
        flags = ["-deprecation", "-feature", "-Xlint:unused", "-Werror", "-d", classes]
        if subprocess.run([*compiler, *flags, *map(str, sources)], check=False).returncode:
            sys.exit("The Scala code in jvm/ does not compile against this PySpark.")
        pack(Path(classes))


def main() -> None:
    sources = sorted((ROOT / "jvm").glob("*.scala"))
    if not stale(sources):
        return
    pyspark = find_pyspark()
    if pyspark is None:
        sys.exit("Penstock's jar is compiled against PySpark: pip install 'pyspark>=4.3,<4.4' first.")
    try:
        compile_against(pyspark, sources)
    except MissingTool as missing:
        sys.exit(str(missing))


if __name__ == "__main__":
    main()
