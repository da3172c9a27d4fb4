"""SRMPEnvelopeHeader, [MS-MQRR] 2.2.5.1.2.1."""

from typing import Annotated, ClassVar

from construct import Int16ul, Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Bytes, Fill, WireStruct
from msmq_wire.wire.musts import Must, Musts
from msmq_wire.wire.types.wchar_text import WcharText, must_be_terminated


class SRMPEnvelopeHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """The SOAP envelope of a message that came over HTTP."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQRR", "2.2.5.1.2.1")
    header_id: Annotated[int, Int16ul, "Number of the header; its value is not given, 0 is seen."] = 0
    reserved: Annotated[int, Int16ul, "Ignored."] = 0
    # The text says length, a public program counts WCHARs.
    data_length: Annotated[int, Int32ul, "WCHARs of the envelope, its terminator counted."] = 1
    data: Annotated[WcharText, Bytes(this.data_length * 2, WcharText), "SOAP envelope."] = WcharText(b"\0\0")
    padding: Annotated[bytes, Fill(-(this.data_length * 2) & 3), "Up to the next 4-byte boundary."] = b"\0\0"

    MUSTS: ClassVar[Musts] = (
        must_be_terminated("data-terminated", "data", "Data must end with a NUL"),
        Must(
            "data-length-wrap",
            this.data_length * 2 + 8 < 1 << 32,
            at="data_length",
            message="twice DataLength must stay within 32 bits",
        ),
    )
