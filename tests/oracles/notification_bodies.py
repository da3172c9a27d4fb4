"""Print JSON test cases of MSMQ Change Notification Message bodies ([MS-MQCN] 2.2.3 to 2.2.6).

Each case has the body as hex and the values a reader should find in it.
Section numbers in comments are of [MS-MQCN] unless another document is named.
"""

from __future__ import annotations

import json
import struct
import uuid
from typing import Any

Property = tuple[int, Any]
Case = dict[str, Any]
Update = tuple[bytes, dict[str, Any]]

# Property number -> variant type, from [MS-MQMQ] 2.3.1, 2.3.2 and (1403, 1404) 2.3.13.
# Left out: 205, 231, 232 (vectors of VT_UI1), since 2.2.3 has no layout for that type.
# No queue or machine property is VT_BOOL, VT_I1, VT_UI2, VT_I8, VT_UI8 or a vector of VT_UI4.
TYPE_GROUPS: dict[str, tuple[int, ...]] = {
    "I2": (106,),
    "I4": (109, 110, 217, 218),
    "UI1": (104, 111, 113, 114, 219, 227, 228, 229, 242, 1403, 1404),
    "UI4": (105, 107, 112, 118, 119, 1103, 210, 212, 214, 215, 220, 237),
    "LPWSTR": (103, 108, 121, 123, 124, 125, 126, 203, 216, 221, 233),
    "BLOB": (117, 1101, 1102, 206, 213, 234, 238, 239, 241, 1201, 1202, 1203, 1205),
    "CLSID": (101, 102, 115, 116, 201, 202, 211),
    "CLSID[]": (207, 208, 209, 222),
    "LPWSTR[]": (223, 224),
}
TYPES: dict[int, str] = {number: kind for kind, group in TYPE_GROUPS.items() for number in group}
NUMBER_FORMATS: dict[str, str] = {"I2": "<h", "I4": "<i", "UI1": "<B", "UI4": "<I"}

CREATE, CHANGE, DELETE = 0, 1, 2
ZERO_RESERVED = bytes(24)

Q1 = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
Q2 = "a1b2c3d4-e5f6-4708-9a0b-1c2d3e4f5061"
Q3 = "00000000-0000-0000-0000-000000000001"
QM = "deadbeef-cafe-4bad-8f00-d1ce0ddba115"
SERVER = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
SERVER2 = "01020304-0506-0708-090a-0b0c0d0e0f10"
SERVICE = "55ee8f32-cce9-11cf-b108-0020afd61ce9"
NETWORK1 = "11112222-3333-4444-5555-666677778888"
NETWORK2 = "99990000-aaaa-bbbb-cccc-ddddeeeeffff"
ZERO_GUID = "00000000-0000-0000-0000-000000000000"
SD_EMPTY = "0100008000000000000000000000000000000000"  # self-relative descriptor with no parts
SD_ODD = SD_EMPTY + "7f"
ADDRESS_IP = "04000100c0a80117"
ADDRESS_TWO = ADDRESS_IP + "0a00030000000001" + "00a0c9112233"  # an IP and an IPX address, packed
OWNER_SID = "010500000000000515000000010000000200000003000000f4010000"
MACHINE_NEEDS: list[Property] = [(202, QM), (219, 0)]
ACCENT = "Caf\u00e9 \u2013 \u0416\u0443\u0440\u043d\u0430\u043b \u65e5\u672c"
ASTRAL = "mail \U0001f4ec box"


def guid(text: str) -> bytes:
    """Sixteen bytes of a GUID."""
    # 2.2.1: layout is left to [MS-DTYP]; taken as its packet form, first three fields little-endian.
    return uuid.UUID(text).bytes_le


def wide(text: str, terminated: bool = True) -> bytes:
    """UTF-16LE text without byte order mark."""
    # 2.2.3.10: one 16-bit unit per element; characters past U+FFFF are taken as surrogate pairs.
    return text.encode("utf-16-le") + (b"\0\0" if terminated else b"")


