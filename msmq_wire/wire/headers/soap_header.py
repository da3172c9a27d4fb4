"""SoapHeader, [MS-MQMQ] 2.2.20.7."""

from typing import Annotated, ClassVar

from construct import Int16ul, Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Ahead, Align, Bytes, Fill, Tell, WireStruct
from msmq_wire.wire.musts import Must, Musts
from msmq_wire.wire.types.wchar_text import WcharText, must_be_terminated

HEADER_SECTION_ID = 0x0320
BODY_SECTION_ID = 0x0384


class SoapHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """Two application-defined texts, a SOAP header and a SOAP body.

    The text gives no rule for padding. Where the header has an odd number of WCHARs, the body section is
    looked for on the next 4-byte boundary first, then directly behind the header.
    """

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.20.7")
    header_section_id: Annotated[int, Int16ul, "0x0320."] = HEADER_SECTION_ID
    reserved: Annotated[int, Int16ul, "Ignored."] = 0
    header_data_length: Annotated[int, Int32ul, "WCHARs of the header, its terminator counted."] = 0
    header: Annotated[WcharText, Bytes(this.header_data_length * 2, WcharText), "SOAP header."] = WcharText()
    _body_section: ClassVar[Annotated[int, Tell()]]
    _aligned_id: ClassVar[Annotated[int, Ahead(Int16ul, 2)]]
    header_padding: Annotated[
        bytes,
        Fill(((this._body_section & 3 == 2) & (this._aligned_id == BODY_SECTION_ID)) * 2),
        "Up to the next 4-byte boundary, if the body section begins there.",
    ] = b""
    body_section_id: Annotated[int, Int16ul, "0x0384."] = BODY_SECTION_ID
    reserved1: Annotated[int, Int16ul, "Ignored."] = 0
    body_data_length: Annotated[int, Int32ul, "WCHARs of the body, its terminator counted."] = 0
    body: Annotated[WcharText, Bytes(this.body_data_length * 2, WcharText), "SOAP body."] = WcharText()
    padding: Annotated[bytes, Align(4), "Up to the next 4-byte boundary, if it is there."] = b""

    MUSTS: ClassVar[Musts] = (
        Must(
            "header-section-id",
            this.header_section_id == HEADER_SECTION_ID,
            at="header_section_id",
            message="HeaderSectionID must be 0x0320",
        ),
        Must(
            "body-section-id",
            this.body_section_id == BODY_SECTION_ID,
            at="body_section_id",
            message="BodySectionID must be 0x0384",
        ),
        must_be_terminated("header-terminated", "header", "Header must end with a NUL", or_empty=True),
        must_be_terminated("body-terminated", "body", "Body must end with a NUL", or_empty=True),
        Must(
            "header-size-wrap",
            this.header_data_length * 2 + 8 < 1 << 32,
            at="header_data_length",
            message="twice HeaderDataLength must stay within 32 bits",
        ),
        Must(
            "body-size-wrap",
            this.body_data_length * 2 + 8 < 1 << 32,
            at="body_data_length",
            message="twice BodyDataLength must stay within 32 bits",
        ),
    )
