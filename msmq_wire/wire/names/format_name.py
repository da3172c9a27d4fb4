r"""Format names: what an application writes to say which queue it means.

The canonical text has keywords and suffixes in upper case, GUIDs and queue numbers in lower case,
and the address and the queue of a direct name as they were written.
"""

from __future__ import annotations

import ipaddress
import re
import struct
import uuid
from collections.abc import Iterable

import msgspec

from msmq_wire import arguments
from msmq_wire.errors import EncodeError, FormatNameError
from msmq_wire.representation import parse_line
from msmq_wire.wire.names.grammar import (
    BACKSLASH,
    check_computer,
    check_path,
    check_text,
    compare_text,
    split_place,
    split_suffix,
    suffix_text,
)
from msmq_wire.wire.names.queue_format_types import (
    QUEUE_FORMAT_FLAG_SYSTEM,
    SYSTEM_SUFFIXES,
    QueueFormatType,
    QueueSuffixType,
)

ENCODINGS = {
    "private_queue_format_name_id": QueueFormatType.PRIVATE,
    "public_queue_format_name": QueueFormatType.PUBLIC,
    "private_queue_format_name": QueueFormatType.PRIVATE,
    "direct_queue_format_name": QueueFormatType.DIRECT,
    "mqf_direct_queue_format_name": QueueFormatType.DIRECT,
    "mqf_distribution_queue_format_name": QueueFormatType.DL,
}
"""The packet encodings of a queue name and the kind that each carries. [MS-MQMQ] 2.2.18.1"""

DOMAIN_LIMIT = 255

_KEYWORDS = {
    "direct": QueueFormatType.DIRECT,
    "public": QueueFormatType.PUBLIC,
    "private": QueueFormatType.PRIVATE,
    "dl": QueueFormatType.DL,
    "machine": QueueFormatType.MACHINE,
    "connector": QueueFormatType.CONNECTOR,
    "multicast": QueueFormatType.MULTICAST,
}

_KEYWORD_LIST = ", ".join(f"{keyword.upper()}=" for keyword in _KEYWORDS)

# SPX stands in [MS-MQQB] 2.2.4 for what [MS-MQMQ] 2.1.2 calls IPX.
_PROTOCOLS = ("TCP", "OS", "HTTP", "HTTPS", "IPX", "SPX")
_DEFAULT_PORTS = {"HTTP": 80, "HTTPS": 443}

_PARTS = {
    QueueFormatType.DIRECT: {"protocol", "address", "path", "subqueue"},
    QueueFormatType.PUBLIC: {"guid"},
    QueueFormatType.PRIVATE: {"guid", "number"},
    QueueFormatType.DL: {"guid", "domain"},
    QueueFormatType.MACHINE: {"guid"},
    QueueFormatType.CONNECTOR: {"guid"},
    QueueFormatType.MULTICAST: {"address"},
}

# 2.1.6 has no suffixes for machines and connectors and 2.1.3 none for public queues, 2.2.7 has.
_SUFFIXES = {
    QueueFormatType.PUBLIC: {QueueSuffixType.JOURNAL},
    QueueFormatType.PRIVATE: {QueueSuffixType.JOURNAL},
    QueueFormatType.DL: set(),
    QueueFormatType.MACHINE: SYSTEM_SUFFIXES,
    QueueFormatType.CONNECTOR: {QueueSuffixType.XACTONLY},
    QueueFormatType.MULTICAST: set(),
}

_GUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_QUEUE_NUMBER = re.compile(r"[0-9a-fA-F]{1,8}")
_PORT = re.compile(r"0|[1-9][0-9]{0,4}")
_IPX_ADDRESS = re.compile(r"[0-9a-fA-F]{1,8}[.:][0-9a-fA-F]{1,12}")
_HTTP_ADDRESS = re.compile(
    r"//(?:\[(?P<ipv6>[^\]/\\]+)\]|(?P<host>[^\[\]:/\\]+))(?::(?P<port>[0-9]{0,5}))?[/\\]msmq",
    re.IGNORECASE | re.ASCII,
)
_HTTP_SPLIT = re.compile(r"(//[^/\\]*[/\\]msmq)([/\\].*)", re.IGNORECASE | re.ASCII | re.DOTALL)


def direct(text: str) -> str:
    """Return the format name for a direct name as packets carry it; nothing is checked."""
    return f"DIRECT={text}"


def public(guid: str) -> str:
    """Return the format name of a public queue; ``guid`` is 8-4-4-4-12 in lower case, unchecked."""
    return f"PUBLIC={guid}"


def private(guid: str, number: int) -> str:
    """Return the format name of private queue ``number`` (32 bits) on queue manager ``guid``, unchecked."""
    return f"PRIVATE={guid}\\{number:08x}"


