"""One real broker for all tests here, started and stopped by the project's own script."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "kafka.py"


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("broker")
    started = subprocess.run(
        [sys.executable, SCRIPT, "start", folder], capture_output=True, text=True, check=False, timeout=300
    )
    assert started.returncode == 0, started.stderr
    yield started.stdout.strip()
    subprocess.run([sys.executable, SCRIPT, "stop", folder], check=True, timeout=90)


@pytest.fixture(scope="session")
def connector() -> str:
    """Spark's own, as `--jars` takes it; the script says so where it is not of this Spark's version."""
    told = subprocess.run(
        [sys.executable, SCRIPT, "connector"], capture_output=True, text=True, check=True, timeout=300
    )
    return told.stdout.strip()
