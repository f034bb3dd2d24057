"""The wheel: built from a clean copy of the sources, installed into an empty environment, and used there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from penstock import __version__

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("penstock", "jvm", "scripts", "pyproject.toml", "README.md", "LICENSE")
JAR = "penstock/jars/penstock.jar"
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "PYSPARK_PYTHON")}
ENVIRONMENT["SPARK_LOCAL_IP"] = "127.0.0.1"


def answer(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(command, env=ENVIRONMENT, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """No isolation: it is compiled against the PySpark that is installed here, and nothing is downloaded."""
    copy = tmp_path_factory.mktemp("sources")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__", "jars"))
        else:
            shutil.copy(source, copy / name)
    answer(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", copy / "dist", copy)
    [built] = (copy / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of a fresh environment with the wheel in it, and nothing else. A second PySpark is 450 MB: a .pth
    file lends it this environment's dependencies, but not its Penstock, whose own .pth is not read from there."""
    folder = tmp_path_factory.mktemp("empty") / "venv"
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    answer(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel)
    site = Path(answer(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip())
    (site / "borrowed.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    where = answer(python, "-c", "import penstock; print(penstock.__file__)", cwd=folder)
    assert Path(where.strip()).is_relative_to(site)
    return folder / "bin"


def test_the_jar_is_in_the_wheel_and_the_tests_are_not(wheel: Path) -> None:
    assert wheel.name == f"penstock-{__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    folders = {name.split("/")[0] for name in names}
    assert folders == {"penstock", f"penstock-{__version__}.dist-info"}
    assert {JAR, "penstock/py.typed"} <= set(names)
    packages = {str(f.parent.relative_to(ROOT)) for f in (ROOT / "penstock").rglob("*.py")}
    assert packages <= {str(Path(name).parent) for name in names}
    assert not [name for name in names if "test" in name or name.endswith((".scala", ".pyc"))]


def test_the_jar_holds_the_door_and_no_class_of_others(wheel: Path, tmp_path: Path) -> None:
    jar = zipfile.ZipFile(zipfile.ZipFile(wheel).extract(JAR, tmp_path))
    service = "META-INF/services/org.apache.spark.sql.SparkSessionExtensionsProvider"
    assert jar.read(service).decode() == "org.apache.spark.sql.penstock.Door\n"
    classes = [name for name in jar.namelist() if name.endswith(".class")]
    assert "org/apache/spark/sql/penstock/Door.class" in classes
    assert all(name.startswith("org/apache/spark/sql/penstock/") for name in classes)


def test_a_build_asks_for_no_second_pyspark(wheel: Path) -> None:
    asks = "import sys; sys.path.insert(0, 'scripts'); import build_backend as b; print('asked:', b.{}())"
    for hook in ("get_requires_for_build_wheel", "get_requires_for_build_editable"):
        asked = answer(sys.executable, "-c", asks.format(hook), cwd=wheel.parent.parent)
        assert "asked: [" in asked
        assert "pyspark" not in asked.partition("asked:")[2]


def test_the_installed_command_says_who_it_is_and_what_it_found(installed: Path) -> None:
    assert answer(installed / "penstock", "--version") == f"penstock {__version__}\n"
    found = dict(line.split(maxsplit=1) for line in answer(installed / "penstock", "doctor").splitlines())
    assert {name: said.split()[0] for name, said in found.items()} == dict.fromkeys(("java", "pyspark", "jar"), "ok")
    assert str(installed.parent) in found["jar"]


def test_the_installed_command_runs_a_job(installed: Path, tmp_path: Path) -> None:
    job = ROOT / "tests" / "jobs" / "small_ends.py"
    run = ("run", "--out", tmp_path / "run", "--quiet", "--json", job, "by-itself")
    summary = json.loads(answer(installed / "penstock", *run, cwd=tmp_path).splitlines()[-1])
    assert (summary["exit"], summary["ended"]) == (0, "the job ended by itself")
    assert summary["components"]["counts"]["batches"] >= 3
    assert (tmp_path / "run" / "report.html").exists()
