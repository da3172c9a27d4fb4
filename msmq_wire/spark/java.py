"""Whether there is a Java with which Spark starts; asking needs nothing else of this package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

_JAVA = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def java_problem() -> str | None:
    """Say why Spark cannot start here, or None: Java is missing, too old, or does not run."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        return f"Java {_JAVA} is needed: there is no java on PATH and JAVA_HOME is not set"
    try:
        reported = subprocess.run([java, "-version"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"Java {_JAVA} is needed: {java} does not run: {getattr(error, 'strerror', None) or error}"
    version = _VERSION.search((reported.stderr + reported.stdout).decode("utf-8", "replace"))
    if version is None:
        return f"Java {_JAVA} is needed: {java} does not tell its version"
    if int(version.group(1)) < _JAVA:
        return f"Java {_JAVA} is needed: {java} is Java {version.group(1)}"
    return None
