"""Which test covers a module of the package: that of its name in the mirrored folder, or one of another name.

``tests/covered_by.toml`` lists the modules without a test of their own name, below the test that covers them.
``python -m tests.mirror`` writes the list anew: it keeps what holds, drops what does not, and adds each
module that is missing below the test that imports it over the fewest others.
"""

from __future__ import annotations

import ast
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

from tests.affected import ROOT, Tree

_LIST = "tests/covered_by.toml"
_HEAD = """\
# The modules of msmq_wire without a test of their own name, below the test that covers them.
# `python -m tests.mirror` writes this list anew.
"""


class Mirror:
    """The modules of a checkout and their tests; paths are relative to ``msmq_wire`` and ``tests``."""

    def __init__(self, root: Path) -> None:
        self._tree = Tree(root)
        self._tests = {path.removeprefix("tests/") for path in self._tree.tests}
        self._modules = [
            path.removeprefix("msmq_wire/")
            for path, text in sorted(self._tree.texts.items())
            if path.startswith("msmq_wire/") and not _is_face(text)
        ]
        self._reached: dict[str, dict[str, int]] = {}
        self._listed: dict[str, list[str]] = tomllib.loads((root / _LIST).read_text(encoding="utf-8"))

    @cached_property
    def _without(self) -> list[str]:
        """The modules without a test of their own name that imports them."""
        tests = [(module, own_test(module)) for module in self._modules]
        return [one for one, test in tests if test not in self._tests or one not in self._steps(test)]

    def _steps(self, test: str) -> dict[str, int]:
        """Over how many imports a test reaches each module."""
        if test not in self._reached:
            steps = self._tree.steps(f"tests/{test}")
            self._reached[test] = {path.removeprefix("msmq_wire/"): count for path, count in steps.items()}
        return self._reached[test]

    def problems(self) -> Iterator[str]:
        """What is wrong with the list, a sentence each."""
        seen: dict[str, str] = {}
        for test, entries in self._listed.items():
            for entry in entries:
                yield from (f"{test}: {entry}: {problem}" for problem in self._problems(test, entry))
                for module in self._matched(entry):
                    if module in seen:
                        yield f"{module}: below {seen[module]} and {test}"
                    seen[module] = test
        yield from (f"{module}: no test" for module in self._without if module not in seen)

    def _problems(self, test: str, entry: str) -> Iterator[str]:
        matched = self._matched(entry)
        if test not in self._tests:
            yield "no such test"
        elif not matched:
            yield "no module without a test of its own name"
        elif any(module not in self._steps(test) for module in matched):
            yield "not imported by the test"

    def _matched(self, entry: str) -> list[str]:
        return [module for module in self._without if fnmatch(module, entry)]

    def renewed(self) -> str:
        """The text of the list without what is wrong, and with what is missing."""
        lists: dict[str, list[str]] = defaultdict(list)
        seen: set[str] = set()
        for test, entries in self._listed.items():
            for entry in entries:
                if not any(self._problems(test, entry)) and not seen & set(self._matched(entry)):
                    lists[test].append(entry)
                    seen |= set(self._matched(entry))
        for module in self._without:
            if module not in seen:
                lists[self._nearest(module)].append(module)
        return _HEAD + "".join(_line(test, sorted(lists[test])) for test in sorted(lists))

    def _nearest(self, module: str) -> str:
        """The test of its room that imports a module over the fewest others."""
        words = _words(module)
        found = [test for test in self._tests if module in self._steps(test)]
        if not found:
            raise SystemExit(f"no test imports msmq_wire/{module}")

        def distance(test: str) -> tuple[object, ...]:
            named = _words(test) - {"test"}
            near = len(words & named) / len(words | named) + (Path(test).parent == Path(module).parent) / 2
            steps = self._steps(test)
            broad = sum(count == 1 for count in steps.values())
            elsewhere = test.split("/")[0] != module.split("/")[0]
            return (elsewhere, max(steps[module], 2) - near / 2, broad, test)

        return min(found, key=distance)


def own_test(module: str) -> str:
    """The test of a module's own name."""
    path = Path(module)
    return (path.parent / f"test_{path.stem.strip('_')}.py").as_posix()


def _words(path: str) -> set[str]:
    return set(Path(path).stem.strip("_").split("_"))


def _is_face(text: str) -> bool:
    """Whether a module has nothing of its own: it gives names of others."""
    return all(
        isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
        for node in ast.parse(text).body
    )


def _line(test: str, entries: list[str]) -> str:
    quoted = [f'"{entry}"' for entry in entries]
    line = f'"{test}" = [{", ".join(quoted)}]\n'
    if len(line) > 110:
        line = f'"{test}" = [\n' + "".join(f"    {entry},\n" for entry in quoted) + "]\n"
    return line


def main() -> None:
    """Write the list anew and say what was wrong with it."""
    mirror = Mirror(ROOT)
    for problem in mirror.problems():
        print(problem)
    (ROOT / _LIST).write_text(mirror.renewed(), encoding="utf-8")


if __name__ == "__main__":
    main()
