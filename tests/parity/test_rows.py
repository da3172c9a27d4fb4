"""The rows engine and the reference engine: the same values, anomalies, errors and bytes, whatever comes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from msmq_wire import strategies
from msmq_wire.engines import reference
from msmq_wire.engines.codec import InspectResult, encode, inspect
from msmq_wire.engines.rows import engine as rows
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.mqf_signature_header import MQFSignatureHeader
from msmq_wire.wire.registry import PACKETS, STRUCTURES
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.mqf_direct_queue_format_name import MQFDirectQueueFormatName
from msmq_wire.wire.types.wchar_text import WcharText
from tests.effort import cuts, in_batches
from tests.hex_files import hex_bytes

_STEMS = sorted(STRUCTURES)
_PACKETS = Path(__file__).resolve().parents[2] / "fixtures" / "packets"
_FILES = sorted(_PACKETS.glob("*/*.hex"))


def _error(error: DecodeError | None) -> Any:
    if error is None:
        return None
    return error.code, error.message, error.path, error.offset, error.spec, error.partial


def _facts(result: InspectResult) -> Any:
    return (
        result.type,
        type(result.packet),
        result.packet,
        result.anomalies,
        result.consumed,
        result.remainder,
        _error(result.error),
    )


def _agree(data: bytes, stem: str | None) -> InspectResult:
    """Both engines say the same of some bytes, and write the same for what they read."""
    result = inspect(data, stem, engine="rows")
    assert _facts(result) == _facts(inspect(data, stem, engine="reference"))
    if result.error is None:
        assert rows.build(result.packet) == data[: result.consumed]
    return result


def _both_write(value: Any) -> bytes | str:
    """What both engines write for a value, or how both refuse it."""
    reported: list[bytes | str] = []
    for engine in (rows, reference):
        try:
            reported.append(engine.build(value))
        except EncodeError as error:
            reported.append(str(error))
    assert reported[0] == reported[1]
    return reported[0]


@in_batches(_FILES, every=1)
def test_a_fixture_is_the_same_to_both(path: Path) -> None:
    stem, data = path.parent.name, hex_bytes(path)
    _agree(data, stem)
    _agree(data + b"what follows", stem)
    if stem in PACKETS:
        _agree(data, None)


@pytest.mark.slow
@pytest.mark.untraced
@in_batches(_FILES, every=1)
def test_every_truncation_of_a_fixture_is_the_same_to_both(path: Path) -> None:
    stem, data = path.parent.name, hex_bytes(path)
    for size in cuts(len(data)):
        _agree(data[:size], stem)


@in_batches(_FILES, every=1)
def test_what_is_whole_and_regular_never_reaches_the_reference_engine(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stem, data = path.parent.name, hex_bytes(path)
    if inspect(data, stem).error is not None:
        return

    def refuse(*_: object) -> None:
        raise AssertionError("the reference engine was asked")

    for name in ("parse", "build", "find_anomalies"):
        monkeypatch.setattr(reference, name, refuse)
    result = inspect(data, stem)
    assert encode(result.packet) == data[: result.consumed]


@st.composite
def _valid(draw: st.DrawFn) -> tuple[str, Any]:
    stem = draw(st.sampled_from(_STEMS))
    event(stem)
    return stem, draw(st.one_of(strategies.structure(stem), strategies.edge(stem)))


@given(_valid())
def test_a_value_is_written_and_read_the_same_by_both(drawn: tuple[str, Any]) -> None:
    stem, value = drawn
    data = _both_write(value)
    assert isinstance(data, bytes)
    assert _agree(data, stem).packet == value


@st.composite
def _changed(draw: st.DrawFn) -> tuple[str, bytes]:
    stem = draw(st.sampled_from(_STEMS))
    event(stem)
    return stem, draw(strategies.mutated(stem))


@pytest.mark.slow
@given(_changed())
def test_changed_bytes_are_the_same_to_both(drawn: tuple[str, bytes]) -> None:
    stem, data = drawn
    result = _agree(data, stem)
    event("a value" if result.error is None else result.error.code)
    if stem in PACKETS:
        _agree(data, None)


@given(st.sampled_from(_FILES), st.data())
def test_a_fixture_with_bytes_changed_is_the_same_to_both(path: Path, data: st.DataObject) -> None:
    changed = bytearray(hex_bytes(path))
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    result = _agree(bytes(changed), path.parent.name)
    event("a value" if result.error is None else result.error.code)


def _contradictions(value: Any, draw: Callable[[Any], Any]) -> Any:
    """The value with one of its fields, however deep, replaced by something else."""
    while isinstance(value, WireStruct):
        name = draw(st.sampled_from(value.__struct_fields__))
        inner = getattr(value, name)
        if isinstance(inner, WireStruct) and draw(st.booleans()):
            return msgspec.structs.replace(value, **{name: _contradictions(inner, draw)})
        other = draw(
            st.one_of(
                st.integers(-1, 1 << 33),
                st.binary(max_size=40),
                st.binary(max_size=40).map(WcharText),
                st.binary(max_size=20).map(bytearray),
                st.sampled_from([None, msgspec.UNSET, (), 1.5, "text", True, BaseHeader()]),
                st.just(DirectQueueFormatName.of("OS:host\\q")),
            )
        )
        return msgspec.structs.replace(value, **{name: other})
    return value


@pytest.mark.parametrize(
    "text", [b"", b"\0", b"a\0", b"\0\0", b"\0\0\0", b"a\0\0\0", b"\0\0a\0", b"a\0\0\0\0\0"]
)
def test_a_text_that_does_not_end_with_its_only_terminator_is_refused_alike(text: bytes) -> None:
    reported = _both_write(MQFDirectQueueFormatName(direct_format_name=WcharText(text)))
    assert (reported == text) is (text in (b"\0\0", b"a\0\0\0"))


@pytest.mark.slow
@given(_valid(), st.data())
def test_a_value_that_contradicts_itself_is_refused_alike(
    drawn: tuple[str, Any], data: st.DataObject
) -> None:
    event(type(_both_write(_contradictions(drawn[1], data.draw))).__name__)


@pytest.mark.slow
@example(b"")
@given(st.binary(max_size=300))
def test_any_bytes_are_the_same_to_both_whatever_they_are_taken_for(data: bytes) -> None:
    for stem in (None, *_STEMS):
        _agree(data, stem)


@pytest.mark.parametrize("stem", sorted(PACKETS))
def test_a_subclass_of_bytes_a_view_and_a_bytearray_decode_alike(stem: str) -> None:
    data = hex_bytes(next(iter(sorted((_PACKETS / stem).glob("*.hex")))))
    forms: tuple[Any, ...] = (bytearray(data), memoryview(data), WcharText(data))
    for form in forms:
        assert _facts(inspect(form, stem)) == _facts(inspect(data, stem, engine="reference"))


@pytest.mark.parametrize("value", [(), [], bytearray(), None, 0, ""])
def test_what_is_not_bytes_is_refused_in_padding_too(value: Any) -> None:
    name = MQFDirectQueueFormatName(direct_format_name=value)
    assert "where bytes belong" in str(_both_write(MQFSignatureHeader(padding=value)))
    assert "where a WcharText belongs (WcharText.of(text))" in str(_both_write(name))
