"""Parameters that the methods of dscomm and dscomm2 have in common, and lists of them. [MS-MQDS] 3.1.4

The IDL lacks ``string`` where it declares path names, and with it there would be one character of each; the
text of every section wants texts with their end, and so they are read.
"""

from typing import Annotated, ClassVar, TypeAlias

from msmq_wire.rpc.constants import DirectoryObjectType, SecurityInformation
from msmq_wire.rpc.interfaces.method import HResult
from msmq_wire.rpc.interfaces.role import GIVES, OBJECT, OBJECT_TYPE, PROPERTIES, VALUES
from msmq_wire.rpc.ndr import BYTE, DWORD, UUID, Conformant, NdrStruct, Ranged, String, Unique
from msmq_wire.rpc.types.context_handle import CONTEXT_HANDLE, ContextHandle
from msmq_wire.rpc.types.propvariant import PROPVARIANT, PropVariant
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.private import HOST, QUEUE_NAME
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

EMPTY = WcharText(b"\0\0")
BUFFER_SIZE = Ranged(DWORD, 0, 524288)
"""Bytes of what has no smaller limit."""

ObjectKind: TypeAlias = Annotated[
    int, Ranged(DWORD, 1, 58), DirectoryObjectType, OBJECT_TYPE, "What kind of object it is."
]
PathName: TypeAlias = Annotated[WcharText, String(), QUEUE_NAME, OBJECT, "The path name of the object."]
OptionalPathName: TypeAlias = Annotated[
    WcharText | None, Unique(String()), QUEUE_NAME, OBJECT, "The path name of the object, of what has one."
]
Identifier: TypeAlias = Annotated[GUID, UUID, HOST, OBJECT, "The identifier of the object."]
OptionalIdentifier: TypeAlias = Annotated[
    GUID | None, Unique(UUID), HOST, OBJECT, "The identifier of the object."
]
NewIdentifier: TypeAlias = Annotated[GUID | None, Unique(UUID), HOST, GIVES, "The identifier of the object."]
PropertyCount: TypeAlias = Annotated[int, Ranged(DWORD, 1, 128), "How many properties there are."]
Properties: TypeAlias = Annotated[
    tuple[int, ...], Conformant(DWORD, size=this.cp), PROPERTIES, "The properties."
]
PropertyValues: TypeAlias = Annotated[
    tuple[PropVariant, ...], Conformant(PROPVARIANT, size=this.cp), VALUES, "Their values, or room for them."
]
RequestedParts: TypeAlias = Annotated[int, DWORD, SecurityInformation, "Which parts are meant."]
DescriptorSize: TypeAlias = Annotated[int, BUFFER_SIZE, "Bytes of the security descriptor."]
WantedDescriptorSize: TypeAlias = Annotated[int, BUFFER_SIZE, "Bytes of room for the security descriptor."]
ServerAuth: TypeAlias = Annotated[
    ContextHandle, CONTEXT_HANDLE, "What S_DSValidateServer agreed on to sign answers with."
]
SignatureSize: TypeAlias = Annotated[int, Ranged(DWORD, 0, 131072), "Bytes of the server's signature."]
Signature: TypeAlias = Annotated[bytes, Conformant(BYTE), "The server's signature of its answer."]


class ValuesResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The values of the properties of an object, signed."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQDS", "3.1.4.7")
    ap_var: Annotated[tuple[PropVariant, ...], Conformant(PROPVARIANT), VALUES, "The values."] = ()
    pb_server_signature: Signature = b""
    pdw_server_signature_size: SignatureSize = 0
    status: HResult = 0


class SecurityResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The security descriptor of an object, signed."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQDS", "3.1.4.11")
    p_security_descriptor: Annotated[bytes, Conformant(BYTE), "Who may do what."] = b""
    lpn_length_needed: Annotated[int, DWORD, "Bytes of all of it."] = 0
    pb_server_signature: Signature = b""
    pdw_server_signature_size: SignatureSize = 0
    status: HResult = 0
