"""The numbers and words in the parameters of the remote interfaces, under the specifications' names.

What packets carry too is declared with them (``wire/types``, ``wire/names``) and not here: MessageClass,
DeliveryMode, SenderIdType, HashAlgorithm, EncryptionAlgorithm, BodyType, SectionType, QueueFormatType,
QueueSuffixType. Values that are not here stay numbers: see :func:`constant_name`.
"""

from __future__ import annotations

from enum import Enum, IntEnum, IntFlag, StrEnum


class AccessMode(IntFlag):
    """dwAccess, dwDesiredAccess: [MS-MQRR] 3.1.4.2 and 3.1.4.11, [MS-MQMP] 3.1.4.2 and 3.1.4.17.

    Each method allows a few of these only. MQ_ADMIN_ACCESS stands with receive (0x81) or peek (0xA0), and
    then the outgoing queue is meant, not its destination. [MS-MQRR] 3.1.4.2 leaves out the prefix MQ_.
    """

    MQ_RECEIVE_ACCESS = 0x00000001
    MQ_SEND_ACCESS = 0x00000002
    MQ_MOVE_ACCESS = 0x00000004
    MQ_PEEK_ACCESS = 0x00000020
    MQ_ADMIN_ACCESS = 0x00000080


class ShareMode(IntEnum):
    """dwShareMode, the same sections as AccessMode; [MS-MQRR] calls the second one MQ_DENY_SHARE."""

    MQ_DENY_NONE = 0x00000000
    MQ_DENY_RECEIVE_SHARE = 0x00000001


class ReceiveAction(IntEnum):
    """ulAction and CACTransferBufferV1.Receive.Action, [MS-MQRR] 3.1.4.7, [MS-MQQP] 3.1.4.1 and 3.1.4.11.

    The lookup actions name a message by its LookupId and take neither cursor nor time-out;
    rpc_ACReceiveMessageEx has the first three only.
    """

    MQ_ACTION_RECEIVE = 0x00000000
    MQ_ACTION_PEEK_CURRENT = 0x80000000
    MQ_ACTION_PEEK_NEXT = 0x80000001
    MQ_LOOKUP_PEEK_CURRENT = 0x40000010
    MQ_LOOKUP_PEEK_NEXT = 0x40000011
    MQ_LOOKUP_PEEK_PREV = 0x40000012
    MQ_LOOKUP_RECEIVE_CURRENT = 0x40000020
    MQ_LOOKUP_RECEIVE_NEXT = 0x40000021
    MQ_LOOKUP_RECEIVE_PREV = 0x40000022

    @property
    def removes(self) -> bool:
        """Whether the message leaves the queue, once the client acknowledges that it has it."""
        return (self.lookup and bool(self & 0x20)) or self is ReceiveAction.MQ_ACTION_RECEIVE

    @property
    def lookup(self) -> bool:
        """Whether the message is named by a LookupId."""
        return bool(self & 0x40000000)


class RemoteReadAck(IntEnum):
    """REMOTEREADACK, [MS-MQQP] 2.2.1.3, and dwAck of [MS-MQRR] 3.1.4.9 and 3.1.4.15."""

    RR_UNKNOWN = 0
    RR_NACK = 1
    RR_ACK = 2


class TransferType(IntEnum):
    """TRANSFER_TYPE, the arm of a CACTransferBufferV1: [MS-MQMP] 2.2.2.1."""

    CACTB_SEND = 0
    CACTB_RECEIVE = 1
    CACTB_CREATECURSOR = 2


class ObjectType(IntEnum):
    """OBJECT_FORMAT.ObjType, [MS-MQMP] 2.2.3.5, and dwObjectType, 3.1.4.5; 2 must not appear on the wire.

    The documents give the numbers without names.
    """

    QUEUE = 1
    LOCAL_USE = 2


class MgmtObjectType(IntEnum):
    """MgmtObjectType, [MS-MQMR] 2.2.2.1."""

    MGMT_MACHINE = 1
    MGMT_QUEUE = 2
    MGMT_SESSION = 3


class DirectoryObjectType(IntEnum):
    """dwObjectType, [MS-MQDS] 2.2.8, and PROPID_D_OBJTYPE, [MS-MQMQ] 2.3.13.4."""

    MQDS_QUEUE = 1
    MQDS_MACHINE = 2
    MQDS_SITE = 3
    MQDS_DELETEDOBJECT = 4
    MQDS_CN = 5
    MQDS_ENTERPRISE = 6
    MQDS_USER = 7
    MQDS_ROUTINGLINK = 8


class DirectoryRelation(IntEnum):
    """rel of MQPROPERTYRESTRICTION, [MS-MQDS] 2.2.11: how a property of the objects compares."""

    PRLT = 0
    PRLE = 1
    PRGT = 2
    PRGE = 3
    PREQ = 4
    PRNE = 5