def value(number: int, plain: Any) -> bytes:
    """Bytes of one property value (2.2.3)."""
    kind = TYPES[number]
    if kind in NUMBER_FORMATS:
        return struct.pack(NUMBER_FORMATS[kind], plain)
    if kind == "LPWSTR":
        return wide(plain)
    if kind == "CLSID":
        return guid(plain)
    if kind == "BLOB":
        raw = bytes.fromhex(plain)
        return struct.pack("<I", len(raw)) + raw
    # 2.2.3.14, 2.2.3.15: the count is of elements, not of bytes.
    one = guid if kind == "CLSID[]" else wide
    return struct.pack("<I", len(plain)) + b"".join(one(item) for item in plain)


def update(
    command: int,
    target: str,
    props: list[Property],
    server: str = SERVER,
    by_guid: bool | None = None,
    reserved: bytes = ZERO_RESERVED,
) -> Update:
    """One Notification Update (2.2.6) and what to read from it."""
    if by_guid is None:
        by_guid = command != CREATE  # what a sender does by 3.3.5.2
    data = bytes((command, int(by_guid)))
    # 2.2.6: the GUID is marked optional; taken as absent when the path name is used.
    data += guid(target) if by_guid else wide(target)
    data += guid(server) + reserved + bytes((len(props),))
    # 2.2.6: two arrays, so all identifiers come first, then all values, in the same order.
    # 2.2.2: byte order of an identifier is not said; taken as little-endian as in 2.2.3.
    data += b"".join(struct.pack("<I", number) for number, _ in props)
    data += b"".join(value(number, plain) for number, plain in props)
    return data, {
        "command": command,
        "object": target,
        "server": server,
        "properties": [[number, plain] for number, plain in props],
    }


def version1(name: str, *updates: Update, spare: bytes = b"\0") -> Case:
    """A message of a directory server."""
    # 3.3.5.3: the body is one byte longer than the message; its value is not said, 0x00 by default.
    data = bytes((1, len(updates))) + b"".join(raw for raw, _ in updates) + spare
    return {"name": name, "version": 1, "hex": data.hex(), "expect": {"updates": [e for _, e in updates]}}


def version2(
    name: str,
    event: str,
    target: str,
    server: str,
    upper: bool = True,
    close: str = "</ObjectGuid>",
    spare: bytes = b"\0",
) -> Case:
    """A message of a queue manager (2.2.5)."""
    # 2.2.5: the grammar has a space in this one end tag, the outline has none; written without.
    # 2.2.5: quoted grammar text ignores case, so small hex digits fit too; capitals by default.
    shown = target.upper() if upper else target
    text = (
        f"<Notification><Event>{event}</Event><ObjectGuid>{shown}{close}"
        f"<DomainController>{server}</DomainController></Notification>"
    )
    # 2.2.5: no terminator is named for this text; none is written.
    data = b"\x02\x01" + wide(text, terminated=False) + spare
    expect = {"event": event, "object": target, "domain_controller": server}
    return {"name": name, "version": 2, "hex": data.hex(), "expect": expect}


def created(path: str, instance: str, label: str, security: str = SD_EMPTY) -> list[Property]:
    """The properties 3.3.5.2 asks for when a queue is created."""
    return [
        (102, SERVICE),
        (101, instance),
        (106, 0),
        (104, 0),
        (105, 0xFFFFFFFF),
        (107, 0xFFFFFFFF),
        (109, 1000000000),
        (110, 1000000001),
        (114, 1),
        (1101, security),
        (103, path),
        (108, label),
        (111, 0),
        (112, 1),
        (113, 0),
    ]


def deleted(scope: int = 1, kind: int = 1) -> list[Property]:
    """The properties 3.3.5.2 asks for when a queue is deleted."""
    return [(1403, scope), (1404, kind)]


def created_queue(name: str, path: str, instance: str, label: str, security: str = SD_EMPTY) -> Case:
    """A message of one queue that is created."""
    return version1(f"queue created, {name}", update(CREATE, path, created(path, instance, label, security)))


def changed_queue(name: str, target: str, *props: Property) -> Case:
    """A message of one queue that changes, with the property 3.3.5.2 asks for and others."""
    return version1(f"queue changed, {name}", update(CHANGE, target, [(115, QM), *props]))


def changed_machine(name: str, *props: Property) -> Case:
    """A message of one machine that changes, with the properties 3.3.5.2 asks for and others."""
    return version1(f"machine changed, {name}", update(CHANGE, QM, [*MACHINE_NEEDS, *props]))


