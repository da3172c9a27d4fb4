"""The distributions, built from what git tracks."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


def build(source: Path, target: Path, umask: int) -> dict[str, str]:
    """The distributions of a tree with the hashes of their bytes."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(target)]
    # A fixed time: files get that of the commit where one builds for others.
    own = os.environ | {"SOURCE_DATE_EPOCH": "1795000000"}
    subprocess.run(command, cwd=source, env=own, check=True, capture_output=True, umask=umask)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(target.iterdir())}


def copy(target: Path) -> Path:
    """What git tracks of this tree, with other times and modes."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=_ROOT, check=True, capture_output=True).stdout
    for name in listed.decode().rstrip("\0").split("\0"):
        source = _ROOT / name
        if source.exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target / name)
            if os.access(source, os.X_OK):
                (target / name).chmod(0o755)
    return target
