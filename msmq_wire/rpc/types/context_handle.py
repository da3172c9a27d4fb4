"""Context handle, [C706] 14.2.15."""

from typing import Annotated, ClassVar

from msmq_wire.rpc.ndr import DWORD, UUID, Fields, NdrStruct
from msmq_wire.spec import SpecRef
from msmq_wire.wire.private import IDENTIFIER
from msmq_wire.wire.types.guid import GUID, NULL_GUID


class ContextHandle(NdrStruct, frozen=True, kw_only=True, gc=False):
    """What stands for the server's state of an open queue, receive or transaction; all zero is NULL."""

    SPEC: ClassVar[SpecRef] = SpecRef("C706", "14.2.15")
    attributes: Annotated[int, DWORD, "Reserved, 0."] = 0
    uuid: Annotated[GUID, UUID, IDENTIFIER, "The handle itself, chosen by the server."] = NULL_GUID

    @property
    def null(self) -> bool:
        """Whether it stands for nothing."""
        return not self.attributes and self.uuid == NULL_GUID


CONTEXT_HANDLE = Fields(ContextHandle)
