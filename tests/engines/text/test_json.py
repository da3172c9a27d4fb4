"""JSON writers: the text of the JSON view for what is whole, nothing for what is not."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import pytest
from construct import Int16ul
from hypothesis import event, given
from hypothesis import strategies as st

from msmq_wire import strategies
from msmq_wire.engines.codec import inspect
from msmq_wire.engines.text import json as json_writers
from msmq_wire.engines.text.bounded_cache import BoundedCache
from msmq_wire.engines.text.escaping import json_line, json_string
from msmq_wire.engines.text.json import json_text, source
from msmq_wire.invisible import RANGES
from msmq_wire.records.view import view
from msmq_wire.spec import SpecRef
from msmq_wire.wire.fields import Bytes, Items, Node, Opt, WireStruct
from msmq_wire.wire.headers.mqf_address_header import MQFAddressHeader
from msmq_wire.wire.headers.security_header import SecurityData, SecurityHeader
from msmq_wire.wire.headers.soap_header import SoapHeader
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader
from msmq_wire.wire.headers.user_header import AddressOverlay, UserHeader
from msmq_wire.wire.registry import STRUCTURES
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.mqf_direct_queue_format_name import MQFDirectQueueFormatName
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement
from msmq_wire.wire.types.private_queue_format_name import PrivateQueueFormatName
from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId
from msmq_wire.wire.types.public_queue_format_name import PublicQueueFormatName
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText
from tests.effort import cuts, in_batches
from tests.fixture_files import HEX_FILES
from tests.hex_files import hex_bytes

_STEMS = sorted(stem for stem, cls in STRUCTURES.items() if issubclass(cls, WireStruct))


_FILES = [path for path in HEX_FILES if path.parent.name in _STEMS]


def _written(value: Any) -> str:
    """What a writer writes, which is the text of the view."""
    text = json_text(value)
    assert text is not None
    assert text == json_line(view(value))
    return text


def _parts(value: Any) -> list[Any]:
    """The structures in a value, itself the first."""
    found = [value]
    for name in value.__struct_fields__:
        field = getattr(value, name)
        for part in field if isinstance(field, tuple) else (field,):
            if isinstance(part, WireStruct):
                found += _parts(part)
    return found


@in_batches(_FILES, every=1)
def test_a_fixture_is_written_as_it_is_viewed(path: Path) -> None:
    result = inspect(hex_bytes(path), path.parent.name)
    if result.error is None:
        for part in _parts(result.packet):
            _written(part)
    elif result.packet is not None:
        assert json_text(result.packet) in (None, json_line(view(result.packet)))


@pytest.mark.slow
@in_batches(_FILES, every=1)
def test_what_a_cut_left_of_a_fixture_is_viewed_or_written_alike(path: Path) -> None:
    data = hex_bytes(path)
    for size in cuts(len(data)):
        packet = inspect(data[:size], path.parent.name).packet
        if packet is not None:
            assert json_text(packet) in (None, json_line(view(packet)))


@st.composite
def _values(draw: st.DrawFn) -> Any:
    stem = draw(st.sampled_from(_STEMS))
    event(stem)
    return draw(st.one_of(strategies.structure(stem), strategies.edge(stem)))


@pytest.mark.slow
@given(_values())
def test_a_value_is_written_as_it_is_viewed(value: Any) -> None:
    _written(value)


@st.composite
def _changed(draw: st.DrawFn) -> tuple[str, bytes]:
    stem = draw(st.sampled_from(_STEMS))
    event(stem)
    return stem, draw(strategies.mutated(stem))


@pytest.mark.slow
@given(_changed())
def test_what_changed_bytes_decode_to_is_written_as_it_is_viewed(drawn: tuple[str, bytes]) -> None:
    stem, data = drawn
    result = inspect(data, stem)
    if result.error is None:
        _written(result.packet)
    elif result.packet is not None:
        assert json_text(result.packet) in (None, json_line(view(result.packet)))


def _without_one(value: Any, draw: Callable[[Any], Any]) -> Any:
    """The value with one of its fields, however deep, not reached."""
    name = draw(st.sampled_from(value.__struct_fields__))
    inner = getattr(value, name)
    lost: Any = msgspec.UNSET
    if isinstance(inner, WireStruct) and draw(st.booleans()):
        lost = _without_one(inner, draw)
    elif inner and isinstance(inner, tuple) and isinstance(inner[-1], WireStruct):
        lost = (*inner[:-1], _without_one(inner[-1], draw))
    return msgspec.structs.replace(value, **{name: lost})


@pytest.mark.slow
@given(_values(), st.data())
def test_a_value_with_a_field_that_was_not_reached_is_viewed_or_written_alike(
    value: Any, data: st.DataObject
) -> None:
    partial = _without_one(value, data.draw)
    assert json_text(partial) in (None, json_line(view(partial)))


def test_an_acknowledgment_without_the_header_of_its_body_is_written() -> None:
    text = _written(msgspec.structs.replace(STRUCTURES["order_ack"](), message_properties_header=None))
    assert text.endswith('"order_ack_body":null}')


def test_queues_whose_kinds_were_not_reached_are_viewed_as_they_are() -> None:
    partial = msgspec.structs.replace(UserHeader(), flags=msgspec.UNSET)
    assert json_text(partial) is None
    assert view(partial)["admin_queue"] is None


@pytest.mark.parametrize("stem", _STEMS)
def test_no_field_of_a_structure_can_be_lost_unseen(stem: str) -> None:
    value = STRUCTURES[stem]()
    for name in value.__struct_fields__:
        assert json_text(msgspec.structs.replace(value, **{name: msgspec.UNSET})) is None, name


@pytest.mark.parametrize("stem", _STEMS)
def test_the_source_of_a_writer_is_marked_readable_and_the_same_every_time(stem: str) -> None:
    text = source(STRUCTURES[stem])
    assert text.startswith("# Generated from the declaration of ")
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    assert function.name == f"write_{stem}"
    assert source(STRUCTURES[stem]) == text


@pytest.mark.slow
def test_no_writer_is_generated_before_it_is_needed() -> None:
    code = (
        "from msmq_wire.engines.text import json\nfrom msmq_wire.wire.packets.ping import Ping\n"
        "assert not json._writers\n"
        "json.json_text(Ping())\n"
        "print(len(json._writers))"
    )
    reported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert reported.stdout == "1\n"


_HOSTILE = (
    "",
    "plain",
    'a "quote" and a back\\slash/',
    "".join(map(chr, range(0x20))),
    "\x7f\x80\x85\x9b",
    "\u2028\u202e\u3164\U000e0100",
    "\u00e4\u6f22\U0001f600",
    "a\0b\0",
    "\ud800",
    "a\udfff\ud800b",
    "%s %d {0}",
)


@pytest.mark.parametrize("text", _HOSTILE)
def test_hostile_text_is_written_as_it_is_viewed(text: str) -> None:
    for name in (
        WcharText.of(text),
        WcharText(WcharText.of(text)[:-2]),
        WcharText(WcharText.of(text) + b"x"),
    ):
        direct = DirectQueueFormatName(count=len(name), direct_format_name=name)
        _written(direct)
        _written(MQFFormatNameElement(format_name=MQFDirectQueueFormatName(direct_format_name=name)))
        for queue, shift in (("destination_queue", 10), ("admin_queue", 13), ("response_queue", 16)):
            header: dict[str, Any] = {queue: direct}
            _written(UserHeader(flags=7 << shift, **header))
    padded = FixedWcharText.padded(text, 80)
    _written(SubqueueHeader(subqueue_name=padded, target_subqueue_name=FixedWcharText(padded[:-2] + b"a\0")))


def test_every_character_is_a_string_as_in_a_line() -> None:
    at_borders = {
        chr(code + step) for first, last in RANGES for code in (first, last) for step in (-1, 0, 1) if code
    }
    for text in (*at_borders, *map(chr, range(0x100)), "".join(sorted(at_borders))):
        assert json_string(text) == json_line(text)


_HOST, _OTHER = GUID(bytes(range(16))), GUID(bytes(range(16, 32)))
_QUEUES = (
    None,
    PrivateQueueFormatNameId(private_queue_identifier=15),
    PublicQueueFormatName(public_queue_identifier=_OTHER),
    PrivateQueueFormatName(source_queue_manager=_OTHER, private_queue_identifier=3),
    DirectQueueFormatName.of("OS:host\\private$\\q"),
)


@pytest.mark.parametrize("address", [_OTHER, AddressOverlay(address=bytes(range(8)))])
@pytest.mark.parametrize("selector", range(8))
def test_every_kind_of_queue_is_written_as_it_is_viewed(selector: int, address: Any) -> None:
    for queue in _QUEUES:
        for own, admin in ((selector, 3), (selector, 6), (3, selector), (1, selector)):
            header = UserHeader(
                source_queue_manager=_HOST,
                queue_manager_address=address,
                flags=own << 16 | admin << 13 | selector << 10,
                destination_queue=queue,  # type: ignore[arg-type]  # no packet has all of these, a program may
                admin_queue=queue,
                response_queue=queue,
            )
            # A queue whose type says that there is none is left to the view.
            assert json_text(header) in (None, json_line(view(header)))
            if queue is None or 0 not in (own, admin, selector):
                _written(header)


_SID = bytes.fromhex("0101000000000005 12000000")


@pytest.mark.parametrize("sender", range(4))
@pytest.mark.parametrize("security_id", [b"", _SID, _SID + b"x", bytes(16), bytes(15)])
def test_a_sender_is_written_by_its_type_and_alone_by_its_bytes(sender: int, security_id: bytes) -> None:
    data = SecurityData(security_id=security_id)
    text = _written(SecurityHeader(flags=sender, security_data=data))
    assert ("S-1-5-18" in text) == (sender == 1 and security_id == _SID)
    _written(data)


@pytest.mark.parametrize("kind", [0, 1, 6, 9])
@pytest.mark.parametrize("address", [b"", bytes(3), b"\1\2\3\4", b"\1\2\3\4\0\0\0\1", bytes(range(16))])
def test_an_address_is_written_by_its_type(kind: int, address: bytes) -> None:
    _written(AddressOverlay(address_type=kind, address=address))


class _Inner(WireStruct, frozen=True, kw_only=True, gc=False):
    """A structure of a later layer."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2")
    number: Annotated[int, Int16ul] = 0


