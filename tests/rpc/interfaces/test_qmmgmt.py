"""qmmgmt, [MS-MQMR] 3.1.4: the object that a call is about, ranges, texts; bytes by hand."""

from __future__ import annotations

import pytest

from msmq_wire.rpc.constants import MgmtObjectType
from msmq_wire.rpc.interfaces.qmmgmt import INTERFACE, QMMgmtGetInfoRequest
from msmq_wire.rpc.ndr import NDR, NDR64, NDR_BIG_ENDIAN, StubValue, Syntax, encode_stub, inspect_stub
from msmq_wire.rpc.properties import PropertyKind
from msmq_wire.rpc.types.management_object import MgmtObject
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.wchar_text import WcharText

GET, ACT = INTERFACE.methods[0], INTERFACE.methods[1]
_NULL = PropVariant(vt=1)
# The tag of an enumeration, 16 bits, and that of the union; the arm; cp; aProp; apVar.
_ASKED = "0100 0100 00000000 01000000 01000000 02000000 01000000 0100 00 00 00000000 0100"
# Of 32 bits; union, arm and the end of the structure are aligned as its pointer would be, counts to 64 bits.
_ASKED64 = (
    "01000000 00000000 01000000 00000000 00000000 00000000 01000000 00000000"
    "0100000000000000 02000000 00000000 0100000000000000 0100 00 00 00000000 0100"
)


@pytest.mark.parametrize(("syntax", "stub"), [(NDR, _ASKED), (NDR64, _ASKED64)])
def test_a_computer_is_asked_for_its_private_queues(syntax: Syntax, stub: str) -> None:
    value = QMMgmtGetInfoRequest(p_object_format=MgmtObject(), cp=1, a_prop=(2,), ap_var=(_NULL,))
    data = encode_stub(GET.request, StubValue(value), syntax)
    # Behind the tag of an empty arm there may be a gap.
    assert data.rstrip(b"\0") == bytes.fromhex(stub).rstrip(b"\0")
    read = inspect_stub(GET.request, data, syntax)
    assert (read.value, read.anomalies, read.remainder) == (value, (), b"")
    assert value.property_kind is PropertyKind.MANAGEMENT_MACHINE


def test_an_action_is_a_text_with_its_end() -> None:
    stub = bytes.fromhex("0300 0300 efbeadde 06000000 00000000 06000000") + "pause\0".encode("utf-16-le")
    read = inspect_stub(ACT.request, stub, NDR)
    assert (read.error, read.remainder) == (None, b"")
    assert read.value.p_object_format == MgmtObject(type=MgmtObjectType.MGMT_SESSION, arm=0xDEADBEEF)
    assert read.value.lpwsz_action == WcharText.of("pause")
    assert encode_stub(ACT.request, StubValue(read.value), NDR) == stub


@pytest.mark.parametrize(("count", "codes"), [(0, ["ndr.range"]), (129, ["ndr.range"])])
def test_a_question_names_1_to_128_properties(count: int, codes: list[str]) -> None:
    value = QMMgmtGetInfoRequest(
        p_object_format=MgmtObject(), cp=count, a_prop=(1,) * count, ap_var=(_NULL,) * count
    )
    stub = encode_stub(GET.request, StubValue(value), NDR)
    assert [one.code for one in inspect_stub(GET.request, stub, NDR).anomalies] == codes


def test_another_kind_of_object_is_no_object() -> None:
    stub = bytes.fromhex(_ASKED.replace("0100 0100", "0400 0400", 1))
    error = inspect_stub(GET.request, stub, NDR).error
    assert error is not None
    assert error.path == "p_object_format.arm"


@pytest.mark.parametrize("syntax", [NDR, NDR_BIG_ENDIAN, NDR64])
def test_a_queue_stands_behind_a_pointer(syntax: Syntax) -> None:
    queue = QueueFormat.of(FormatName.parse("DIRECT=OS:far\\private$\\x"))
    value = QMMgmtGetInfoRequest(
        p_object_format=MgmtObject(type=MgmtObjectType.MGMT_QUEUE, arm=queue),
        cp=1,
        a_prop=(7,),
        ap_var=(_NULL,),
    )
    read = inspect_stub(GET.request, encode_stub(GET.request, StubValue(value), syntax), syntax)
    assert (read.value, read.anomalies) == (value, ())
    assert value.property_kind is PropertyKind.MANAGEMENT_QUEUE