def queue_manager_cases() -> list[Case]:
    """Version 0x02."""
    return [
        version2("event 1, queue created", "1", Q1, "dc1.example.com"),
        version2("event 2, queue changed", "2", Q2, "dc1.example.com"),
        version2("event 3, queue deleted", "3", Q3, "DC2"),
        version2("event 4, machine changed", "4", QM, "dc1.example.com"),
        version2("server name of one character", "1", Q1, "d"),
        version2("server name of 256 characters", "2", Q1, ("dc-" + "x" * 60 + ".") * 4),
        version2("server name with marks", "4", QM, r"\\srv-01_(a)!#$%*+,;=?@[]^`{|}~"),
        version2("small hex digits in the GUID", "2", Q2, "dc1.example.com", upper=False),
        version2(
            "space in the end tag, as in the grammar", "3", Q2, "dc1.example.com", close="</ObjectGuid >"
        ),
        version2("no spare byte at the end", "1", Q2, "dc1.example.com", spare=b""),
        version2("spare byte not zero", "4", QM, "dc3.example.com", spare=b"\xff"),
        version2("GUID of zeros", "2", ZERO_GUID, "dc1"),
        # Outside the grammar of 2.2.5, which has printable ASCII only.
        version2(
            "server name not ASCII (outside the grammar)",
            "2",
            Q1,
            "\u0441\u0435\u0440\u0432\u0435\u0440-\u00fc1",
        ),
    ]


def queue_cases() -> list[Case]:
    """Version 0x01, queue objects."""
    path = r"host1\orders"
    return [
        version1("queue created", update(CREATE, path, created(path, Q1, "Orders"))),
        created_queue("empty label, empty security", r"h\q", Q2, "", ""),
        created_queue("label not ASCII", path, Q1, ACCENT),
        created_queue("label with surrogate pair, odd blob", path, Q1, ASTRAL, SD_ODD),
        # [MS-MQMQ] 2.1.1 has ASCII only in a path name.
        created_queue(
            "path not ASCII (outside the grammar)",
            "b\u00fcro\\\u0437\u0430\u043a\u0430\u0437\u044b",
            Q3,
            "\u00df",
        ),
        version1(
            "queue created, properties reversed, security not last",
            update(CREATE, path, created(path, Q1, "Orders", SD_ODD)[::-1]),
        ),
        version1(
            "queue created, security first (1101)",
            update(CREATE, path, [(1101, SD_EMPTY), *(p for p in created(path, Q2, "L") if p[0] != 1101)]),
        ),
        created_queue("longest queue name and label", "h\\" + "n" * 124, Q1, "l" * 124),
        changed_queue("owner only", Q1),
        changed_queue(
            "all that can change",
            Q1,
            (104, 1),
            (105, 4096),
            (106, -32768),
            (107, 0),
            (1101, SD_EMPTY),
            (111, 1),
            (112, 2),
        ),
        changed_queue("highest priority", Q2, (106, 32767)),
        changed_queue("priority -1 and negative time", Q2, (106, -1), (110, -2), (109, 2147483647)),
        changed_queue(
            "other texts",
            Q3,
            (108, "new label"),
            (124, r"host1.example.com\orders"),
            (125, "234.1.1.1:8001"),
            (123, "suffix"),
            (121, "CN=orders,CN=msmq,CN=HOST1,DC=example,DC=com"),
        ),
        changed_queue(
            "other numbers and blobs",
            Q3,
            (116, ZERO_GUID),
            (117, "0000000000000001ab"),
            (118, 305419896),
            (119, 4294967294),
            (1102, SD_ODD),
            (1103, 15),
        ),
        version1("queue changed, no property", update(CHANGE, Q1, [])),
        version1(
            "queue changed by name (not what a sender does)",
            update(CHANGE, path, [(115, QM), (105, 7)], by_guid=False),
        ),
        version1(
            "queue created by GUID (not what a sender does)",
            update(CREATE, Q1, created(path, Q1, "Orders"), by_guid=True),
        ),
        version1("queue deleted", update(DELETE, Q1, deleted())),
        version1("queue deleted, site scope", update(DELETE, Q2, deleted(scope=0))),
        version1("machine deleted (a reader drops it)", update(DELETE, QM, deleted(kind=2))),
        version1(
            "queue deleted by name (not what a sender does)",
            update(DELETE, r"host1\private$\jobs", deleted(), by_guid=False),
        ),
        version1(
            "queue deleted, reserved bytes not zero",
            update(DELETE, Q3, deleted(), reserved=bytes(range(0xE8, 0x100))),
        ),
    ]