class DirectorySortOrder(IntEnum):
    """dwOrder of MQSORTKEY, [MS-MQDS] 2.2.14."""

    QUERY_SORTASCEND = 0
    QUERY_SORTDESCEND = 1


class RegistryQueryType(IntEnum):
    """dwQueryType of R_QMQueryQMRegistryInternal, [MS-MQMP] 3.1.4.23; the names are not its."""

    DIRECTORY_SERVER_LIST = 0
    DEFAULT_TIME_TO_REACH_QUEUE = 1
    FOREST_GUID = 2
    SERVER_VERSION = 3
    QUEUE_MANAGER_GUID = 4


class PortProtocol(IntEnum):
    """fIP of R_QMGetRTQMServerPort, [MS-MQMP] 3.1.4.24, and dwPortType, [MS-MQQP] 3.1.4.8.

    A HANDSHAKE port serves qmcomm and qmcomm2 (2103 by default), a READ port qm2qm (2105); both go up by 11
    while they are in use. IPX is SPX, on Windows NT and Windows 2000 only.
    """

    IP_HANDSHAKE = 0x00000000
    IP_READ = 0x00000001
    IPX_HANDSHAKE = 0x00000002
    IPX_READ = 0x00000003


class RemoteProtocol(IntEnum):
    """dwRemoteProtocol of rpc_QMOpenQueueInternal, [MS-MQMP] 3.1.4.17; the names are not its."""

    TCP_IP = 0x00000000
    IPX_SPX = 0x00000003


class OperatingSystemCategory(IntEnum):
    """dwMQS of R_QMOpenRemoteQueue, [MS-MQMP] 3.1.4.2 and notes 20 to 25: what the client says it runs.

    The documents give the numbers without names. dwMQS of RemoteQMOpenQueue, [MS-MQQP] 3.1.4.3, is another
    number: 1 for a routing or directory server, 0 for any other host.
    """

    NOT_DECLARED = 0x00000000
    NOT_MICROSOFT = 0x00000100
    WINDOWS_9X = 0x00000200
    WORKSTATION = 0x00000300
    SERVER = 0x00000400
    ENTERPRISE_SERVER = 0x00000500


class SecurityInformation(IntFlag):
    """SECURITY_INFORMATION, the parts of a security descriptor that are meant: [MS-MQMQ] 2.2.3."""

    OWNER_SECURITY_INFORMATION = 0x00000001
    GROUP_SECURITY_INFORMATION = 0x00000002
    DACL_SECURITY_INFORMATION = 0x00000004
    SACL_SECURITY_INFORMATION = 0x00000008


class ManagementAction(StrEnum):
    """lpwszAction of R_QMMgmtAction, [MS-MQMR] 3.1.4.2: three of a machine, three of a queue."""

    CONNECT = "CONNECT"
    DISCONNECT = "DISCONNECT"
    TIDY = "TIDY"
    PAUSE = "PAUSE"
    RESUME = "RESUME"
    EOD_RESEND = "EOD_RESEND"


class ManagementConnected(StrEnum):
    """PROPID_MGMT_MSMQ_CONNECTED, [MS-MQMQ] 2.3.11.4."""

    MSMQ_CONNECTED = "CONNECTED"
    MSMQ_DISCONNECTED = "DISCONNECTED"


class ManagementQueueType(StrEnum):
    """PROPID_MGMT_QUEUE_TYPE, [MS-MQMQ] 2.3.12.3."""

    MGMT_QUEUE_TYPE_PUBLIC = "PUBLIC"
    MGMT_QUEUE_TYPE_PRIVATE = "PRIVATE"
    MGMT_QUEUE_TYPE_MACHINE = "MACHINE"
    MGMT_QUEUE_TYPE_CONNECTOR = "CONNECTOR"
    MGMT_QUEUE_TYPE_MULTICAST = "MULTICAST"


class ManagementQueueLocation(StrEnum):
    """PROPID_MGMT_QUEUE_LOCATION, [MS-MQMQ] 2.3.12.4."""

    MGMT_QUEUE_LOCAL_LOCATION = "LOCAL"
    MGMT_QUEUE_REMOTE_LOCATION = "REMOTE"


class ManagementQueueKnown(StrEnum):
    """PROPID_MGMT_QUEUE_XACT and PROPID_MGMT_QUEUE_FOREIGN, [MS-MQMQ] 2.3.12.5 and 2.3.12.6."""

    MGMT_QUEUE_UNKNOWN_TYPE = "UNKNOWN"
    MGMT_QUEUE_CORRECT_TYPE = "YES"
    MGMT_QUEUE_INCORRECT_TYPE = "NO"


