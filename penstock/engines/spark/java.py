"""Finds a Java that Spark can run on, or says in one sentence what to install."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from penstock.errors import MissingTool

OLDEST = 17
INSTALL = f"Spark needs Java {OLDEST} or newer: install a JRE (on Debian: apt-get install openjdk-17-jre-headless)"


def find_java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(f"{home}/bin/java") if home else shutil.which("java")
    if java is None:
        raise MissingTool(INSTALL + (f"; JAVA_HOME is {home}, and has no bin/java." if home else "."))
    said = _version(java)
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < OLDEST:
        raise MissingTool(f"{INSTALL}; {java} says: {said or 'nothing'}.")
    return java


def _version(java: str) -> str:
    """The line with its version: others, as `Picked up JAVA_TOOL_OPTIONS`, may stand before it."""
    try:
        banner = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr.splitlines()
    except OSError as error:
        return str(error)
    return next((line for line in banner if 'version "' in line), banner[0] if banner else "")
