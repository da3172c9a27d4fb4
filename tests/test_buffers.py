"""Whatever takes bytes takes buffers, and says so in one line to who gives anything else."""

from __future__ import annotations

import array
import ast
import importlib
import inspect
import mmap
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msmq_wire
from msmq_wire.buffers import as_bytes
from msmq_wire.capture.reader import CaptureReader, read_capture
from msmq_wire.engines import columns

pytestmark = pytest.mark.needs("pyspark")

ROOT = Path(__file__).resolve().parents[1]
WRONG = (5, 2_000_000_000, None, "text", [1, 2], 1.5)
NOT_BYTES = re.compile(r"(?<!\w)(?:type|IO|Callable|dict)\[|^Record \| ")
READING = ("decode_", "inspect_", "parse_", "split_", "join_", "open_", "from_")
"""How a function is called that reads bytes which somebody else wrote."""
INSIDE = {
    "open_rc4": "takes a key, not what was read",
}
"""Functions that no user calls, and why they look as if one did."""


def _documented() -> Iterator[tuple[str, Any]]:
    """What the pages import, and what packages name as theirs."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for line in re.findall(
            r"^(?:>>> )?(from msmq_wire[\w.]* import .*)$", page.read_text("utf-8"), re.MULTILINE
        ):
            [statement] = ast.parse(line).body
            assert isinstance(statement, ast.ImportFrom)
            assert statement.module is not None
            module = importlib.import_module(statement.module)
            for alias in statement.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{statement.module}.{alias.name}")
                thing = getattr(module, alias.name)
                if inspect.ismodule(thing):
                    yield from ((f"{alias.name}.{name}", getattr(thing, name)) for name in _names(thing))
                else:
                    yield alias.name, thing
    for name in msmq_wire.__all__:
        yield name, getattr(msmq_wire, name)


def _names(module: Any) -> list[str]:
    """What a package gives, or what a module defines for others."""
    own = (
        name
        for name, one in vars(module).items()
        if not name.startswith("_") and getattr(one, "__module__", None) == module.__name__
    )
    return list(getattr(module, "__all__", own))


def _modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages(msmq_wire.__path__, "msmq_wire."):
        if found.name.split(".")[1] not in ("cli", "lab", "spark"):
            yield found, importlib.import_module(found.name)


def _public() -> dict[str, Callable[..., Any]]:
    """Functions and methods of users, by name."""
    things = dict(_documented())
    for found, module in _modules():
        for name in _names(module):
            if found.ispkg or name.startswith(READING):
                things.setdefault(name, getattr(module, name))
    functions: dict[str, Callable[..., Any]] = {}
    for name, thing in things.items():
        if inspect.isfunction(thing) and name not in INSIDE:
            functions[name] = thing
        elif inspect.isclass(thing) and thing.__module__.startswith("msmq_wire."):
            for method in vars(thing):
                if not method.startswith("_") and callable(getattr(thing, method)):
                    functions[f"{name}.{method}"] = getattr(thing, method)
    return functions


def _takes_bytes(annotation: object) -> bool:
    text = getattr(annotation, "__name__", None) or str(annotation)
    return bool(re.search(r"\bbytes\b", text)) and not NOT_BYTES.search(text)


def _entry_points() -> list[Any]:
    """Every parameter of a user's function that takes bytes, with a call that gives it a value."""
    found = []
    for name, function in sorted(_public().items()):
        parameters = inspect.signature(function).parameters
        for parameter in parameters:
            annotation = parameters[parameter].annotation
            if not _takes_bytes(annotation):
                continue
            several = "Iterable[" in str(annotation) or "Sequence[" in str(annotation)
            found.append(
                pytest.param(function, parameter, several, "str" in str(annotation), id=f"{name}-{parameter}")
            )
    return found


