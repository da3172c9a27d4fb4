"""UserHeader, [MS-MQMQ] 2.2.19.2."""

from __future__ import annotations

import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # SourceQueueManager
        "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 "  # QueueManagerAddress
        "10 0e 00 00 "  # TimeToBeReceived
        "00 10 5e 5f "  # SentTime
        "01 08 00 00 "  # MessageID
        "22 1c 20 00 "  # Flags: RC 2, DM 1, DQ 7, MP
        "0e 00 "  # DestinationQueue: Count
        "4f 00 53 00 3a 00 68 00 5c 00 71 00 00 00 "  # "OS:h\q"
    ),
    value=UserHeader(
        source_queue_manager=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678"),
        queue_manager_address=NULL_GUID,
        time_to_be_received=3600,
        sent_time=1600000000,
        message_id=2049,
        flags=0x00201C22,
        destination_queue=DirectQueueFormatName.of("OS:h\\q"),
    ),
    bits="rc:5 dm:2 x1 jn jp dq:3 aq:3 rq:3 sh th mp cq mq x2 ah x3:2 hh x4:3",
    kept=[({44: "a21c20ed"}, "flags", 3978304674)],
    broken=[
        ({44: "3e"}, [("hops", "flags", 44, 4)]),
        ({44: "42"}, [("delivery-mode", "flags", 44, 4)]),
        ({44: "021c3000"}, [("transaction-delivery", "flags", 44, 4)]),
        ({44: "221c0000"}, [("message-properties", "flags", 44, 4)]),
        ({44: "221c2400", 64: "0700 0000"}, [("response-queue-host", "flags", 44, 4)]),
    ],
    borders=[{44: "3d"}, {44: "02"}, {44: "221c3000"}, {44: "22003800"}],
    refused=[
        ({}, 15, ("missing-bytes", "source_queue_manager", 0)),
        ({}, 31, ("missing-bytes", "queue_manager_address", 16)),
        ({}, 47, ("missing-bytes", "flags", 44)),
        ({}, 49, ("missing-bytes", "destination_queue.count", 48)),
        ({}, 63, ("missing-bytes", "destination_queue.direct_format_name", 50)),
        ({44: "00042000"}, None, ("unknown-selector", "destination_queue", 48)),
        ({44: "00082000"}, None, ("unknown-selector", "destination_queue", 48)),
        ({44: "00102000"}, None, ("unknown-selector", "destination_queue", 48)),
        ({44: "00182000"}, None, ("unknown-selector", "destination_queue", 48)),
        ({44: "00202000"}, None, ("unknown-selector", "admin_queue", 48)),
        ({44: "00802000"}, None, ("unknown-selector", "admin_queue", 48)),
    ],
    contradictions=[
        ({"destination_queue": None}, "destination_queue"),
        ({"destination_queue": PrivateQueueFormatNameId()}, "destination_queue"),
        ({"admin_queue": PrivateQueueFormatNameId()}, "admin_queue"),
        ({"flags": 0x00211C22, "response_queue": PrivateQueueFormatNameId()}, "response_queue"),
        ({"flags": 0x00601C22}, "connector_type"),
        ({"connector_type": NULL_GUID}, "connector_type"),
        ({"flags": 0x00200422}, "destination_queue"),
    ],
)


# Bytes of the queue by the value of DQ, AQ and RQ: the tables of the section.
_SIZES = {
    10: {0: 0, 3: 4, 5: 16, 7: 16},
    13: {0: 0, 2: 4, 3: 4, 5: 16, 6: 20, 7: 16},
    16: {0: 0, 1: 0, 2: 4, 3: 4, 4: 4, 5: 16, 6: 20, 7: 16},
}


@pytest.mark.parametrize(
    ("shift", "selector", "size"),
    [(shift, selector, size) for shift, sizes in _SIZES.items() for selector, size in sizes.items()],
)
def test_a_queue_takes_the_bytes_of_its_type(shift: int, selector: int, size: int) -> None:
    flags = (0x200000 | selector << shift).to_bytes(4, "little")
    data = CASES.data[:44] + flags + CASES.data[48:64] + bytes(8)
    result = inspect(data, "user_header")
    assert result.consumed == 48 + size
    assert encode(result.packet) == data[: 48 + size]


def test_the_connector_type_is_the_last_field() -> None:
    data = CASES.data[:44] + bytes.fromhex("221c6000") + CASES.data[48:] + bytes(range(16))
    value = decode(data, "user_header")
    assert value.connector_type == bytes(range(16))
    assert encode(value) == data


@pytest.mark.parametrize(
    ("flags", "queue", "number", "expected"),
    [
        (0x200C00, "destination_queue", 4, "PRIVATE=00000000-0000-0000-0000-000000000000\\00000004"),
        (0x204C00, "admin_queue", 4, "PRIVATE=a1b2c3d4-e5f6-4789-8abc-def012345678\\00000004"),
        (0x224C00, "response_queue", 4, "PRIVATE=a1b2c3d4-e5f6-4789-8abc-def012345678\\00000004"),
        (0x214C00, "response_queue", 4, "PRIVATE=a1b2c3d4-e5f6-4789-8abc-def012345678\\00000004"),
        (0x240000, "response_queue", 4, None),
        (0x200000, "response_queue", 4, None),
    ],
)
def test_a_queue_number_takes_its_host_from_the_header(
    flags: int, queue: str, number: int, expected: str | None
) -> None:
    data = CASES.data[:44] + flags.to_bytes(4, "little") + number.to_bytes(4, "little") * 3
    assert decode(data, "user_header").format_name(queue) == expected


def test_a_queue_that_no_header_has_is_told_with_the_nearest_one() -> None:
    with pytest.raises(ValueError, match="no queue is called 'adminqueue': did you mean 'admin_queue'"):
        CASES.value.format_name("adminqueue")
