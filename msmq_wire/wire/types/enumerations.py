"""The enumerations of the packets, with the specifications' names; values that are not here stay numbers."""

from enum import IntEnum


class MessageClass(IntEnum):
    """MESSAGE_CLASS_VALUES, [MS-MQMQ] 2.2.18.1.6."""

    MQMSG_CLASS_NORMAL = 0x0000
    MQMSG_CLASS_REPORT = 0x0001
    MQMSG_CLASS_ACK_REACH_QUEUE = 0x0002
    MQMSG_CLASS_ORDER_ACK = 0x00FF
    MQMSG_CLASS_ACK_RECEIVE = 0x4000
    MQMSG_CLASS_NACK_BAD_DST_Q = 0x8000
    MQMSG_CLASS_NACK_DELETED = 0x8001
    MQMSG_CLASS_NACK_REACH_QUEUE_TIMEOUT = 0x8002
    MQMSG_CLASS_NACK_Q_EXCEED_QUOTA = 0x8003
    MQMSG_CLASS_NACK_ACCESS_DENIED = 0x8004
    MQMSG_CLASS_NACK_HOP_COUNT_EXCEEDED = 0x8005
    MQMSG_CLASS_NACK_BAD_SIGNATURE = 0x8006
    MQMSG_CLASS_NACK_BAD_ENCRYPTION = 0x8007
    MQMSG_CLASS_NACK_NOT_TRANSACTIONAL_Q = 0x8009
    MQMSG_CLASS_NACK_NOT_TRANSACTIONAL_MSG = 0x800A
    MQMSG_CLASS_NACK_UNSUPPORTED_CRYPTO_PROVIDER = 0x800B
    MQMSG_CLASS_NACK_Q_DELETED = 0xC000
    MQMSG_CLASS_NACK_Q_PURGED = 0xC001
    MQMSG_CLASS_NACK_RECEIVE_TIMEOUT = 0xC002
    MQMSG_CLASS_NACK_RECEIVE_REJECTED = 0xC004


class BodyType(IntEnum):
    """PROPVARIANT type constants, [MS-MQMQ] 2.2.12; VT_BSTR is not in that list but in real traffic."""

    VT_EMPTY = 0x0000
    VT_NULL = 0x0001
    VT_I2 = 0x0002
    VT_I4 = 0x0003
    VT_BSTR = 0x0008
    VT_BOOL = 0x000B
    VT_VARIANT = 0x000C
    VT_I1 = 0x0010
    VT_UI1 = 0x0011
    VT_UI2 = 0x0012
    VT_UI4 = 0x0013
    VT_I8 = 0x0014
    VT_UI8 = 0x0015
    VT_LPWSTR = 0x001F
    VT_BLOB = 0x0041
    VT_CLSID = 0x0048
    VT_VECTOR = 0x1000


class PrivacyLevel(IntEnum):
    """How a body is encrypted, [MS-MQMQ] 2.2.19.3."""

    NONE = 0
    BITS_40 = 1
    BITS_128 = 3
    AES = 5


class HashAlgorithm(IntEnum):
    """Hash of a signature, [MS-MQMQ] 2.2.19.3."""

    MD2 = 0x8001
    MD4 = 0x8002
    MD5 = 0x8003
    SHA_1 = 0x8004
    SHA_256 = 0x800C
    SHA_512 = 0x800E


class EncryptionAlgorithm(IntEnum):
    """Cipher of a body, [MS-MQMQ] 2.2.19.3."""

    RC2 = 0x6602
    AES_128 = 0x660E
    AES_192 = 0x660F
    AES_256 = 0x6610
    RC4 = 0x6801


class DeliveryMode(IntEnum):
    """UserHeader.Flags.DM, [MS-MQMQ] 2.2.19.2."""

    EXPRESS = 0
    RECOVERABLE = 1


class QueueType(IntEnum):
    """UserHeader.Flags.DQ, AQ and RQ, [MS-MQMQ] 2.2.19.2."""

    NONE = 0
    SAME_AS_ADMIN_QUEUE = 1
    PRIVATE_ON_SOURCE_HOST = 2
    PRIVATE_ON_DESTINATION_HOST = 3
    PRIVATE_ON_ADMIN_QUEUE_HOST = 4
    PUBLIC = 5
    PRIVATE_ON_OTHER_HOST = 6
    DIRECT = 7


class SenderIdType(IntEnum):
    """SecurityHeader.Flags.ST, [MS-MQMQ] 2.2.20.6."""

    NONE = 0
    SID = 1
    QUEUE_MANAGER_GUID = 2


class TraceQueueType(IntEnum):
    """DebugHeader.Flags.QT, [MS-MQMQ] 2.2.20.8."""

    NONE = 0
    PUBLIC = 1


class MQFFormatType(IntEnum):
    """MQFFormatNameElement.FormatType, [MS-MQMQ] 2.2.18.1.4."""

    PUBLIC = 1
    PRIVATE = 2
    DIRECT = 3
    DISTRIBUTION_LIST = 6


class MQFHeaderId(IntEnum):
    """MQFAddressHeader.HeaderID and MQFSignatureHeader.ID, [MS-MQMQ] 2.2.20.2 and 2.2.20.3."""

    DESTINATION = 0x0064
    ADMIN = 0x00C8
    RESPONSE = 0x012C
    SIGNATURE = 0x015E


class InternalPacketType(IntEnum):
    """InternalHeader.Flags.PT, [MS-MQQB] 2.2.1."""

    SESSION_ACK = 1
    ESTABLISH_CONNECTION = 2
    CONNECTION_PARAMETERS = 3


class AddressType(IntEnum):
    """AddressType of the host a message came from, [MS-MQRR] 2.2.5.1 and 2.2.5.5."""

    NONE = 0
    IP_ADDRESS_TYPE = 1
    IPV6_ADDRESS_TYPE = 6


class TopologyPacketType(IntEnum):
    """TopologyPacketHeader.Type, [MS-MQSD] 2.2.1."""

    TOPOLOGY_CLIENT_REQUEST = 1
    TOPOLOGY_SERVER_REPLY = 2
