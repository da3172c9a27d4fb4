"""What the ``packet`` of RPC records holds: `RpcBind`, `RpcCall`, `RpcFault`, `TransferBuffer`."""

from __future__ import annotations

from typing import Any

import msgspec

from msmq_wire.rpc.transfer_properties import MessageProperties

__all__ = ["RpcBind", "RpcBindContext", "RpcCall", "RpcFault", "TransferBuffer"]


class RpcBindContext(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One interface that a client asked for, in which transfer syntaxes, and the answer.

    ``interface`` is a name, or the UUID of an interface that is not MSMQ's. ``result`` is None while there is
    no answer: 0 accepted, 1 refused by the server, 2 refused by its RPC runtime, 3 an answer about features.
    """

    context_id: int
    interface: str
    version: str
    transfer_syntaxes: tuple[str, ...]
    result: int | None = None
    reason: int | None = None
    accepted: str | None = None


class RpcBind(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """bind or alter_context with its answer, [MS-RPCE] 2.2.2.

    ``account`` is whom the client says it is, ``note`` why its calls cannot be opened.
    """

    call_id: int
    alter_context: bool
    answered: bool
    nak_reason: int | None
    contexts: tuple[RpcBindContext, ...]
    auth_type: int
    auth_level: int
    header_signing: bool
    account: str
    note: str
    max_xmit_frag: int
    max_recv_frag: int
    association_group: int
    secondary_address: str


class RpcCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A call: request and response in one.

    ``request`` and ``response`` are None where they were not captured, or are ``sealed`` and no key opens
    them. ``status`` is the HRESULT of the response or the code of the ``fault``. ``guessed`` says that
    interface and syntax were not captured. ``verified`` is False when a signature is wrong, None when none
    could be judged.
    ``queue`` is the format name that the call names, or that its handle was opened with; ``opened_frame`` and
    ``started_frame`` are the frames that completed the calls that opened this handle and began this receive.
    ``latency`` is the nanoseconds from the last frame of the request to the last of the response.
    """

    interface: str
    opnum: int | None
    method: str | None
    syntax: str | None
    request: Any = None
    response: Any = None
    status: int | None = None
    fault: bool = False
    queue: str | None = None
    request_id: int | None = None
    opened_frame: int | None = None
    started_frame: int | None = None
    latency: int | None = None
    call_id: int = 0
    context_id: int = 0
    guessed: bool = False
    sealed: bool = False
    verified: bool | None = None
    auth_level: int = 1
    cancelled: bool = False
    orphaned: bool = False
    complete: bool = True
    note: str = ""


class RpcFault(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A fault PDU; its call is the record's parent."""

    call_id: int
    status: int
    flags: int
    cancel_count: int


class TransferBuffer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The message in a CACTransferBufferV2, [MS-MQMP] 3.1.1.11; ``queue`` is the one its call is about."""

    queue: str | None
    properties: MessageProperties
