"""Parameter lists of the queries, servers and callbacks of dscomm, [MS-MQDS] 3.1.4 and 3.2.4."""

from typing import Annotated

from msmq_wire.rpc.interfaces.directory_parameters import (
    BUFFER_SIZE,
    ServerAuth,
    Signature,
    SignatureSize,
)
from msmq_wire.rpc.interfaces.method import HResult
from msmq_wire.rpc.interfaces.role import GIVES, HANDLE, PORT, PROPERTIES, VALUES
from msmq_wire.rpc.ndr import (
    BYTE,
    DWORD,
    UUID,
    Conformant,
    ConformantVarying,
    Full,
    NdrStruct,
    NullPointee,
    Ranged,
    String,
    Unique,
)
from msmq_wire.rpc.types.context_handle import CONTEXT_HANDLE, ContextHandle
from msmq_wire.rpc.types.directory_query import (
    COLUMN_SET,
    RESTRICTION,
    SORT_SET,
    ColumnSet,
    Restriction,
    SortSet,
)
from msmq_wire.rpc.types.propvariant import PROPVARIANT, PropVariant
from msmq_wire.wire.expressions import this
from msmq_wire.wire.private import HOST
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText

_CONTEXT = "The client's number of the call that this one belongs to."
_MOST_CHALLENGED = Ranged(DWORD, 0, 32)
_MOST_SIGNED = Ranged(DWORD, 0, 128)


class DSLookupBeginRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A query: which objects, what of them, in which order."""

    pwcs_context: Annotated[WcharText | None, Unique(String()), HOST, "Where to begin; not looked at."] = None
    p_restriction: Annotated[Restriction | None, Unique(RESTRICTION), "What the objects have to be."] = None
    p_columns: Annotated[ColumnSet, COLUMN_SET, PROPERTIES.at("a_col"), "What is wanted of each."] = (
        ColumnSet()
    )
    p_sort: Annotated[SortSet | None, Unique(SORT_SET), "In which order."] = None
    ph_server_auth: ServerAuth = ContextHandle()


class DSLookupBeginResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The query, to read its result with."""

    p_handle: Annotated[ContextHandle, CONTEXT_HANDLE, GIVES, "The query."] = ContextHandle()
    status: HResult = 0


class DSLookupNextRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A query, and how much of its result is wanted."""

    handle: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The query."] = ContextHandle()
    dw_size: Annotated[int, Ranged(DWORD, 0, 128), "How many values at most."] = 0
    ph_server_auth: ServerAuth = ContextHandle()
    pdw_server_signature_size: SignatureSize = 0


class DSLookupNextResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Values of the next objects, those of each one after the other; none at the end."""

    dw_out_size: Annotated[int, DWORD, "How many values there are."] = 0
    pb_buffer: Annotated[
        tuple[PropVariant, ...],
        ConformantVarying(PROPVARIANT, length=this.dw_out_size, sized=False),
        VALUES,
        "The values.",
    ] = ()
    pb_server_signature: Signature = b""
    pdw_server_signature_size: SignatureSize = 0
    status: HResult = 0


class DSLookupEndRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A query that is over."""

    ph_context: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The query."] = ContextHandle()


class DSLookupEndResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Nothing is left of the query."""

    ph_context: Annotated[ContextHandle, CONTEXT_HANDLE, "NULL."] = ContextHandle()
    status: HResult = 0


class DSCreateServersCacheRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A site, by its number, whose servers are asked for."""

    pdw_index: Annotated[int, DWORD, "The number of the site, from 0."] = 0
    lplp_site_servers: Annotated[
        WcharText | NullPointee | None, Full(Unique(String())), HOST, "Room for them."
    ] = None
    ph_server_auth: ServerAuth = ContextHandle()
    pdw_server_signature_size: SignatureSize = 0


class DSCreateServersCacheResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The name of a site and its servers, signed."""

    pdw_index: Annotated[int, DWORD, "The number of the site."] = 0
    lplp_site_servers: Annotated[
        WcharText | NullPointee | None,
        Full(Unique(String())),
        HOST,
        "The site, and its servers: for each whether IP and IPX reach it, and its name. [MS-MQDS] 2.2.17.",
    ] = None
    pb_server_signature: Signature = b""
    pdw_server_signature_size: SignatureSize = 0
    status: HResult = 0


class DSValidateServerRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The client's first token, of what answers will be signed with."""

    pguid_enterprise_id: Annotated[GUID, UUID, HOST, "The enterprise of the server."] = NULL_GUID
    f_setup_mode: Annotated[int, DWORD, "Not looked at."] = 0
    dw_context: Annotated[int, DWORD, "The client's number, which the callbacks repeat."] = 0
    dw_client_buff_max_size: Annotated[int, BUFFER_SIZE, "Bytes of the buffer of the token."] = 0
    p_client_buff: Annotated[
        bytes, ConformantVarying(BYTE, size=this.dw_client_buff_max_size), "The token."
    ] = b""
    dw_client_buff_size: Annotated[int, BUFFER_SIZE, "Bytes of the token."] = 0


class DSValidateServerResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """What answers are signed with from now on."""

    pph_server_auth: Annotated[ServerAuth, GIVES] = ContextHandle()
    status: HResult = 0


class DSCloseServerHandle(NdrStruct, frozen=True, kw_only=True, gc=False):
    """What answers are no longer signed with."""

    pph_server_auth: Annotated[ServerAuth, HANDLE] = ContextHandle()


class DSCloseServerHandleResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Nothing is left of it."""

    pph_server_auth: Annotated[ContextHandle, CONTEXT_HANDLE, "NULL."] = ContextHandle()
    status: HResult = 0


class DSGetServerPortRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Which port is asked for."""

    f_ip: Annotated[int, Ranged(DWORD, 0, 1), PORT, "1 for TCP, 0 for SPX."] = 1


class ChallengeRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Bytes that a queue manager has to sign, so that the server sets its properties."""

    ab_challenge: Annotated[bytes, Conformant(BYTE), "What is to be signed."] = b""
    dw_callenge_size: Annotated[int, _MOST_CHALLENGED, "Its bytes."] = 0
    dw_context: Annotated[int, DWORD, _CONTEXT] = 0
    ab_signature: Annotated[bytes, ConformantVarying(BYTE, sized=False), "Room for the signature."] = b""
    pdw_signature_size: Annotated[int, DWORD, "Bytes of it that are sent."] = 0
    dw_signature_max_size: Annotated[int, _MOST_SIGNED, "Bytes of room."] = 0


class ChallengeResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The queue manager's signature."""

    ab_signature: Annotated[bytes, ConformantVarying(BYTE, sized=False), "The signature."] = b""
    pdw_signature_size: Annotated[int, DWORD, "Its bytes."] = 0
    status: HResult = 0


class GetObjectSecurityChallengeRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Bytes that a queue manager has to sign, so that the server tells it of its objects."""

    ab_challenge: Annotated[bytes, Conformant(BYTE), "What is to be signed."] = b""
    dw_callenge_size: Annotated[int, _MOST_CHALLENGED, "Its bytes."] = 0
    dw_context: Annotated[int, DWORD, _CONTEXT] = 0
    ab_callenge_responce: Annotated[
        bytes, ConformantVarying(BYTE, sized=False), "Room for the signature."
    ] = b""
    pdw_callenge_responce_size: Annotated[int, DWORD, "Bytes of it that are sent."] = 0
    dw_callenge_responce_max_size: Annotated[int, _MOST_SIGNED, "Bytes of room."] = 0


class GetObjectSecurityChallengeResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The queue manager's signature."""

    ab_callenge_responce: Annotated[bytes, ConformantVarying(BYTE, sized=False), "The signature."] = b""
    pdw_callenge_responce_size: Annotated[int, DWORD, "Its bytes."] = 0
    status: HResult = 0


class InitSecCtxRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The server's next token."""

    dw_context: Annotated[int, DWORD, _CONTEXT] = 0
    p_serverbuff: Annotated[bytes, Conformant(BYTE), "The token."] = b""
    dw_server_buff_size: Annotated[int, BUFFER_SIZE, "Its bytes."] = 0
    dw_client_buff_max_size: Annotated[int, BUFFER_SIZE, "Bytes of room for the client's token."] = 0


class InitSecCtxResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The client's next token."""

    p_client_buff: Annotated[bytes, ConformantVarying(BYTE, sized=False), "The token."] = b""
    pdw_client_buff_size: Annotated[int, DWORD, "Its bytes."] = 0
    status: HResult = 0
