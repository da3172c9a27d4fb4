"""A public class name stands for one thing in the whole package."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[2] / "msmq_wire"

# Both names are the specification's: an object of the directory ([MS-MQDMPR] 3.1.1.9), and an entry in the
# reply of a directory server.
_TWICE = {"ConnectedNetwork"}


def test_a_public_class_name_stands_for_one_thing() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(_PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path.relative_to(_PACKAGE).as_posix())
    several = {name: paths for name, paths in found.items() if len(paths) > 1}
    assert several.keys() == _TWICE, several
