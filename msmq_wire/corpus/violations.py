"""Rules that no change of a single field breaks: what has to be in a value at once.

The rule kept here: a violation is declared under the code of its rule, and no engine is asked which that is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from msmq_wire.engines.fit import fit
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.extended_address_header import ExtendedAddressHeader
from msmq_wire.wire.headers.extension_header import ExtensionHeader
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.packets.topology_client_request import IPXNetwork, IPXNetworks
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText


class Violation(msgspec.Struct, frozen=True):
    """What breaks a rule: ``fields`` are set in a valid value, whose sizes and bits then agree with them.

    Sizes in ``lies`` are set after that.
    """

    fields: Mapping[str, Any]
    lies: Mapping[str, int] = {}


_GUID = GUID(bytes(range(0x10, 0x20)))
_UNCLAIMED = Violation({"undeclared": b"\xaa\x55\xaa\x55"})
_TRANSACTION = Violation({"base_header.flags": 1, "transaction_header": TransactionHeader()})


def _addressed(queue: str) -> Violation:
    return Violation(
        {
            "user_header.destination_queue": DirectQueueFormatName.of(queue),
            "user_header.queue_manager_address": _GUID,
        }
    )


VIOLATIONS: Mapping[str, Violation] = {
    "compound_message_header.message-body-wrap": Violation(
        {"msg_body_size": 0x80000000, "msg_body_offset": 0x80000000}
    ),
    "connection_parameters.undeclared": _UNCLAIMED,
    "direct_queue_format_name.direct-format-name": Violation({"direct_format_name": WcharText.of(r"host\q")}),
    "establish_connection.undeclared": _UNCLAIMED,
    "final_ack.queue-manager-address": _addressed(r"OS:host\private$\order_queue$"),
    "final_ack.transaction-priority": _TRANSACTION,
    # PacketSize of a packet that ends with its MessagePropertiesHeader.
    "message_packet.trailers-outside": Violation(
        {
            "extension_header": ExtensionHeader(),
            "subqueue_header": SubqueueHeader(),
            "extended_address_header": ExtendedAddressHeader(),
        },
        lies={"base_header.packet_size": 120},
    ),
    "order_ack.queue-manager-address": _addressed(r"OS:host\private$\order_queue$"),
    "order_ack.transaction-priority": _TRANSACTION,
    "session_ack.undeclared": _UNCLAIMED,
    "topology_client_request.ipx-networks": Violation(
        {"ipx_networks": IPXNetworks(ipx_network_number_array=(IPXNetwork(ipx_network_number=7),))}
    ),
    "topology_server_reply.directory-service-servers": Violation(
        # The second entry does not say whether its server speaks IPX.
        {"responding_site_id": _GUID, "directory_service_server_array": WcharText.of("11msg01,1xmsg02")}
    ),
    "user_message.queue-manager-address": _addressed(r"OS:host\private$\orders"),
}
"""How a rule is broken, by the code of the rule, as in ``session_ack.undeclared``."""


def violating(value: WireStruct, violation: Violation) -> WireStruct:
    """A valid value with what breaks a rule."""
    return _with(fit(_with(value, violation.fields)), violation.lies)


def _with(value: WireStruct, fields: Mapping[str, Any]) -> WireStruct:
    for path, held in fields.items():
        value = _put(value, path, held)
    return value


def _put(value: WireStruct, path: str, held: Any) -> WireStruct:
    name, _, rest = path.partition(".")
    return msgspec.structs.replace(value, **{name: _put(getattr(value, name), rest, held) if rest else held})
