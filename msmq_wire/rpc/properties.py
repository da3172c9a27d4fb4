"""Identifiers of object properties, PROPID: names and types. [MS-MQMQ] 2.3

A number means something only with the kind of object: management properties of a machine and of a queue, and
properties of messages, all count from 1. Above 100 every number is one property of one kind.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from msmq_wire.wire.types.enumerations import BodyType


class PropertyKind(Enum):
    """What has the property; the value is the prefix of the names. [MS-MQMQ] 2.3.1 to 2.3.13, mq.h"""

    QUEUE = "PROPID_Q_"
    MACHINE = "PROPID_QM_"
    SITE = "PROPID_S_"
    CONNECTED_NETWORK = "PROPID_CN_"
    ENTERPRISE = "PROPID_E_"
    USER = "PROPID_U_"
    ROUTING_LINK = "PROPID_L_"
    SETTINGS = "PROPID_SET_"
    MQUSER = "PROPID_MQU_"
    COMPUTER = "PROPID_COM_"
    MANAGEMENT_MACHINE = "PROPID_MGMT_MSMQ_"
    MANAGEMENT_QUEUE = "PROPID_MGMT_QUEUE_"
    DELETION_NOTIFICATION = "PROPID_D_"
    MESSAGE = "PROPID_M_"


class Property(msgspec.Struct, frozen=True, gc=False):
    """A property: ``vt`` is its VARTYPE, VT_VECTOR included; None where no document gives one."""

    propid: int
    name: str
    kind: PropertyKind
    vt: int | None


class QueueAttribute(msgspec.Struct, frozen=True, gc=False):
    """The attribute of Queue that a property is, and the methods that may name it. [MS-MQMP] 3.1.1.12

    ``create`` is R_QMCreateObjectInternal, ``set`` R_QMSetObjectProperties, ``get`` R_QMGetObjectProperties.
    """

    attribute: str
    create: bool
    set: bool
    get: bool


_VECTOR = BodyType.VT_VECTOR
_I2, _I4, _I8 = BodyType.VT_I2, BodyType.VT_I4, BodyType.VT_I8
_UI1, _UI2, _UI4 = BodyType.VT_UI1, BodyType.VT_UI2, BodyType.VT_UI4
_LPWSTR, _BLOB, _CLSID = BodyType.VT_LPWSTR, BodyType.VT_BLOB, BodyType.VT_CLSID
_UI1S, _LPWSTRS, _CLSIDS = _VECTOR | _UI1, _VECTOR | _LPWSTR, _VECTOR | _CLSID
_VARIANTS = _VECTOR | BodyType.VT_VARIANT

_ROWS: dict[PropertyKind, dict[int, tuple[str, int | None]]] = {
    PropertyKind.QUEUE: {
        101: ("INSTANCE", _CLSID),
        102: ("TYPE", _CLSID),
        103: ("PATHNAME", _LPWSTR),
        104: ("JOURNAL", _UI1),
        105: ("QUOTA", _UI4),
        106: ("BASEPRIORITY", _I2),
        107: ("JOURNAL_QUOTA", _UI4),
        108: ("LABEL", _LPWSTR),
        109: ("CREATE_TIME", _I4),
        110: ("MODIFY_TIME", _I4),
        111: ("AUTHENTICATE", _UI1),
        112: ("PRIV_LEVEL", _UI4),
        113: ("TRANSACTION", _UI1),
        114: ("SCOPE", _UI1),
        115: ("QMID", _CLSID),
        116: ("PARTITIONID", _CLSID),
        117: ("SEQNUM", _BLOB),
        118: ("HASHKEY", _UI4),
        119: ("LABEL_HASHKEY", _UI4),
        121: ("FULL_PATH", _LPWSTR),
        123: ("NAME_SUFFIX", _LPWSTR),
        124: ("PATHNAME_DNS", _LPWSTR),
        125: ("MULTICAST_ADDRESS", _LPWSTR),
        126: ("ADS_PATH", _LPWSTR),
        1101: ("SECURITY", _BLOB),
        1102: ("OBJ_SECURITY", _BLOB),
        1103: ("SECURITY_INFORMATION", _UI4),
    },
    PropertyKind.MACHINE: {
        201: ("SITE_ID", _CLSID),
        202: ("MACHINE_ID", _CLSID),
        203: ("PATHNAME", _LPWSTR),
        205: ("ENCRYPTION_PK", _UI1S),
        206: ("ADDRESS", _BLOB),
        207: ("CNS", _CLSIDS),
        208: ("OUTFRS", _CLSIDS),
        209: ("INFRS", _CLSIDS),
        210: ("SERVICE", _UI4),
        211: ("PARTITIONID", _CLSID),
        212: ("HASHKEY", _UI4),
        213: ("SEQNUM", _BLOB),
        214: ("QUOTA", _UI4),
        215: ("JOURNAL_QUOTA", _UI4),
        216: ("MACHINE_TYPE", _LPWSTR),
        217: ("CREATE_TIME", _I4),
        218: ("MODIFY_TIME", _I4),
        219: ("FOREIGN", _UI1),
        220: ("OS", _UI4),
        221: ("FULL_PATH", _LPWSTR),
        222: ("SITE_IDS", _CLSIDS),
        223: ("OUTFRS_DN", _LPWSTRS),
        224: ("INFRS_DN", _LPWSTRS),
        227: ("SERVICE_ROUTING", _UI1),
        228: ("SERVICE_DSSERVER", _UI1),
        229: ("SERVICE_DEPCLIENTS", _UI1),
        231: ("ENCRYPTION_PK_BASE", _UI1S),
        232: ("ENCRYPTION_PK_ENHANCED", _UI1S),
        233: ("PATHNAME_DNS", _LPWSTR),
        234: ("OBJ_SECURITY", _BLOB),
        237: ("SECURITY_INFORMATION", _UI4),
        238: ("ENCRYPT_PKS", _BLOB),
        239: ("SIGN_PKS", _BLOB),
        241: ("OWNER_SID", _BLOB),
        242: ("GROUP_IN_CLUSTER", _UI1),
        1201: ("SECURITY", _BLOB),
        1202: ("SIGN_PK", _BLOB),
        1203: ("ENCRYPT_PK", _BLOB),
        1205: ("UPGRADE_DACL", _BLOB),
    },
    PropertyKind.SITE: {
        301: ("PATHNAME", _LPWSTR),
        302: ("SITEID", _CLSID),
        303: ("GATES", _CLSIDS),
        304: ("PSC", _LPWSTR),
        305: ("INTERVAL1", _UI2),
        306: ("INTERVAL2", _UI2),
        307: ("PARTITIONID", _CLSID),
        308: ("SEQNUM", _BLOB),
        309: ("FULL_NAME", _LPWSTR),
        310: ("NT4_STUB", _UI2),
        311: ("FOREIGN", _UI1),
        312: ("DONOTHING", _UI1),
        1301: ("SECURITY", _BLOB),
        1302: ("PSC_SIGNPK", _BLOB),
        1303: ("SECURITY_INFORMATION", _UI4),
    },
    PropertyKind.CONNECTED_NETWORK: {
        501: ("PROTOCOLID", _UI1),
        502: ("NAME", _LPWSTR),
        503: ("GUID", _CLSID),
        504: ("PARTITIONID", _CLSID),
        505: ("SEQNUM", _BLOB),
        1501: ("SECURITY", _BLOB),
    },
    PropertyKind.ENTERPRISE: {
        601: ("NAME", _LPWSTR),
        602: ("NAMESTYLE", _UI1),
        603: ("CSP_NAME", _LPWSTR),
        604: ("PECNAME", _LPWSTR),
        605: ("S_INTERVAL1", _UI2),
        606: ("S_INTERVAL2", _UI2),
        607: ("PARTITIONID", _CLSID),
        608: ("SEQNUM", _BLOB),
        609: ("ID", _CLSID),
        610: ("CRL", _BLOB),
        611: ("CSP_TYPE", _UI4),
        612: ("ENCRYPT_ALG", _UI4),
        613: ("SIGN_ALG", _UI4),
        614: ("HASH_ALG", _UI4),
        615: ("CIPHER_MODE", _UI4),
        616: ("LONG_LIVE", _UI4),
        617: ("VERSION", _UI2),
        1601: ("SECURITY", _BLOB),
    },
    PropertyKind.USER: {
        701: ("SID", _BLOB),
        702: ("SIGN_CERT", _BLOB),
        703: ("PARTITIONID", _CLSID),
        704: ("SEQNUM", _BLOB),
        705: ("DIGEST", _CLSIDS),
        706: ("ID", _CLSID),
    },
    PropertyKind.ROUTING_LINK: {
        801: ("NEIGHBOR1", _CLSID),
        802: ("NEIGHBOR2", _CLSID),
        803: ("COST", _UI4),
        804: ("PARTITIONID", _CLSID),
        805: ("SEQNUM", _BLOB),
        806: ("ID", _CLSID),
        807: ("GATES_DN", _LPWSTRS),
        808: ("NEIGHBOR1_DN", _LPWSTR),
        809: ("NEIGHBOR2_DN", _LPWSTR),
        810: ("DESCRIPTION", _LPWSTR),
        811: ("FULL_PATH", _LPWSTR),
        812: ("ACTUAL_COST", _UI4),
        813: ("GATES", _CLSIDS),
    },
    PropertyKind.SETTINGS: {
        5101: ("NAME", _LPWSTR),
        5102: ("SERVICE", _UI4),
        5103: ("QM_ID", _CLSID),
        5105: ("FULL_PATH", _LPWSTR),
        5106: ("NT4", _UI1),
        5107: ("PARTITIONID", _CLSID),
        5108: ("SITENAME", _LPWSTR),
        5109: ("SERVICE_ROUTING", _UI1),
        5110: ("SERVICE_DSSERVER", _UI1),
        5111: ("SERVICE_DEPCLIENTS", _UI1),
        5112: ("OLDSERVICE", _UI4),
    },
    PropertyKind.MQUSER: {
        5401: ("SID", _BLOB),
        5402: ("SIGN_CERT", _BLOB),
        5405: ("DIGEST", _CLSIDS),
        5406: ("ID", _CLSID),
        5407: ("SECURITY", _BLOB),
    },
    PropertyKind.COMPUTER: {
        5201: ("FULL_PATH", _LPWSTR),
        5202: ("SAM_ACCOUNT", _LPWSTR),
        5204: ("ACCOUNT_CONTROL", _UI4),
        5205: ("DNS_HOSTNAME", _LPWSTR),
        5206: ("SID", _BLOB),
        5207: ("SIGN_CERT", _BLOB),
        5208: ("DIGEST", _CLSIDS),
        5209: ("ID", _CLSID),
    },
    PropertyKind.MANAGEMENT_MACHINE: {
        1: ("ACTIVEQUEUES", _LPWSTRS),
        2: ("PRIVATEQ", _LPWSTRS),
        3: ("DSSERVER", _LPWSTR),
        4: ("CONNECTED", _LPWSTR),
        5: ("TYPE", _LPWSTR),
        6: ("BYTES_IN_ALL_QUEUES", _I8),
    },
    PropertyKind.MANAGEMENT_QUEUE: {
        1: ("PATHNAME", _LPWSTR),
        2: ("FORMATNAME", _LPWSTR),
        3: ("TYPE", _LPWSTR),
        4: ("LOCATION", _LPWSTR),
        5: ("XACT", _LPWSTR),
        6: ("FOREIGN", _LPWSTR),
        7: ("MESSAGE_COUNT", _UI4),
        8: ("BYTES_IN_QUEUE", _UI4),
        9: ("JOURNAL_MESSAGE_COUNT", _UI4),
        10: ("BYTES_IN_JOURNAL", _UI4),
        11: ("STATE", _LPWSTR),
        12: ("NEXTHOPS", _LPWSTRS),
        13: ("EOD_LAST_ACK", _BLOB),
        14: ("EOD_LAST_ACK_TIME", _I4),
        15: ("EOD_LAST_ACK_COUNT", _UI4),
        16: ("EOD_FIRST_NON_ACK", _BLOB),
        17: ("EOD_LAST_NON_ACK", _BLOB),
        18: ("EOD_NEXT_SEQ", _BLOB),
        19: ("EOD_NO_READ_COUNT", _UI4),
        20: ("EOD_NO_ACK_COUNT", _UI4),
        21: ("EOD_RESEND_TIME", _I4),
        22: ("EOD_RESEND_INTERVAL", _UI4),
        23: ("EOD_RESEND_COUNT", _UI4),
        24: ("EOD_SOURCE_INFO", _VARIANTS),
        25: ("CONNECTION_HISTORY", _VARIANTS),
        26: ("SUBQUEUE_COUNT", _UI4),
        27: ("SUBQUEUE_NAMES", _LPWSTRS),
    },
    PropertyKind.DELETION_NOTIFICATION: {
        1401: ("SEQNUM", _BLOB),
        1402: ("PARTITIONID", _CLSID),
        1403: ("SCOPE", _UI1),
        1404: ("OBJTYPE", _UI1),
        1405: ("IDENTIFIER", _CLSID),
    },
    # [MS-MQMQ] has no list of these, and no call carries them: the numbers of the public header mq.h.
    PropertyKind.MESSAGE: {
        1: ("CLASS", None),
        2: ("MSGID", None),
        3: ("CORRELATIONID", None),
        4: ("PRIORITY", None),
        5: ("DELIVERY", None),
        6: ("ACKNOWLEDGE", None),
        7: ("JOURNAL", None),
        8: ("APPSPECIFIC", None),
        9: ("BODY", None),
        10: ("BODY_SIZE", None),
        11: ("LABEL", None),
        12: ("LABEL_LEN", None),
        13: ("TIME_TO_REACH_QUEUE", None),
        14: ("TIME_TO_BE_RECEIVED", None),
        15: ("RESP_QUEUE", None),
        16: ("RESP_QUEUE_LEN", None),
        17: ("ADMIN_QUEUE", None),
        18: ("ADMIN_QUEUE_LEN", None),
        19: ("VERSION", None),
        20: ("SENDERID", None),
        21: ("SENDERID_LEN", None),
        22: ("SENDERID_TYPE", None),
        23: ("PRIV_LEVEL", None),
        24: ("AUTH_LEVEL", None),
        25: ("AUTHENTICATED", None),
        26: ("HASH_ALG", None),
        27: ("ENCRYPTION_ALG", None),
        28: ("SENDER_CERT", None),
        29: ("SENDER_CERT_LEN", None),
        30: ("SRC_MACHINE_ID", None),
        31: ("SENTTIME", None),
        32: ("ARRIVEDTIME", None),
        33: ("DEST_QUEUE", None),
        34: ("DEST_QUEUE_LEN", None),
        35: ("EXTENSION", None),
        36: ("EXTENSION_LEN", None),
        37: ("SECURITY_CONTEXT", None),
        38: ("CONNECTOR_TYPE", None),
        39: ("XACT_STATUS_QUEUE", None),
        40: ("XACT_STATUS_QUEUE_LEN", None),
        41: ("TRACE", None),
        42: ("BODY_TYPE", None),
        43: ("DEST_SYMM_KEY", None),
        44: ("DEST_SYMM_KEY_LEN", None),
        45: ("SIGNATURE", None),
        46: ("SIGNATURE_LEN", None),
        47: ("PROV_TYPE", None),
        48: ("PROV_NAME", None),
        49: ("PROV_NAME_LEN", None),
        50: ("FIRST_IN_XACT", None),
        51: ("LAST_IN_XACT", None),
        52: ("XACTID", None),
        53: ("AUTHENTICATED_EX", None),
        54: ("RESP_FORMAT_NAME", None),
        55: ("RESP_FORMAT_NAME_LEN", None),
        58: ("DEST_FORMAT_NAME", None),
        59: ("DEST_FORMAT_NAME_LEN", None),
        60: ("LOOKUPID", None),
        61: ("SOAP_ENVELOPE", None),
        62: ("SOAP_ENVELOPE_LEN", None),
        63: ("COMPOUND_MESSAGE", None),
        64: ("COMPOUND_MESSAGE_SIZE", None),
        65: ("SOAP_HEADER", None),
        66: ("SOAP_BODY", None),
    },
}

PROPERTIES: dict[PropertyKind, dict[int, Property]] = {
    kind: {propid: Property(propid, kind.value + name, kind, vt) for propid, (name, vt) in rows.items()}
    for kind, rows in _ROWS.items()
}
"""Kind -> PROPID -> property."""

_OWN_RANGE = 100
_BY_NUMBER = {
    propid: found for rows in PROPERTIES.values() for propid, found in rows.items() if propid > _OWN_RANGE
}

QUEUE_ATTRIBUTES: dict[int, QueueAttribute] = {
    101: QueueAttribute("identifier", False, False, True),
    102: QueueAttribute("type", True, True, True),
    103: QueueAttribute("pathname", True, False, True),
    104: QueueAttribute("journaling", True, True, True),
    105: QueueAttribute("quota", True, True, True),
    106: QueueAttribute("base_priority", True, True, True),
    107: QueueAttribute("journal_quota", True, True, True),
    108: QueueAttribute("label", True, True, True),
    109: QueueAttribute("create_time", False, False, True),
    110: QueueAttribute("modify_time", False, False, True),
    111: QueueAttribute("authentication", True, True, True),
    112: QueueAttribute("privacy_level", True, True, True),
    113: QueueAttribute("transactional", True, False, True),
    124: QueueAttribute("qualified_pathname", False, False, True),
    125: QueueAttribute("multicast_address", True, True, True),
    126: QueueAttribute("directory_path", False, False, True),
}
"""PROPID_Q_* -> attribute of Queue ([MS-MQDMPR] 3.1.1.2) in snake_case."""


def find_property(propid: int, kind: PropertyKind | None = None) -> Property | None:
    """Return the property of a number; None without one, or where the number needs a ``kind`` to mean one."""
    return _BY_NUMBER.get(propid) if kind is None else PROPERTIES[kind].get(propid)


def property_name(propid: int, kind: PropertyKind | None = None) -> str:
    """Return the name of a property, or its number in decimal, as the documents write them, without one.

    >>> property_name(108), property_name(1), property_name(1, PropertyKind.MANAGEMENT_QUEUE)
    ('PROPID_Q_LABEL', '1', 'PROPID_MGMT_QUEUE_PATHNAME')
    """
    found = find_property(propid, kind)
    return str(propid) if found is None else found.name
