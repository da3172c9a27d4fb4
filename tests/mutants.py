"""Small faults put into the package, one at a time: which of them do the tests see?

``make mutants`` runs the tests once to learn which of them runs which line, then changes one place of a
function and runs the tests of that line, the cheapest first, until one fails. What is drawn follows from the
sources alone: the functions of a package (a folder below msmq_wire) in the order of a hash of their source,
and in each the place that the hash names. Tests that need a JVM are left out: what a mutant changes is in
this process only. ``MSMQ_WIRE_EFFORT=check`` asks the whole suite.

``--freeze FILE`` writes down the mutants of the last run: where each is, what it changes and whether it was
killed. ``--frozen FILE`` runs those again, wherever their functions are by then, and ends with status 1 where
one that was killed is not. A function that was renamed is found by ``--moved FILE``, a JSON object of
``path:qualname`` before and after; one that was moved only is found by its name and what it does.

Every mutant lives in a process that is forked once all tests are collected, where the code objects of the
functions are replaced. A test that fails without the mutant too does not count.
"""

from __future__ import annotations

import argparse
import ast
import functools
import gc
import hashlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import coverage
import pytest
from _pytest.runner import runtestprotocol

_ROOT = Path(__file__).resolve().parents[1]
_PACKAGE = _ROOT / "msmq_wire"
_WORK = _ROOT / ".mutants"
_SECONDS = 4.0
"""What the tests of one mutant may take together, as the first run timed them; the first runs in any case."""

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


class Mutant(NamedTuple):
    """A function, and which of the places in it that can be changed is changed."""

    package: str
    file: str
    qualname: str
    place: int
    line: int
    what: str


class Frozen(NamedTuple):
    """A mutant as it was written down: ``steps`` are all that could be changed in its function, in order.

    ``text`` is the line that is changed.
    """

    file: str
    qualname: str
    place: int
    steps: tuple[str, ...]
    text: str
    killed: bool