def distribution_list(guid: str, domain: str | None = None) -> str:
    """Return the format name of a distribution list; nothing is checked."""
    return f"DL={guid}@{domain}" if domain else f"DL={guid}"


class FormatName(msgspec.Struct, frozen=True, kw_only=True):
    r"""One format name of any kind. [MS-MQMQ] 2.1.2 to 2.1.6

    ``kind`` is never UNKNOWN or SUBQUEUE: a subqueue is a DIRECT name with the suffix SUBQUEUE.
    By kind: ``guid`` (lower case) for all but DIRECT and MULTICAST; ``number`` (32 bits) for PRIVATE;
    ``domain`` ("" for none) for DL; ``protocol`` (upper case), ``address`` and ``path`` for DIRECT:
    ``OS``, ``host``, ``\private$\q``, and for HTTP an address such as ``//host:8080/msmq``;
    ``address`` (``224.0.0.1:8001``) for MULTICAST. Parts of other kinds are empty. Every instance is valid:
    making one raises FormatNameError when a part breaks the grammar. ``==`` compares as written,
    ``compare_key`` without regard to case.
    """

    kind: QueueFormatType
    guid: str = ""
    number: int = 0
    domain: str = ""
    protocol: str = ""
    address: str = ""
    path: str = ""
    suffix: QueueSuffixType = QueueSuffixType.NONE
    subqueue: str = ""

    def __post_init__(self) -> None:
        allowed = _PARTS.get(self.kind)
        if allowed is None:
            raise FormatNameError(f"{self.kind!r} is no kind of format name")
        for part in ("guid", "number", "domain", "protocol", "address", "path", "subqueue"):
            if part not in allowed and getattr(self, part):
                raise FormatNameError(f"a {self.kind.name} name has no {part}")
        if self.kind == QueueFormatType.DIRECT:
            _check_address(self.protocol, self.address)
            check_path(self.path, self.suffix, self.subqueue, self._separators)
            return
        if self.suffix != QueueSuffixType.NONE and self.suffix not in _SUFFIXES[self.kind]:
            word = "subqueue" if self.suffix == QueueSuffixType.SUBQUEUE else f"suffix {self.suffix.name}"
            raise FormatNameError(f"a {self.kind.name} name cannot have the {word}")
        if self.kind == QueueFormatType.MULTICAST:
            _check_multicast(self.address)
        elif not _GUID.fullmatch(self.guid):
            raise FormatNameError(f"{self.guid[:80]!r} is no GUID of the form 8-4-4-4-12")
        if not 0 <= self.number <= 0xFFFFFFFF:
            raise FormatNameError("the queue number does not fit in 32 bits")
        if self.domain:
            check_text("domain name", self.domain, DOMAIN_LIMIT, " \\;,")
            # VCHAR, [MS-MQMQ] 2.1.5: the domain is not of those names that hold letters beyond ASCII.
            beyond = next((at for at, char in enumerate(self.domain) if char > "~"), None)
            if beyond is not None:
                code = f"U+{ord(self.domain[beyond]):04X}"
                raise FormatNameError(f"domain name cannot hold {code}, its character {beyond + 1}")

    @classmethod
    def parse(cls, text: str) -> FormatName:
        """Read one format name; keywords, GUIDs and suffixes in any case, with or without ``FormatName:``.

        Raises FormatNameError that names the wrong part and the character in it.
        """
        arguments.check_text("a format name", text)
        keyword, equals, rest = text.removeprefix(_prefix_of(text)).partition("=")
        kind = _KEYWORDS.get(keyword.lower()) if equals else None
        try:
            if kind is None:
                raise FormatNameError(f"no keyword of {_KEYWORD_LIST} begins it")
            if kind == QueueFormatType.DIRECT:
                return cls._parse_direct(rest)
            name, suffix, subqueue = split_suffix(rest)
            if suffix == QueueSuffixType.SUBQUEUE:
                raise FormatNameError(f"a {kind.name} name cannot have the suffix {subqueue[:80]!r}")
            if kind == QueueFormatType.MULTICAST:
                return cls(kind=kind, address=name, suffix=suffix)
            number, domain = 0, ""
            if kind == QueueFormatType.PRIVATE:
                name, _, digits = name.partition(BACKSLASH)
                if not _QUEUE_NUMBER.fullmatch(digits):
                    raise FormatNameError("the queue number after the GUID is not 1 to 8 hexadecimal digits")
                number = int(digits, 16)
            elif kind == QueueFormatType.DL:
                name, at, domain = name.partition("@")
                if at and not domain:
                    raise FormatNameError("domain name is empty")
            return cls(kind=kind, guid=name.lower(), number=number, domain=domain, suffix=suffix)
        except FormatNameError as error:
            raise FormatNameError(f"{error}: {text[:80]!r} is no format name") from None

    @classmethod
    def _parse_direct(cls, text: str) -> FormatName:
        name, suffix, subqueue = split_suffix(text)
        protocol, colon, rest = name.partition(":")
        if not colon or not protocol.isascii() or protocol.upper() not in _PROTOCOLS:
            raise FormatNameError(f"protocol {protocol[:80]!r} is none of {', '.join(_PROTOCOLS)}")
        protocol = protocol.upper()
        if protocol in _DEFAULT_PORTS:
            split = _HTTP_SPLIT.fullmatch(rest)
            address, path = (split[1], split[2]) if split else (rest, "")
        else:
            address, backslash, queue = rest.partition(BACKSLASH)
            path = backslash + queue
        return cls(
            kind=QueueFormatType.DIRECT,
            protocol=protocol,
            address=address,
            path=path,
            suffix=suffix,
            subqueue=subqueue,
        )

    __repr__ = parse_line

    def __str__(self) -> str:
        match self.kind:
            case QueueFormatType.DIRECT:
                return direct(self.direct_text)
            case QueueFormatType.PUBLIC:
                name = public(self.guid)
            case QueueFormatType.PRIVATE:
                name = private(self.guid, self.number)
            case QueueFormatType.DL:
                name = distribution_list(self.guid, self.domain)
            case _:
                name = f"{self.kind.name}={self.guid or self.address}"
        return name + suffix_text(self.suffix, self.subqueue)

    @property
    def direct_text(self) -> str:
        """A direct name as packets and QUEUE_FORMAT carry it, without ``DIRECT=``; "" for other kinds."""
        if self.kind != QueueFormatType.DIRECT:
            return ""
        return f"{self.protocol}:{self.address}{self.path}{suffix_text(self.suffix, self.subqueue)}"

    @property
    def host(self) -> str:
        """Computer name or address without port and brackets; "" when the kind has none."""
        if self.kind == QueueFormatType.MULTICAST:
            return self.address.partition(":")[0]
        http = self._http
        return (http["ipv6"] or http["host"]) if http else _unbracketed(self.address)

    @property
    def port(self) -> int | None:
        """Port of a MULTICAST, HTTP or HTTPS name (80 and 443 when not written), else None."""
        if self.kind == QueueFormatType.MULTICAST:
            return int(self.address.partition(":")[2])
        http = self._http
        return int(http["port"] or _DEFAULT_PORTS[self.protocol]) if http else None

    @property
    def queue(self) -> str:
        """Queue name of a direct name, without ``private$`` and suffix; "" for a system queue."""
        return split_place(self.path, self._separators)[1]

    @property
    def is_private(self) -> bool:
        """Whether the name says that the queue is private: PRIVATE, or DIRECT with ``private$``."""
        in_path = split_place(self.path, self._separators)[0] == "private$"
        return in_path or self.kind == QueueFormatType.PRIVATE

    @property
    def is_system(self) -> bool:
        """Whether it is a journal or dead-letter queue, which only the queue manager writes to."""
        return self.suffix in SYSTEM_SUFFIXES

    @property
    def compare_key(self) -> str:
        r"""Text that is equal for two spellings of one name.

        Case is ignored; in HTTP and HTTPS names the two separators are one, and a default port that
        is written out does not count. A computer name and its IP address stay different.
        """
        http = self._http
        if http is None:
            bare = _unbracketed(self.address)
            return compare_text(
                str(self if bare == self.address else msgspec.structs.replace(self, address=bare))
            )
        authority = f"[{http['ipv6']}]" if http["ipv6"] else http["host"]
        path = self.path.replace(BACKSLASH, "/") + suffix_text(self.suffix, self.subqueue)
        return compare_text(direct(f"{self.protocol}://{authority}:{self.port}/msmq{path}"))

    def queue_format(self) -> tuple[int, int]:
        """Return ``(m_qft, m_SuffixAndFlags)`` for this name. [MS-MQMQ] 2.2.7"""
        kind = QueueFormatType.SUBQUEUE if self.suffix == QueueSuffixType.SUBQUEUE else self.kind
        return int(kind), self.suffix | (QUEUE_FORMAT_FLAG_SYSTEM if self.is_system else 0)

    def to_wire(self, encoding: str) -> bytes:
        """Return the bytes of one packet encoding, a key of ``ENCODINGS``; pad bytes are zero.

        ``private_queue_format_name_id`` leaves the queue manager out: the header names it. Raises EncodeError
        when the encoding carries another kind, or has no place for the suffix or the domain.
        """
        carried = ENCODINGS.get(encoding)
        if carried is None:
            raise EncodeError(f"{encoding!r} is no packet encoding of a queue name")
        if carried != self.kind:
            raise EncodeError(f"{encoding} carries a {carried.name} name, not {self}")
        if carried == QueueFormatType.DIRECT:
            units = (self.direct_text + "\0").encode("utf-16-le")
            if encoding == "mqf_direct_queue_format_name":
                return units
            return struct.pack("<H", len(units)) + units + bytes(-(2 + len(units)) % 4)
        if self.suffix != QueueSuffixType.NONE:
            raise EncodeError(f"{encoding} has no place for the suffix of {self}")
        if self.domain:
            raise EncodeError(f"{encoding} has no place for the domain of {self}")
        number = struct.pack("<I", self.number)
        if encoding == "private_queue_format_name_id":
            return number
        guid = uuid.UUID(self.guid).bytes_le
        return guid + number if carried == QueueFormatType.PRIVATE else guid

    @property
    def _separators(self) -> str:
        return "\\/" if self.protocol in _DEFAULT_PORTS else BACKSLASH

    @property
    def _http(self) -> re.Match[str] | None:
        return _HTTP_ADDRESS.fullmatch(self.address) if self.protocol in _DEFAULT_PORTS else None


