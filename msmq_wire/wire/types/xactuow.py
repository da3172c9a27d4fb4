"""XACTUOW, [MS-MQMQ] 2.2.18.1.8."""

from typing import ClassVar

from msmq_wire.spec import SpecRef
from msmq_wire.wire.fields import Bytes
from msmq_wire.wire.types.guid import GUID


class XACTUOW(GUID):
    """A transactional unit of work: sixteen single bytes that hold a GUID, so without its alignment."""

    __slots__ = ()
    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.18.1.8")
    MADE_BY: ClassVar[str] = "XACTUOW.parse(text)"

    @classmethod
    def stem(cls) -> str:
        """The one name of this type."""
        return "xactuow"

    @classmethod
    def schema(cls) -> Bytes:
        """The construct schema: sixteen bytes."""
        return Xactuow

    def __repr__(self) -> str:
        return f"XACTUOW.parse({str(self)!r})"


Xactuow = Bytes(16, XACTUOW)