class _Places(ast.NodeVisitor):
    """The places of a function that can be changed: line, what is done, and how."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str, Callable[[], None]]] = []

    def _add(self, node: ast.AST, what: str, change: Callable[[], None]) -> None:
        self.found.append((getattr(node, "lineno", 0), what, change))

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for statement in node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body:
            self.visit(statement)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        for at, operator in enumerate(node.ops):
            other = _COMPARED[type(operator)]
            self._add(
                node,
                f"{type(operator).__name__} to {other.__name__}",
                functools.partial(node.ops.__setitem__, at, other()),
            )
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        other = _COMPUTED.get(type(node.op))
        if other is not None:
            self._add(
                node,
                f"{type(node.op).__name__} to {other.__name__}",
                functools.partial(setattr, node, "op", other()),
            )
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._add(node, f"to {type(other).__name__}", functools.partial(setattr, node, "op", other))
        self.generic_visit(node)

    def _negate(self, node: ast.If | ast.IfExp | ast.While) -> None:
        if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.Constant):
            negated = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
            self._add(node.test, "condition negated", functools.partial(setattr, node, "test", negated))
        self.generic_visit(node)

    visit_If = visit_IfExp = visit_While = _negate

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._add(node, f"to {not node.value}", functools.partial(setattr, node, "value", not node.value))
        elif isinstance(node.value, int):
            self._add(node, f"{node.value} plus 1", functools.partial(setattr, node, "value", node.value + 1))

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not isinstance(node.value, ast.Constant):
            nothing = ast.copy_location(ast.Constant(None), node.value)
            self._add(node, "returns None", functools.partial(setattr, node, "value", nothing))
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        # Without its call of super() a function has another closure.
        if isinstance(node.value, ast.Call) and "super()" not in ast.unparse(node.value):
            nothing = ast.copy_location(ast.Constant(None), node.value)
            self._add(node, "call left out", functools.partial(setattr, node, "value", nothing))
        self.generic_visit(node)


def _functions(
    tree: ast.AST, prefix: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Functions with their qualified names; what stands inside a function belongs to it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If | ast.Try):
            yield from _functions(node, prefix)


def _places(node: ast.AST) -> list[tuple[int, str, Callable[[], None]]]:
    found = _Places()
    found.visit(node)
    return found.found


def draw(number: int, below: str = "") -> list[Mutant]:
    """Up to ``number`` mutants of every package, those of files below a folder."""
    drawn: defaultdict[str, list[tuple[str, Mutant]]] = defaultdict(list)
    for path in sorted(_PACKAGE.rglob("*.py")):
        inside = path.relative_to(_PACKAGE)
        package = inside.parts[0] if len(inside.parts) > 1 else "."
        source = path.read_text(encoding="utf-8")
        for qualname, node in _functions(ast.parse(source)):
            text = f"{inside.as_posix()}:{qualname}\n{ast.get_source_segment(source, node)}"
            digest = hashlib.sha256(text.encode()).hexdigest()
            places = _places(node)
            if places:
                place = int(digest[:8], 16) % len(places)
                line, what, _ = places[place]
                file = path.relative_to(_ROOT).as_posix()
                drawn[package].append((digest, Mutant(package, file, qualname, place, line, what)))
    found = [mutant for package in sorted(drawn) for _, mutant in sorted(drawn[package])[:number]]
    return [mutant for mutant in found if mutant.file.startswith(below)]


def freeze(results: list[dict[str, Any]]) -> list[Frozen]:
    """What is written down of mutants whose results are known, and whose sources did not change since."""
    found = []
    for one in results:
        source = (_ROOT / one["file"]).read_text(encoding="utf-8")
        node = dict(_functions(ast.parse(source)))[one["qualname"]]
        steps = tuple(what for _, what, _ in _places(node))
        text = source.splitlines()[one["line"] - 1].strip()
        killed = one["result"].startswith("killed")
        found.append(Frozen(one["file"], one["qualname"], one["place"], steps, text, killed))
    return found


def thaw(frozen: list[Frozen], moved: dict[str, str]) -> list[Mutant | None]:
    """Where mutants are now; None for one whose function, or what it changes there, is no more."""
    functions: dict[tuple[str, str], tuple[str, ast.AST]] = {}
    by_name: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for path in sorted(_PACKAGE.rglob("*.py")):
        source, file = path.read_text(encoding="utf-8"), path.relative_to(_ROOT).as_posix()
        for qualname, node in _functions(ast.parse(source)):
            functions[file, qualname] = source, node
            by_name[qualname.rpartition(".")[2]].append((file, qualname))
    found: list[Mutant | None] = []
    for one in frozen:
        file, _, qualname = moved.get(f"{one.file}:{one.qualname}", f"{one.file}:{one.qualname}").partition(
            ":"
        )
        name = qualname.rpartition(".")[2]
        candidates = [(file, qualname), *(at for at in by_name[name] if at != (file, qualname))]
        places = (
            (at, _same_place(one, *functions[at], named=at == candidates[0]))
            for at in candidates
            if at in functions
        )
        at, place = next(((at, place) for at, place in places if place is not None), (None, None))
        if at is None or place is None:
            found.append(None)
            continue
        line, what, _ = _places(functions[at][1])[place]
        parts = at[0].split("/")
        package = parts[1] if len(parts) > 2 else "."
        found.append(Mutant(package, *at, place, line, what))
    return found


def _same_place(one: Frozen, source: str, node: ast.AST, *, named: bool) -> int | None:
    """The place that a mutant changed; None where it is another function, or changed there.

    ``named`` says that it is the function by its name.
    """
    places, lines = _places(node), source.splitlines()
    texts = [lines[line - 1].strip() for line, _, _ in places]
    steps = tuple(what for _, what, _ in places)
    if steps == one.steps and (named or texts[one.place] == one.text):
        return one.place
    wanted = (one.steps[one.place], one.text)
    same = [number for number, step in enumerate(zip(steps, texts, strict=True)) if step == wanted]
    return same[0] if len(same) == 1 else None


def _mutated(mutant: Mutant) -> CodeType:
    """The code of the module with the change in it."""
    path = _ROOT / mutant.file
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for qualname, node in _functions(tree):
        if qualname == mutant.qualname and len(places := _places(node)) > mutant.place:
            line, what, change = places[mutant.place]
            if (line, what) == (mutant.line, mutant.what):
                change()
    return compile(tree, path, "exec", dont_inherit=True)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _codes(value)


def apply(mutant: Mutant, functions: list[FunctionType]) -> bool:
    """Put the change into every function that was made from the place; whether there was one."""
    path = str(_ROOT / mutant.file)
    changed = {(code.co_qualname, code.co_firstlineno): code for code in _codes(_mutated(mutant))}
    found = False
    for value in functions:
        if value.__code__.co_filename != path:
            continue
        code = changed.get((value.__code__.co_qualname, value.__code__.co_firstlineno))
        if code is not None and code != value.__code__ and code.co_freevars == value.__code__.co_freevars:
            value.__code__ = code
            found = True
    return found


def _test_of(context: str) -> str:
    """The test of a coverage context, without its phase and without the group that xdist appends."""
    return re.sub(r"@\w+$", "", context.rpartition("|")[0])


class Runner:
    """A pytest plugin: in place of the tests, the mutants."""

    def __init__(self, mutants: list[Mutant], jobs: int, seconds: float, out: Path) -> None:
        self._mutants, self._jobs, self._seconds, self._out = mutants, jobs, seconds, out
        self._functions: list[FunctionType] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items if item.get_closest_marker("spark") is None}
        mutants = self._mutants
        tests = self._tests_of(mutants, items)
        gc.unfreeze()
        self._functions = [value for value in gc.get_objects() if isinstance(value, FunctionType)]
        # What is forked shares its memory for as long as nobody counts its garbage.
        gc.collect()
        gc.freeze()
        running: dict[int, tuple[int, Mutant, float]] = {}
        results: dict[Mutant, str] = {}
        waiting = list(reversed(mutants))
        while waiting or running:
            while waiting and len(running) < self._jobs:
                mutant = waiting.pop()
                if not tests[mutant]:
                    results[mutant] = "no test"
                    continue
                chosen = [items[name] for name in tests[mutant]]
                pid, end = self._fork(functools.partial(self._judge, mutant, chosen), alone=True)
                running[end] = (pid, mutant, time.monotonic() + 30 + 5 * self._seconds)
            ready, _, _ = select.select(list(running), [], [], 1)
            now = time.monotonic()
            for end in list(running):
                pid, mutant, deadline = running[end]
                if end not in ready and now < deadline:
                    continue
                reported = os.read(end, 4096).decode() if end in ready else "killed by the clock"
                os.close(end)
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                del running[end]
                results[mutant] = reported or "killed by its end"
                place = f"{mutant.file}:{mutant.line} {mutant.what}"
                print(f"{len(results)} of {len(mutants)}: {place}: {results[mutant]}", flush=True)
        self._out.write_text(
            json.dumps([{**mutant._asdict(), "result": results[mutant]} for mutant in mutants], indent=1)
        )
        return True

    def _tests_of(self, mutants: list[Mutant], items: dict[str, pytest.Item]) -> dict[Mutant, list[str]]:
        seconds: dict[str, float] = json.loads((_WORK / "seconds.json").read_text())
        data = coverage.CoverageData(str(_WORK / "lines"))
        data.read()
        by_file = {str(_ROOT / mutant.file): dict[int, list[str]]() for mutant in mutants}
        for file in by_file:
            by_file[file] = data.contexts_by_lineno(file)
        found = {}
        for mutant in mutants:
            contexts = by_file[str(_ROOT / mutant.file)].get(mutant.line, ())
            names = {_test_of(context) for context in contexts} & set(items)
            ordered = sorted(names, key=lambda name: (seconds.get(name, 1.0), name))
            kept, spent = list[str](), 0.0
            for name in ordered:
                spent += seconds.get(name, 1.0)
                if kept and spent > self._seconds:
                    break
                kept.append(name)
            found[mutant] = kept
        return found

    def _judge(self, mutant: Mutant, chosen: list[pytest.Item]) -> str:
        """In a process of its own: run tests until one fails that does not fail without the mutant."""
        at = 0
        while at < len(chosen):
            pid, end = self._fork(functools.partial(self._first_failing, mutant, chosen[at:]))
            reported = os.read(end, 4096).decode()
            os.close(end)
            os.waitpid(pid, 0)
            if reported == "survived" or reported == "no function":
                return reported
            failed = at + int(reported or 0)
            if not reported:
                return "killed by its end"
            pid, end = self._fork(functools.partial(self._first_failing, None, chosen[failed : failed + 1]))
            alone = os.read(end, 4096).decode()
            os.close(end)
            os.waitpid(pid, 0)
            if alone == "survived":
                return f"killed by {chosen[failed].nodeid}"
            at = failed + 1
        return "survived"

    def _first_failing(self, mutant: Mutant | None, chosen: list[pytest.Item]) -> str:
        if mutant is not None and not apply(mutant, self._functions):
            return "no function"
        for at, item in enumerate(chosen):
            after = chosen[at + 1] if at + 1 < len(chosen) else None
            if any(report.failed for report in runtestprotocol(item, log=False, nextitem=after)):
                return str(at)
        return "survived"

    @staticmethod
    def _fork(work: Callable[[], str], *, alone: bool = False) -> tuple[int, int]:
        """Do some work in a process of its own (``alone`` in its group): its number, where it tells."""
        end, start = os.pipe()
        pid = os.fork()
        if alone:
            os.setpgid(pid, pid or os.getpid())
        if pid:
            os.close(start)
            return pid, end
        os.close(end)
        status = 1
        try:
            with open(os.devnull, "w") as nothing:
                for stream in (1, 2):
                    os.dup2(nothing.fileno(), stream)
            os.write(start, work().encode())
            status = 0
        finally:
            os._exit(status)


class Clock:
    """A pytest plugin: how long every test took, its fixtures included."""

    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[re.sub(r"@\w+$", "", report.nodeid)] += report.duration  # type: ignore[assignment]  # a float

    def pytest_sessionfinish(self) -> None:
        if "PYTEST_XDIST_WORKER" not in os.environ:
            (_WORK / "seconds.json").write_text(json.dumps(self._seconds))


def _learn(tests: list[str]) -> None:
    """Run tests once with coverage, line by line and test by test."""
    _WORK.mkdir(exist_ok=True)
    settings = _WORK / "coverage.ini"
    settings.write_text(f"[run]\nsource = msmq_wire\ndata_file = {_WORK / 'lines'}\n")
    ran = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-n",
                "auto",
                "--dist",
                "loadgroup",
                "-p",
                "tests.mutants",
            ),
            *("--cov", f"--cov-config={settings}", "--cov-context=test", "--cov-report="),
            *tests,
        ],
        cwd=_ROOT,
        check=False,
    )
    # One that fails is no reason to stop: it does not count.
    if ran.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise SystemExit("the tests could not be run")


def table(results: list[dict[str, Any]]) -> str:
    """Killed of drawn for every package."""
    drawn = Counter(one["package"] for one in results)
    killed = Counter(one["package"] for one in results if one["result"].startswith("killed"))
    lines = [f"{package:12} {killed[package]:3} of {drawn[package]:3}" for package in sorted(drawn)]
    return "\n".join([*lines, f"{'all':12} {killed.total():3} of {drawn.total():3}"])


def pytest_configure(config: pytest.Config) -> None:
    """As a plugin of pytest, this module keeps time."""
    config.pluginmanager.register(Clock())


def main() -> int:
    parser = argparse.ArgumentParser(description="Which small faults do the tests see?")
    parser.add_argument("tests", nargs="*", default=[str(_ROOT / "tests")], help="files or folders")
    parser.add_argument("--number", type=int, default=60, help="mutants of a package (default 60)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="for the tests of a mutant")
    parser.add_argument("--below", default="", help="only functions of files below this folder")
    parser.add_argument(
        "--known", action="store_true", help="take which test runs which line from the last run"
    )
    parser.add_argument("--out", type=Path, default=_WORK / "results.json")
    parser.add_argument("--freeze", type=Path, help="write the mutants of the last run down, and stop")
    parser.add_argument("--frozen", type=Path, help="run the mutants that were written down")
    parser.add_argument("--moved", type=Path, help="the functions that were renamed since")
    options = parser.parse_args()
    if options.freeze is not None:
        rows = map(json.dumps, freeze(json.loads(options.out.read_text())))
        options.freeze.write_text("[\n" + ",\n".join(rows) + "\n]\n")
        return 0
    frozen: list[Frozen] = []
    if options.frozen is None:
        mutants = draw(options.number, options.below)
    else:
        frozen = [Frozen(*one) for one in json.loads(options.frozen.read_text())]
        frozen = [one._replace(steps=tuple(one.steps)) for one in frozen]
        moved = {} if options.moved is None else json.loads(options.moved.read_text())
        places = thaw(frozen, moved)
        mutants = [mutant for mutant in places if mutant is not None]
    if not options.known:
        _learn(options.tests)
    runner = Runner(mutants, options.jobs, options.seconds, options.out)
    pytest.main(["-q", "-s", "-p", "no:cacheprovider", *options.tests], plugins=[runner])
    results = json.loads(options.out.read_text())
    for one in results:
        if not one["result"].startswith("killed"):
            print(f"{one['result']}: {one['file']}:{one['line']} {one['qualname']}: {one['what']}")
    print(table(results))
    if not frozen:
        return 0
    survived = {Mutant(*list(one.values())[:-1]) for one in results if not one["result"].startswith("killed")}
    worse = 0
    for before, now in zip(frozen, places, strict=True):
        if now is None or (before.killed and now in survived):
            state = "gone" if now is None else "killed before, not now"
            worse += now is not None
            print(f"{state}: {before.file} {before.qualname}: {before.text}")
    print(f"{len(mutants)} of {len(frozen)} found again; {worse} killed before and not now")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