class _Outer(WireStruct, frozen=True, kw_only=True, gc=False):
    """Fields that no packet has: a number and a list that may be absent, a list of numbers."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2")
    value: Annotated[int, Int16ul] = 0
    around: Annotated[int | None, Opt(1, Int16ul)] = None
    format: Annotated[_Inner | None, Opt(1, Node(_Inner))] = None
    numbers: Annotated[tuple[int, ...], Items(2, Int16ul)] = ()
    inners: Annotated[tuple[_Inner, ...], Items(2, Node(_Inner))] = ()


def test_what_a_later_layer_declares_is_written_too() -> None:
    for value in (
        _Outer(),
        _Outer(around=5, format=_Inner(), numbers=(1, 2), inners=(_Inner(), _Inner(number=3))),
    ):
        _written(value)


class _WithFloat(WireStruct, frozen=True, kw_only=True, gc=False):
    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2")
    field: Annotated[float, Bytes(4)] = 0.5


def test_a_type_without_a_rule_is_an_error_when_it_is_generated() -> None:
    with pytest.raises(TypeError, match="has no JSON text"):
        source(_WithFloat)


def test_what_is_kept_is_bounded_in_number_and_length() -> None:
    made: list[int] = []

    def exes(number: int) -> str:
        made.append(number)
        return "x" * number

    kept = BoundedCache(exes)
    assert kept[3] == kept[3] == "xxx"
    assert made == [3]
    assert len(kept[100_000]) == 100_000
    assert list(kept) == [3]
    numbers = BoundedCache(str)
    assert [numbers[number] for number in range(10_000)] == [str(number) for number in range(10_000)]
    assert len(numbers) <= 2048


def test_very_many_names_and_long_ones_leave_little_behind() -> None:
    for number in range(5_000):
        _ = json_text(DirectQueueFormatName.of(f"OS:{number}"))
    json_text(DirectQueueFormatName.of("a" * 30_000))
    kept = json_writers._texts["direct_format_name"]
    assert len(kept) <= 2048
    assert max(map(len, kept.values())) <= 512


def _cpu(value: WireStruct) -> float:
    started = time.process_time()
    for _ in range(3):
        json_text(value)
    return time.process_time() - started


@pytest.mark.check
@pytest.mark.parametrize("text", ["a", "\0", "\u202e", "\ud800", "\u6f22"])
def test_text_takes_time_by_its_length(text: str) -> None:
    for size in (1 << bits for bits in count(14)):
        one, four = (_cpu(SoapHeader(header=WcharText.of(text * length))) for length in (size, 4 * size))
        if four > 0.05 or size > 1 << 21:
            assert four < 12 * max(one, 0.005)
            return


@pytest.mark.check
def test_a_list_of_names_takes_time_by_its_length() -> None:
    def listed(size: int) -> float:
        names = (MQFDirectQueueFormatName(direct_format_name=WcharText.of(f"OS:{n}")) for n in range(size))
        return _cpu(
            MQFAddressHeader(format_name_list=tuple(MQFFormatNameElement(format_name=n) for n in names))
        )

    assert listed(40_000) < 12 * max(listed(10_000), 0.005)
