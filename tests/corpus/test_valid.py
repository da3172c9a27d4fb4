"""Values made valid: what a MUST ties together, and what stays as it was."""

from __future__ import annotations

from typing import Any

from msmq_wire.corpus.bases import bases
from msmq_wire.corpus.leaves import absent_parts, leaves, named_bits
from msmq_wire.corpus.valid import acknowledgment, valid
from msmq_wire.engines import reference
from msmq_wire.engines.codec import inspect
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.final_ack_body import FinalAckBody
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.ping import Ping
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.guid import GUID


def test_a_field_that_breaks_a_must_becomes_its_default_and_the_others_stay() -> None:
    found: Any = valid(BaseHeader(version_number=9, time_to_reach_queue=77))
    assert (found.version_number, found.time_to_reach_queue) == (16, 77)


def test_an_acknowledgment_is_recognised_without_its_name() -> None:
    body = reference.build(FinalAckBody())
    found = inspect(reference.build(acknowledgment(FinalAck, body, direct=True)))
    assert (found.type, found.anomalies) == ("final_ack", ())


def test_the_second_base_of_a_message_has_every_part_that_it_can_have() -> None:
    full = bases(UserMessage)[1]
    assert full.transaction_header is not None
    assert full.security_header is not None
    assert full.message_properties_header.message_body


def test_the_second_base_of_a_user_header_has_each_queue_and_a_connector() -> None:
    user = bases(UserHeader)[1]
    queues = (user.destination_queue, user.admin_queue, user.response_queue)
    assert [type(one) for one in queues] == [DirectQueueFormatName] * 3
    assert isinstance(user.queue_manager_address, GUID)
    assert user.connector_type is not None
    assert bases(UserMessage)[1].user_header.connector_type == user.connector_type


def test_the_leaves_of_a_structure_cover_its_bytes() -> None:
    data = reference.build(Ping())
    found = leaves(Ping())
    assert sum(leaf.span.length for leaf in found) == len(data)
    assert absent_parts(Ping()) == []


def test_a_bit_that_is_set_is_named_with_its_path() -> None:
    header = BaseHeader().with_bits(pr=5)
    leaf = next(one for one in leaves(header) if one.path == "flags")
    assert named_bits(leaf)["pr"] == 5
