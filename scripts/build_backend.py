"""The package's own build: setuptools, plus the Scala of jvm/ compiled with the compiler that PySpark carries.

PySpark is 450 MB. Where the interpreter that installs has it already, the jar is compiled against that one;
only where it is missing is it asked for as a build requirement.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from setuptools import build_meta as setuptools_backend

sys.path.insert(0, str(Path(__file__).parent))
import compile_jar

PYSPARK = "pyspark>=4.3,<4.4"

build_sdist = setuptools_backend.build_sdist
get_requires_for_build_sdist = setuptools_backend.get_requires_for_build_sdist
prepare_metadata_for_build_wheel = setuptools_backend.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = setuptools_backend.prepare_metadata_for_build_editable


def _requirements(of_setuptools: list[str]) -> list[str]:
    return of_setuptools if compile_jar.find_pyspark() else [*of_setuptools, PYSPARK]


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return _requirements(setuptools_backend.get_requires_for_build_wheel(config_settings))


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    return _requirements(setuptools_backend.get_requires_for_build_editable(config_settings))


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    compile_jar.main()
    return str(setuptools_backend.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    compile_jar.main()
    return str(setuptools_backend.build_editable(wheel_directory, config_settings, metadata_directory))
