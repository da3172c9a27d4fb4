"""``make affected``: the test modules that what changed since a revision can reach, and no others.

A test module is reached by what it imports, however far: its own imports, those of these, the conftest.py of
its folders, and modules that a string or a pattern of one names. A file that is no Python reaches the tests
that name its folder. What every test depends on reaches all. It is for developers at work: CI runs all.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_FOLDERS = ("benchmarks", "dissectors", "docs", "fixtures", "msmq_wire", "tests")
_EVERYTHING = {
    "Makefile",
    "dev.lock",
    "pyproject.toml",
    "tests/conftest.py",
    "tests/effort.py",
    "tests/needs.py",
}
_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:(?: .*)?\n)+", re.MULTILINE)
_FROM = re.compile(r"^\s*from ([\w.]+) import (\([^)]*\)|.*)$", re.MULTILINE)
_IMPORT = re.compile(r"^\s*import ([\w., ]+)", re.MULTILINE)
_INDENTED = re.compile(r"^ .*\n", re.MULTILINE)
_NAMED = re.compile(r"""["']((?:msmq_\w+|tests|fixtures)(?:\.\w+)*)(\.\{)?""")
_LISTING = re.compile(r"\b(?:iter_modules|walk_packages)\(")
_BEFORE = "^"
"""Behind the path of a package: what is imported before a module of it, without what its functions import."""
_WORD = re.compile(r"\w+")


class Tree:
    """The Python files of a checkout, and what they import; paths are relative to it, with slashes."""

    def __init__(self, root: Path) -> None:
        paths = [path for folder in _FOLDERS for path in (root / folder).rglob("*.py")]
        self.texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}
        self._by_name: dict[str, str] = {}
        for path in self.texts:
            name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            self._by_name[name] = path
            # The dissectors stand on the path by themselves.
            self._by_name[name.removeprefix("dissectors.")] = path
        self.tests = sorted(path for path in self.texts if Path(path).name.startswith("test_"))
        self._imported = {path: set(self._imports(path)) for path in self.texts}
        packages = [path for path in self.texts if path.endswith("__init__.py")]
        self._imported |= {
            path + _BEFORE: set(self._static(_INDENTED.sub("", self.texts[path]))) for path in packages
        }

    def _imports(self, path: str) -> Iterator[str]:
        """What a file imports when it is used: what it names in strings, too, and lists."""
        text = self.texts[path]
        yield from self._static(text)
        for module, pattern in _NAMED.findall(text):
            yield from self._files(module)
            yield from self._files(f"{module}.__main__")
            if pattern:
                yield from self._below(f"{module}.")
        if _LISTING.search(text):
            yield from self._below(path.rpartition("/")[0].replace("/", ".") + ".")
        folders = path.split("/")[:-1]
        for end in range(len(folders) + 1) if folders[:1] == ["tests"] else ():
            conftest = "/".join((*folders[:end], "conftest.py"))
            if conftest in self.texts:
                yield conftest

    def _static(self, text: str) -> Iterator[str]:
        """What statements import, inside functions, too; what is for types alone changes no run."""
        text = _TYPES.sub("", text)
        for module, names in _FROM.findall(text):
            for name in _WORD.findall(names):
                inner = f"{module}.{name}"
                yield from self._files(inner if inner in self._by_name else module)
        for names in _IMPORT.findall(text):
            for word in names.split(","):
                yield from self._files(word.split()[0] if word.split() else "")

    def _below(self, prefix: str) -> Iterator[str]:
        yield from (file for name, file in self._by_name.items() if name.startswith(prefix))

    def _files(self, module: str) -> Iterator[str]:
        """The file of a module, and its packages, which are imported before it."""
        parts = module.split(".")
        for end in range(1, len(parts) + 1):
            file = self._by_name.get(".".join(parts[:end]))
            if file is not None:
                yield file if end == len(parts) else file + _BEFORE

    def reached(self, changed: Iterable[str]) -> list[str]:
        """The test modules that changed files reach."""
        changed = set(changed)
        if changed & _EVERYTHING:
            return self.tests
        importers: dict[str, set[str]] = defaultdict(set)
        for path, imported in self._imported.items():
            for one in imported:
                importers[one].add(path)
        waiting = []
        for path in changed:
            waiting += [path, path + _BEFORE] if path.endswith(".py") else self._naming(path)
        seen: set[str] = set()
        while waiting:
            path = waiting.pop()
            if path not in seen:
                seen.add(path)
                waiting += importers[path]
        return [path for path in self.tests if path in seen]

    def steps(self, path: str) -> dict[str, int]:
        """The files that a file imports, however far, and over how many imports at least."""
        found = {path: 0}
        waiting = deque([path])
        while waiting:
            one = waiting.popleft()
            for imported in self._imported.get(one, ()):
                if imported not in found:
                    found[imported] = found[one] + 1
                    waiting.append(imported)
        return found

    def _naming(self, path: str) -> list[str]:
        """The Python files that name the innermost folder of a file, or where none does the file itself."""
        *folders, name = path.split("/")
        for word in (*reversed(folders), name):
            quoted = re.compile(rf"[\"'/]{re.escape(word)}[\"'/]")
            found = [one for one, text in self.texts.items() if quoted.search(text)]
            if found:
                return found
        return self.tests


def changed_since(root: Path, revision: str) -> set[str]:
    """The files that differ from a revision, those among them that git does not know yet, and old names."""
    commands = (
        ["git", "diff", "--name-only", "--no-renames", "-z", revision, "--"],
        ["git", "ls-files", "--others", "--exclude-standard", "-z"],
    )
    found: set[str] = set()
    for command in commands:
        done = subprocess.run(command, cwd=root, capture_output=True, check=True)
        found |= set(filter(None, done.stdout.decode().split("\0")))
    return found


def left_out(tests: Iterable[str], reached: Iterable[str]) -> list[str]:
    """The folders of tests of which no module is reached."""
    kept = {path.split("/")[1] for path in reached}
    return sorted({path.split("/")[1] for path in tests if path.count("/") > 1} - kept)


def main(arguments: list[str]) -> int:
    """Run the tests that changes since the revision named first reach; the rest is for pytest."""
    revision, *more = arguments
    tree = Tree(ROOT)
    reached = tree.reached(changed_since(ROOT, revision))
    print(f"{len(reached)} of {len(tree.tests)} test modules are reached by what changed since {revision}")
    nothing = left_out(tree.tests, reached)
    if reached and nothing:
        print(f"left out whole: {', '.join(nothing)}")
    if not reached:
        return 0
    command = [sys.executable, "-m", "pytest", "-n", "auto", "--dist", "loadgroup", *more, *reached]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