def _unbracketed(address: str) -> str:
    """An address without the brackets that IPv6 has in the articles of Microsoft, and in URLs."""
    inside = address[1:-1]
    return inside if address[:1] == "[" and address[-1:] == "]" and ":" in inside else address


def _check_address(protocol: str, address: str) -> None:
    if protocol not in _PROTOCOLS:
        raise FormatNameError(f"protocol {protocol[:80]!r} is none of {', '.join(_PROTOCOLS)}")
    if protocol in _DEFAULT_PORTS:
        http = _HTTP_ADDRESS.fullmatch(address)
        if http is None:
            raise FormatNameError(f"address {address[:80]!r} is not //host[:port]/msmq")
        if http["ipv6"]:
            _check_ip(http["ipv6"])
        else:
            check_computer("host", http["host"])
        if int(http["port"] or 0) > 0xFFFF:
            raise FormatNameError(f"port {http['port']} is over 65535")
        return
    check_computer("address", address)
    if protocol == "TCP":
        _check_ip(_unbracketed(address))
    elif protocol in ("IPX", "SPX") and not _IPX_ADDRESS.fullmatch(address):
        raise FormatNameError(f"address {address[:80]!r} is not network and node in hexadecimal digits")


def _check_ip(text: str) -> None:
    check_computer("address", text)
    try:
        ipaddress.ip_address(text)
    except ValueError:
        raise FormatNameError(f"address {text[:80]!r} is no IPv4 or IPv6 address") from None