def _give(function: Callable[..., Any], parameter: str, value: object) -> None:
    """Call a function with a value for a parameter, and with what does not matter for the others."""
    others: dict[str, Any] = {
        "queue": r"DIRECT=OS:host\q",
        "max_body_size": 4,
        "max_compound_message_size": 4,
    }
    needed = {
        name: others.get(name, b"" if _takes_bytes(one.annotation) else 0)
        for name, one in inspect.signature(function).parameters.items()
        if one.default is one.empty and one.kind is not one.VAR_KEYWORD
    }
    function(**{**needed, parameter: value})


@pytest.mark.parametrize(("function", "parameter", "several", "text_too"), _entry_points())
def test_what_is_no_buffer_is_refused_in_words(
    function: Callable[..., Any], parameter: str, several: bool, text_too: bool
) -> None:
    for wrong in WRONG:
        if text_too and isinstance(wrong, str):
            continue
        hint = ": bytes.fromhex reads hexadecimal text" if isinstance(wrong, str) else ""
        with pytest.raises(
            TypeError, match=rf"must be bytes or another buffer.*, not {type(wrong).__name__}{hint}$"
        ):
            _give(function, parameter, [wrong] if several else wrong)


def test_the_walk_finds_what_everybody_uses() -> None:
    found = {one.id for one in _entry_points()}
    assert {"decode-data", "inspect-data", "split_sections-packet", "decode_stub-data"} <= found
    assert {"build_message-body", "parse_message-data", "open_body-data", "Secrets.of-keytabs"} <= found
    assert {"parse_keytab-data", "decode_pdu-data", "HttpConnection.feed-data", "from_wire-data"} <= found


def test_what_the_walk_leaves_out_is_there_and_takes_bytes() -> None:
    functions = {
        name: getattr(module, name) for _, module in _modules() for name in INSIDE if hasattr(module, name)
    }
    for name in INSIDE:
        assert name.startswith(READING)
        annotations = [one.annotation for one in inspect.signature(functions[name]).parameters.values()]
        assert any(_takes_bytes(one) for one in annotations)


@pytest.mark.parametrize("wrong", WRONG)
def test_what_takes_any_buffer_or_bytes_inside_refuses_the_same(wrong: object) -> None:
    with pytest.raises(TypeError, match="must be bytes or another buffer"):
        msmq_wire.GUID(wrong)  # type: ignore[arg-type]  # that is the point
    for function in (columns.decode, columns.proven):
        with pytest.raises(TypeError, match="must be bytes or another buffer"):
            function(wrong, [0])
    section = msmq_wire.SectionBuffer(data=wrong)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(TypeError, match="the data of a section must be bytes"):
        msmq_wire.join_sections([section])
    with pytest.raises(TypeError, match="sections must be SectionBuffer values"):
        msmq_wire.join_sections([wrong])  # type: ignore[list-item]  # that is the point


@pytest.mark.parametrize("wrong", [5, None, b"\xd4\xc3\xb2\xa1", [1, 2]])
def test_a_capture_is_a_path_or_a_file(wrong: Any) -> None:
    for reading in (CaptureReader, read_capture):
        with pytest.raises(TypeError, match=f"path, '-' or a binary file object, not {type(wrong).__name__}"):
            list(reading(wrong))


def test_every_buffer_is_the_bytes_that_it_holds(tmp_path: Path) -> None:
    data = msmq_wire.encode(msmq_wire.build_message(r"DIRECT=OS:host\q", b"body"))
    spread = memoryview(bytes(2 * len(data))).cast("B").tolist()
    spread[::2] = data
    file = tmp_path / "packet"
    file.write_bytes(data)
    buffers: list[Any] = [
        bytearray(data),
        memoryview(data),
        memoryview(bytes(spread))[::2],
        array.array("B", data),
        np.frombuffer(data, np.uint8),
    ]
    for buffer in buffers:
        assert as_bytes(buffer) == data
        assert msmq_wire.decode(buffer) == msmq_wire.decode(data)
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert msmq_wire.inspect(mapped) == msmq_wire.inspect(data)


def test_bytes_are_not_copied() -> None:
    data = b"some bytes"
    assert as_bytes(data) is data