class ManagementQueueState(StrEnum):
    """PROPID_MGMT_QUEUE_STATE, [MS-MQMQ] 2.3.12.11; LOCKED is of [MS-MQMR] 3.1.4.1 alone."""

    MGMT_QUEUE_STATE_LOCAL = "LOCAL CONNECTION"
    MGMT_QUEUE_STATE_NONACTIVE = "INACTIVE"
    MGMT_QUEUE_STATE_WAITING = "WAITING"
    MGMT_QUEUE_STATE_NEED_VALIDATE = "NEED VALIDATION"
    MGMT_QUEUE_STATE_ONHOLD = "ONHOLD"
    MGMT_QUEUE_STATE_CONNECTED = "CONNECTED"
    MGMT_QUEUE_STATE_DISCONNECTING = "DISCONNECTING"
    MGMT_QUEUE_STATE_DISCONNECTED = "DISCONNECTED"
    MGMT_QUEUE_STATE_LOCKED = "LOCKED"


class ConnectionStatus(IntEnum):
    """What came of an attempt to connect an outgoing queue, [MS-MQMQ] 2.3.12.25 and [MS-MQDMPR] 3.1.1.3."""

    IN_PROCESS = 0x00000000
    ESTABLISH_PACKET_RECEIVED = 0x00000001
    ESTABLISHED = 0x00000002
    UNKNOWN_FAILURE = 0x80000000
    PING_FAILURE = 0x80000001
    SOCKET_CREATE_FAILURE = 0x80000002
    SOCKET_BIND_FAILURE = 0x80000003
    SOCKET_CONNECT_FAILURE = 0x80000004
    TCP_NOT_ENABLED = 0x80000005
    SOCKET_SEND_FAILURE = 0x80000006
    CONNECTION_NOT_READY = 0x80000007
    DNS_FAILURE = 0x80000008
    CERTIFICATE_VALIDATION_FAILURE = 0x80000009
    CONNECTION_LIMIT_REACHED = 0x8000000A
    CONNECTION_REFUSED = 0x8000000B
    ROUTING_DATA_NOT_AVAILABLE = 0x8000000C
    LOW_RESOURCE = 0x8000000D


class Acknowledgment(IntFlag):
    """pAcknowledge, [MS-MQMP] 2.2.3.2: the bits of MessagePropertiesHeader.Flags.

    The other names there are sums: NACK_REACH_QUEUE 0x04, FULL_REACH_QUEUE 0x05, NACK_RECEIVE 0x0C,
    FULL_RECEIVE 0x0E.
    """

    MQMSG_ACKNOWLEDGMENT_POS_ARRIVAL = 0x01
    MQMSG_ACKNOWLEDGMENT_POS_RECEIVE = 0x02
    MQMSG_ACKNOWLEDGMENT_NEG_ARRIVAL = 0x04
    MQMSG_ACKNOWLEDGMENT_NEG_RECEIVE = 0x08


class Auditing(IntFlag):
    """pAuditing, [MS-MQMP] 2.2.3.2: the bits JN and JP of UserHeader.Flags."""

    MQMSG_DEADLETTER = 0x01
    MQMSG_JOURNAL = 0x02


class TraceRequest(IntEnum):
    """pTrace, [MS-MQMP] 2.2.3.2; the names are not its."""

    NOT_ACTIVE = 0x00
    ACTIVE = 0x01


class AuthenticatedBy(IntEnum):
    """pAuthenticated, [MS-MQMP] 2.2.3.2: the signature that the destination checked."""

    MQMSG_AUTHENTICATION_NOT_REQUESTED = 0x00
    MQMSG_AUTHENTICATED_SIG10 = 0x01
    MQMSG_AUTHENTICATED_SIG20 = 0x03
    MQMSG_AUTHENTICATED_SIG30 = 0x05
    MQMSG_AUTHENTICATED_SIGXML = 0x09


class TransferPrivacyLevel(IntEnum):
    """pulPrivLevel, [MS-MQMP] 2.2.3.2: not the numbers of a packet, where 128 bits are 3."""

    MQMSG_PRIV_LEVEL_NONE = 0x00000000
    MQMSG_PRIV_LEVEL_BODY_BASE = 0x00000001
    MQMSG_PRIV_LEVEL_BODY_ENHANCED = 0x00000002


def constant_name(enumeration: type[Enum], value: int | str) -> str:
    """Return the name of a value, names joined by ``|`` for flags; a value without one as hexadecimal text.

    Bits that a flag type does not know are added in hexadecimal. Nothing is raised; text that is no member
    comes back as it is.

    >>> constant_name(AccessMode, 0xA0), constant_name(AccessMode, 0x41), constant_name(ShareMode, 7)
    ('MQ_PEEK_ACCESS|MQ_ADMIN_ACCESS', 'MQ_RECEIVE_ACCESS|0x40', '0x7')
    """
    if isinstance(value, int) and value and issubclass(enumeration, IntFlag):
        named = [member for member in enumeration if member & value]
        rest = value & ~sum(named)
        return "|".join([*(str(member.name) for member in named), *([hex(rest)] if rest else [])])
    member = next((member for member in enumeration if member.value == value), None)
    if member is not None:
        return member.name
    return hex(value) if isinstance(value, int) else value