def _check_multicast(address: str) -> None:
    host, _, port = address.partition(":")
    try:
        is_multicast = ipaddress.IPv4Address(host).is_multicast
    except ValueError:
        is_multicast = False
    if not is_multicast:
        raise FormatNameError(f"address {host[:80]!r} is not in 224.0.0.0 to 239.255.255.255")
    if not _PORT.fullmatch(port) or int(port) > 0xFFFF:
        raise FormatNameError(f"port {port[:80]!r} is no number from 0 to 65535")


def _prefix_of(text: str) -> str:
    """The ``FormatName:`` that programs put before a format name, as it is written; empty without one."""
    return text[:11] if text[:11].lower() == "formatname:" else ""


def parse_multiple(text: str) -> tuple[FormatName, ...]:
    """Read a multiple-element format name: one or more names between commas. [MS-MQMQ] 2.1.7

    Raises FormatNameError for a wrong element, and for one that no message can be sent to: machine
    names, journals and dead-letter queues.
    """
    elements = text.removeprefix(_prefix_of(text)).split(",")
    names = tuple(FormatName.parse(element.strip(" ")) for element in elements)
    _check_elements(names)
    return names


def format_multiple(names: Iterable[FormatName]) -> str:
    """Write what :func:`parse_multiple` reads; raises FormatNameError for the same elements and for none."""
    elements = tuple(names)
    if not elements:
        raise FormatNameError("a multiple-element format name needs at least one element")
    _check_elements(elements)
    return ",".join(map(str, elements))


def _check_elements(names: tuple[FormatName, ...]) -> None:
    for position, name in enumerate(names, 1):
        if name.kind == QueueFormatType.MACHINE or name.is_system:
            raise FormatNameError(f"element {position}, {name}, is read-only and cannot be in a list")
