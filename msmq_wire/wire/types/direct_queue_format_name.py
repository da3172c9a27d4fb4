"""DirectQueueFormatName, [MS-MQMQ] 2.2.18.1.5.2."""

import re
from functools import lru_cache
from typing import Annotated, ClassVar, Self

from construct import Int16ul

from msmq_wire.errors import FormatNameError
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Bytes, Fill, WireStruct
from msmq_wire.wire.musts import CodedMust, Must, Musts
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.private import QUEUE_NAME
from msmq_wire.wire.types.wchar_text import WcharText, must_be_terminated

# Queue names of MSMQ 1.0 may hold what later versions use between names.
_OF_MSMQ_1 = str.maketrans('+,"', "___")
# The grammar has msmq as virtual directory of a web server, whose administrator may choose another.
_DIRECTORY = re.compile(r"\A(https?://[^/\\]+)[/\\](?!msmq[/\\])[^/\\]+(?=[/\\])", re.IGNORECASE | re.ASCII)
_IN_MSMQ = r"\1/msmq"

# Traffic repeats its queue names; what is longer is not worth keeping.
_KEPT = 1024


def is_direct_name(name: WcharText) -> bool:
    """Whether a text follows the grammar of direct format names; one without a terminator is not judged."""
    return _follows_grammar(name) if len(name) <= _KEPT else _follows_grammar.__wrapped__(name)


@lru_cache(maxsize=4096)
def _follows_grammar(name: WcharText) -> bool:
    if not name.terminated:
        return True
    try:
        FormatName.parse(f"DIRECT={_DIRECTORY.sub(_IN_MSMQ, name.text, 1).translate(_OF_MSMQ_1)}")
    except FormatNameError:
        return False
    return True


class DirectQueueFormatName(WireStruct, frozen=True, kw_only=True, gc=False):
    """A queue by address and path, without the "DIRECT=" of the format name."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.18.1.5.2")
    count: Annotated[int, Int16ul, "Bytes of the name with its terminator, padding not counted."] = 0
    direct_format_name: Annotated[
        WcharText, Bytes(this.count, WcharText), QUEUE_NAME, "The name with its terminator."
    ] = WcharText()
    padding: Annotated[bytes, Fill(-(this.count + 2) & 3), "Up to the next 4-byte boundary; any bytes."] = (
        b"\0\0"
    )

    MUSTS: ClassVar[Musts] = (
        Must("count-even", this.count & 1 == 0, at="count", message="Count must be whole WCHARs"),
        must_be_terminated("terminated", "direct_format_name", "DirectFormatName must end with a NUL"),
        CodedMust(
            "direct-format-name",
            is_direct_name,
            "direct_format_name",
            at="direct_format_name",
            message="DirectFormatName must be a direct format name",
            spec=SpecRef("MS-MQMQ", "2.1.2"),
        ),
    )

    @classmethod
    def of(cls, text: str) -> Self:
        """The name ``text`` (``OS:host\\private$\\queue``) with sizes and padding."""
        name = WcharText.of(text)
        return cls(count=len(name), direct_format_name=name, padding=bytes(-(len(name) + 2) & 3))