def machine_cases() -> list[Case]:
    """Version 0x01, machine objects."""
    return [
        version1("machine changed, needed properties only", update(CHANGE, QM, MACHINE_NEEDS)),
        changed_machine("quotas and security", (214, 8388608), (215, 4294967295), (1201, SD_EMPTY)),
        changed_machine(
            "ignored properties too",
            (206, ADDRESS_TWO),
            (207, [NETWORK1, NETWORK2]),
            (216, "Windows NT (1381) Service Pack 6"),
            (220, 1024),
        ),
        version1(
            "machine changed, security first (1201)",
            update(CHANGE, QM, [(1201, SD_ODD), (202, QM), (219, 1)]),
        ),
        changed_machine(
            "empty texts, blobs and vectors", (216, ""), (206, ""), (207, []), (223, []), (1205, ""), (214, 1)
        ),
        changed_machine("vectors of GUIDs", (208, [Q1]), (209, [Q1, Q2, Q3]), (222, [NETWORK1]), (215, 2)),
        changed_machine(
            "vectors of texts",
            (223, ["CN=rs1,DC=example,DC=com", "", "CN=Ångström,DC=se"]),
            (224, ["CN=a"]),
            (214, 3),
        ),
        changed_machine(
            "names not ASCII",
            (203, "büro-日本"),
            (233, "büro.example.com"),
            (221, "CN=msmq,CN=" + ASTRAL),
            (214, 5),
        ),
        changed_machine(
            "other bytes, numbers and times",
            (227, 1),
            (228, 0),
            (229, 255),
            (242, 1),
            (210, 31),
            (212, 1),
            (237, 7),
            (217, 0),
            (218, -2147483648),
        ),
        changed_machine(
            "other blobs and GUIDs",
            (213, "01"),
            (234, SD_EMPTY),
            (238, "0800000000000000"),
            (239, "0800000000000000"),
            (241, OWNER_SID),
            (201, Q3),
            (211, ZERO_GUID),
            (1202, "aabbcc"),
            (1203, "00" * 257),
        ),
        version1(
            "machine changed by name (not what a sender does)",
            update(CHANGE, "host1", [*MACHINE_NEEDS, (214, 9)], by_guid=False),
        ),
    ]


def many_cases() -> list[Case]:
    """Version 0x01, several updates, and the spare byte."""
    path = r"h\odd"
    three = (
        update(CREATE, path, created(path, Q1, "odd length", SD_ODD)),
        update(CHANGE, Q1, [(115, QM), (104, 1)], server=SERVER2),
        update(DELETE, Q1, deleted()),
    )
    machine = update(CHANGE, QM, [(202, QM), (219, 0), (1201, "ff")])
    return [
        version1(
            "two deletions", update(DELETE, Q1, deleted()), update(DELETE, Q2, deleted(), server=SERVER2)
        ),
        version1("created, changed, deleted in one message", *three),
        version1("four updates, queue and machine mixed", machine, *three),
        version1("first update without properties", update(CHANGE, Q2, []), *three),
        version1(
            "two creations by name",
            *(update(CREATE, p, created(p, q, p)) for p, q in ((r"host1\a", Q1), (r"host22\bb", Q2))),
        ),
        version1("255 updates", *(update(DELETE, str(uuid.UUID(int=n)), deleted()) for n in range(1, 256))),
        version1("255 properties", update(CHANGE, Q1, [(115, QM)] + [(105, n) for n in range(254)])),
        version1("no spare byte at the end", *three, spare=b""),
        version1("spare byte not zero", machine, spare=b"\xa5"),
    ]


def main() -> None:
    """Print all cases."""
    cases = queue_manager_cases() + queue_cases() + machine_cases() + many_cases()
    print(json.dumps(cases, indent=1, ensure_ascii=True))


if __name__ == "__main__":
    main()
