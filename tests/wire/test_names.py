"""Queue names: every form of [MS-MQMQ] 2.1, what is refused and why, and the packet encodings."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from msmq_wire.errors import DecodeError, EncodeError, FormatNameError
from msmq_wire.wire.names import (
    QUEUE_FORMAT_FLAG_SYSTEM,
    FormatName,
    PathName,
    QueueFormatType,
    QueueSuffixType,
    direct,
    distribution_list,
    format_multiple,
    from_wire,
    parse_multiple,
    private,
    public,
    queue_format_arm,
    queue_format_name,
    suffix_problems,
)
from msmq_wire.wire.names.format_name import ENCODINGS

GUID = "00112233-4455-6677-8899-aabbccddeeff"
GUID_BYTES = bytes.fromhex("33 22 11 00 55 44 77 66 88 99 aa bb cc dd ee ff")

# [MS-MQQB] 4.1.7, offset 0x3e: Count 0x001a, then OS:a04bm02\q with its null; 28 bytes need no pad.
FRAME_7_NAME = bytes.fromhex(
    "1a 00 4f 00 53 00 3a 00 61 00 30 00 34 00 62 00 6d 00 30 00 32 00 5c 00 71 00 00 00"
)

CANONICAL = [
    (r"DIRECT=OS:host\q", r"DIRECT=OS:host\q"),
    (r"direct=os:Host\PRIVATE$\Orders", r"DIRECT=OS:Host\PRIVATE$\Orders"),
    (r"Direct=Os:.\Private$\q;journal", r"DIRECT=OS:.\Private$\q;JOURNAL"),
    (r"DIRECT=OS:host\q;retry", r"DIRECT=OS:host\q;retry"),
    (r"DIRECT=OS:host\private$x", r"DIRECT=OS:host\private$x"),
    (r"DIRECT=OS:host\system$;deadletter", r"DIRECT=OS:host\system$;DEADLETTER"),
    (r"DIRECT=OS:host\SYSTEM$;DeadXact", r"DIRECT=OS:host\SYSTEM$;DEADXACT"),
    (
        r"DIRECT=TCP:192.0.2.1\SYSTEM$;JOURNAL",
        r"DIRECT=TCP:192.0.2.1\SYSTEM$;JOURNAL",
    ),
    (r"DIRECT=TCP:2001:db8::1\private$\order_queue$", r"DIRECT=TCP:2001:db8::1\private$\order_queue$"),
    (r"DIRECT=TCP:fe80::1%12\q", r"DIRECT=TCP:fe80::1%12\q"),
    (r"DIRECT=SPX:0000000A.00A0234F7500\PRIVATE$\order_queue$",) * 2,
    (r"DIRECT=IPX:12:a0234f7500\q", r"DIRECT=IPX:12:a0234f7500\q"),
    ("DIRECT=http://Host/msmq/private$/q", "DIRECT=HTTP://Host/msmq/private$/q"),
    (r"DIRECT=HTTP://host:8080/MSMQ\PRIVATE$\q;JOURNAL", r"DIRECT=HTTP://host:8080/MSMQ\PRIVATE$\q;JOURNAL"),
    ("DIRECT=HTTPS://[2001:db8::1]:443/msmq/q", "DIRECT=HTTPS://[2001:db8::1]:443/msmq/q"),
    ("DIRECT=HTTP://host/msmq/private$/receipts?SenderStream=XRntV",) * 2,
    ("DIRECT=OS:h\xf6st\\private$\\\u6ce8\u6587", "DIRECT=OS:h\xf6st\\private$\\\u6ce8\u6587"),
    (f"public={GUID.upper()}", f"PUBLIC={GUID}"),
    (f"PUBLIC={GUID};journal", f"PUBLIC={GUID};JOURNAL"),
    (f"Private={GUID}\\F", f"PRIVATE={GUID}\\0000000f"),
    (f"PRIVATE={GUID}\\0000000f;Journal", f"PRIVATE={GUID}\\0000000f;JOURNAL"),
    (f"dl={GUID}", f"DL={GUID}"),
    (f"DL={GUID}@Example.com", f"DL={GUID}@Example.com"),
    (f"machine={GUID}", f"MACHINE={GUID}"),
    (f"MACHINE={GUID};deadletter", f"MACHINE={GUID};DEADLETTER"),
    (f"MACHINE={GUID};DEADXACT", f"MACHINE={GUID};DEADXACT"),
    (f"MACHINE={GUID};JOURNAL", f"MACHINE={GUID};JOURNAL"),
    (f"connector={GUID}", f"CONNECTOR={GUID}"),
    (f"CONNECTOR={GUID};xactonly", f"CONNECTOR={GUID};XACTONLY"),
    ("multicast=234.1.1.1:8001", "MULTICAST=234.1.1.1:8001"),
    ("MULTICAST=239.255.255.255:65535", "MULTICAST=239.255.255.255:65535"),
    ("MULTICAST=224.0.0.0:20", "MULTICAST=224.0.0.0:20"),
]


@pytest.mark.parametrize(("text", "canonical"), CANONICAL)
def test_every_form_prints_its_canonical_text(text: str, canonical: str) -> None:
    name = FormatName.parse(text)
    assert str(name) == canonical
    assert FormatName.parse(canonical) == name


REFUSED = [
    ("", "no keyword"),
    ("host\\q", "no keyword of DIRECT="),
    (f" PUBLIC={GUID}", "no keyword"),
    ("D\u0131RECT=OS:host\\q", "no keyword"),
    ("DIRECT=host\\q", "protocol 'host"),
    ("DIRECT=UDP:host\\q", "protocol 'UDP' is none of TCP, OS, HTTP"),
    ("DIRECT=OS:host", "queue name is missing after the address"),
    ("DIRECT=OS:\\q", "address is empty"),
    ("DIRECT=OS:host\\", "queue name is empty"),
    ("DIRECT=OS:host\\private$", "queue name is empty"),
    ("DIRECT=OS:host\\private$\\", "queue name is empty"),
    ("DIRECT=OS:host\\a\\b", r"queue name cannot hold U\+005C, its character 2"),
    ("DIRECT=OS:host\\a,b", r"queue name cannot hold U\+002C, its character 2"),
    ('DIRECT=OS:host\\a+"', r"queue name cannot hold U\+002B, its character 2"),
    ("DIRECT=OS:host\\ blank", r"queue name cannot hold U\+0020, its character 1"),
    ("DIRECT=OS:host\\blank ", r"queue name cannot hold U\+0020, its character 6"),
    ("DIRECT=OS:my host\\q", r"cannot hold U\+0020, its character 3"),
    ("DIRECT=OS:host\\q\n", r"queue name cannot hold U\+000A, its character 2"),
    ("DIRECT=OS:host\\q\x7f", r"queue name cannot hold U\+007F"),
    ("DIRECT=OS:host\\\ud800", r"queue name cannot hold U\+D800, its character 1"),
    ("DIRECT=OS:ho\0st\\q", r"address cannot hold U\+0000, its character 3"),
    ("DIRECT=OS:a/b\\q", r"address cannot hold U\+002F"),
    ("DIRECT=OS:host\\q;", "subqueue name is empty"),
    ("DIRECT=OS:host\\q;a;b", r"subqueue name cannot hold U\+003B"),
    ("DIRECT=OS:host\\q;DEADLETTER", r";DEADLETTER needs system\$"),
    ("DIRECT=OS:host\\q;XACTONLY", "connector queues only"),
    ("DIRECT=OS:host\\system$", r"system\$ needs ;JOURNAL"),
    ("DIRECT=OS:host\\system$;retry", r"system\$ needs ;JOURNAL"),
    ("DIRECT=TCP:host\\q", "'host' is no IPv4 or IPv6 address"),
    ("DIRECT=TCP:192.0.2.256\\q", "no IPv4 or IPv6 address"),
    ("DIRECT=SPX:xyz.1\\q", "network and node"),
    ("DIRECT=HTTP:host/msmq/q", r"is not //host\[:port\]/msmq"),
    ("DIRECT=HTTP://host/other/q", r"is not //host\[:port\]/msmq"),
    ("DIRECT=HTTP://host/msmq", "queue name is missing"),
    ("DIRECT=HTTP://host:65536/msmq/q", "port 65536 is over 65535"),
    ("DIRECT=HTTP://host:999999999999/msmq/q", r"is not //host\[:port\]/msmq"),
    ("DIRECT=HTTP://[::x]/msmq/q", "no IPv4 or IPv6 address"),
    ("PUBLIC=", "'' is no GUID"),
    (f"PUBLIC={{{GUID}}}", "is no GUID"),
    (f"PUBLIC={GUID.replace('-', '')}", "is no GUID"),
    (f"PUBLIC={GUID};retry", "cannot have the suffix 'retry'"),
    (f"PUBLIC={GUID};DEADXACT", "cannot have the suffix DEADXACT"),
    (f"PRIVATE={GUID}", "not 1 to 8 hexadecimal digits"),
    (f"PRIVATE={GUID}\\123456789", "not 1 to 8 hexadecimal digits"),
    (f"PRIVATE={GUID}\\-1", "not 1 to 8 hexadecimal digits"),
    (f"PRIVATE={GUID}\\\u0663", "not 1 to 8 hexadecimal digits"),
    (f"DL={GUID}@", "domain name is empty"),
    (f"DL={GUID}@{'d' * 256}", "domain name has 256 characters, at most 255"),
    (f"DL={GUID}@dö", "domain name cannot hold U.00F6, its character 2"),
    (f"DL={GUID};JOURNAL", "cannot have the suffix JOURNAL"),
    (f"CONNECTOR={GUID};DEADXACT", "cannot have the suffix DEADXACT"),
    (f"MACHINE={GUID};XACTONLY", "cannot have the suffix XACTONLY"),
    ("MULTICAST=223.0.0.1:1", "'223.0.0.1' is not in 224.0.0.0"),
    ("MULTICAST=224.0.0.01:1", "is not in 224.0.0.0"),
    ("MULTICAST=ff02::1:1", "is not in 224.0.0.0"),
    ("MULTICAST=224.0.0.1", "port '' is no number"),
    ("MULTICAST=224.0.0.1:65536", "port '65536' is no number from 0 to 65535"),
    ("MULTICAST=224.0.0.1:" + "9" * 5000, "is no number from 0 to 65535"),
]


@pytest.mark.parametrize(
    ("text", "message"),
    REFUSED,
    ids=[text[:40].encode("ascii", "backslashreplace").decode() for text, _ in REFUSED],
)
def test_a_wrong_name_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(FormatNameError, match=message):
        FormatName.parse(text)


def test_the_message_of_a_refused_name_quotes_a_bounded_part_of_it() -> None:
    with pytest.raises(FormatNameError) as caught:
        FormatName.parse("DIRECT=OS:" + "h" * 100_000 + "\\q")
    assert "address has 100000 characters, at most 256 are allowed" in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("template", "limit"),
    [("DIRECT=OS:{}\\q", 256), ("DIRECT=OS:host\\private$\\{}", 124), ("DIRECT=OS:host\\q;{}", 32)],
)
def test_the_limits_count_the_part_alone_and_in_utf_16_units(template: str, limit: int) -> None:
    assert str(FormatName.parse(template.format("n" * limit))) == template.format("n" * limit)
    with pytest.raises(FormatNameError, match=f"at most {limit}"):
        FormatName.parse(template.format("n" * (limit + 1)))
    emoji = "\U0001f4e8" * (limit // 2)
    assert str(FormatName.parse(template.format(emoji))) == template.format(emoji)
    with pytest.raises(FormatNameError, match=f"at most {limit}"):
        FormatName.parse(template.format(emoji + "n"))


def test_a_direct_name_shows_its_parts() -> None:
    name = FormatName.parse(r"DIRECT=TCP:192.0.2.1\PRIVATE$\Orders;Retry")
    assert (name.protocol, name.address, name.host, name.port) == ("TCP", "192.0.2.1", "192.0.2.1", None)
    assert (name.queue, name.subqueue, name.suffix) == ("Orders", "Retry", QueueSuffixType.SUBQUEUE)
    assert (name.is_private, name.is_system) == (True, False)
    assert name.direct_text == r"TCP:192.0.2.1\PRIVATE$\Orders;Retry"


def test_an_http_name_shows_its_host_and_port() -> None:
    name = FormatName.parse("DIRECT=HTTPS://[2001:db8::1]/msmq/private$/a/b")
    assert (name.host, name.port, name.address) == ("2001:db8::1", 443, "//[2001:db8::1]/msmq")
    assert (name.queue, name.is_private) == ("a/b", True)
    assert FormatName.parse("DIRECT=HTTP://host:8080/msmq/q").port == 8080
    assert FormatName.parse("DIRECT=HTTP://host:/msmq/q").port == 80


def test_a_multicast_name_shows_its_host_and_port() -> None:
    name = FormatName.parse("MULTICAST=234.1.1.1:8001")
    assert (name.host, name.port, name.queue, name.is_private) == ("234.1.1.1", 8001, "", False)


def test_a_dead_letter_queue_is_a_system_queue_without_a_queue_name() -> None:
    name = FormatName.parse(r"DIRECT=OS:host\SYSTEM$;DEADLETTER")
    assert (name.host, name.queue, name.is_system, name.is_private) == ("host", "", True, False)


def test_other_protocols_do_not_take_a_slash_as_separator() -> None:
    name = FormatName.parse(r"DIRECT=OS:host\private$/q")
    assert (name.queue, name.is_private) == ("private$/q", False)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"DIRECT=OS:HOST\PRIVATE$\Q;Retry", r"direct=os:host\private$\q;RETRY"),
        (r"DIRECT=HTTP://host/msmq\private$\q", "DIRECT=HTTP://HOST:80/MSMQ/private$/Q"),
        (f"PUBLIC={GUID}", f"PUBLIC={GUID.upper()}"),
        ("DIRECT=OS:host\\\xe9t\xe9", "DIRECT=OS:host\\\xc9T\xc9"),
    ],
)
def test_spellings_of_one_name_have_one_compare_key(one: str, other: str) -> None:
    assert FormatName.parse(one).compare_key == FormatName.parse(other).compare_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"DIRECT=OS:host\q", r"DIRECT=OS:host\private$\q"),
        ("DIRECT=HTTP://host/msmq/q", "DIRECT=HTTPS://host/msmq/q"),
        ("DIRECT=HTTP://host/msmq/q", "DIRECT=HTTP://host:8080/msmq/q"),
        ("DIRECT=OS:host\\stra\xdfe", r"DIRECT=OS:host\strasse"),
    ],
)
def test_different_names_have_different_compare_keys(one: str, other: str) -> None:
    assert FormatName.parse(one).compare_key != FormatName.parse(other).compare_key


def test_a_name_cannot_be_made_of_parts_of_another_kind() -> None:
    with pytest.raises(FormatNameError, match="a PUBLIC name has no number"):
        FormatName(kind=QueueFormatType.PUBLIC, guid=GUID, number=1)
    with pytest.raises(FormatNameError, match="no kind of format name"):
        FormatName(kind=QueueFormatType.SUBQUEUE, protocol="OS", address="h", path="\\q")
    with pytest.raises(FormatNameError, match="needs the suffix SUBQUEUE"):
        FormatName(kind=QueueFormatType.DIRECT, protocol="OS", address="h", path="\\q", subqueue="s")
    with pytest.raises(FormatNameError, match=r"queue name cannot hold U\+003B"):
        FormatName(kind=QueueFormatType.DIRECT, protocol="OS", address="h", path="\\q;x")
    with pytest.raises(FormatNameError, match="is a suffix and cannot name a subqueue"):
        FormatName(
            kind=QueueFormatType.DIRECT,
            protocol="OS",
            address="h",
            path="\\q",
            suffix=QueueSuffixType.SUBQUEUE,
            subqueue="Journal",
        )
    with pytest.raises(FormatNameError, match="32 bits"):
        FormatName(kind=QueueFormatType.PRIVATE, guid=GUID, number=1 << 32)


def test_the_cheap_constructors_spell_names_without_checking() -> None:
    assert direct("no protocol") == "DIRECT=no protocol"
    assert public(GUID) == f"PUBLIC={GUID}"
    assert private(GUID, 15) == f"PRIVATE={GUID}\\0000000f"
    assert private(GUID, 0xFFFFFFFF) == f"PRIVATE={GUID}\\ffffffff"
    assert distribution_list(GUID) == f"DL={GUID}"
    assert distribution_list(GUID, "example.com") == f"DL={GUID}@example.com"


# Hypothesis: names of every kind.

_letters = st.characters(exclude_categories=("C", "Z"), exclude_characters='\\/;,+"@:')
_places = ("private$", "system$")
_queues = st.text(_letters, min_size=1, max_size=62).filter(lambda text: text.lower() not in _places)
_hosts = st.text(_letters.filter(lambda char: char not in "[]"), min_size=1, max_size=40)
_words = {suffix.name.lower() for suffix in QueueSuffixType}
_subqueues = st.text(_letters, min_size=1, max_size=16).filter(lambda text: text.lower() not in _words)
_guids = st.uuids().map(str)
_suffixes = st.one_of(st.just(""), st.just(";JOURNAL"), _subqueues.map(";{}".format))
_octets = st.integers(0, 255)


def _names(*, writable: bool = False) -> st.SearchStrategy[str]:
    ips = st.ip_addresses().map(str)
    backslash_address = st.one_of(
        _hosts.map("OS:{}".format),
        ips.map("TCP:{}".format),
        st.integers(0, 0xFFFFFFFF).map(lambda number: f"SPX:{number:08X}.00A0234F7500"),
    )
    places = st.sampled_from(["", "private$\\", "PRIVATE$\\"])
    suffixes = st.one_of(st.just(""), _subqueues.map(";{}".format)) if writable else _suffixes
    backslash = st.builds("DIRECT={}\\{}{}{}".format, backslash_address, places, _queues, suffixes)
    http = st.builds(
        "DIRECT={}://{}{}/msmq/{}{}{}".format,
        st.sampled_from(["HTTP", "HTTPS"]),
        _hosts,
        st.one_of(st.just(""), st.integers(0, 65535).map(":{}".format)),
        st.sampled_from(["", "private$/"]),
        _queues,
        suffixes,
    )
    journal = st.just("") if writable else st.sampled_from(["", ";JOURNAL"])
    kinds = [
        backslash,
        http,
        st.builds("PUBLIC={}{}".format, _guids, journal),
        st.builds("PRIVATE={}\\{:08x}{}".format, _guids, st.integers(0, 0xFFFFFFFF), journal),
        st.builds(
            "DL={}{}".format, _guids, st.one_of(st.just(""), _hosts.filter(str.isascii).map("@{}".format))
        ),
        st.builds("CONNECTOR={}{}".format, _guids, st.sampled_from(["", ";XACTONLY"])),
        st.builds(
            "MULTICAST={}.{}.{}.{}:{}".format,
            st.integers(224, 239),
            _octets,
            _octets,
            _octets,
            st.integers(0, 65535),
        ),
    ]
    if not writable:
        system = st.sampled_from([";JOURNAL", ";DEADLETTER", ";DEADXACT"])
        kinds.append(st.builds("MACHINE={}{}".format, _guids, system))
        kinds.append(st.builds("DIRECT={}\\{}{}".format, backslash_address, st.just("SYSTEM$"), system))
    return st.one_of(kinds)


@given(_names())
def test_a_canonical_name_reads_back_to_itself(text: str) -> None:
    name = FormatName.parse(text)
    assert str(name) == text
    assert FormatName.parse(str(name)) == name
    other_case = "".join(char.swapcase() if char.isascii() else char for char in text)
    assert FormatName.parse(other_case).compare_key == name.compare_key


@pytest.mark.slow
@given(_names())
def test_a_queue_format_keeps_every_name(text: str) -> None:
    name = FormatName.parse(text)
    qft, suffix_and_flags = name.queue_format()
    assert suffix_problems(qft, suffix_and_flags) == ()
    assert queue_format_name(qft, suffix_and_flags, queue_format_arm(name)) == name


@pytest.mark.slow
@given(st.text())
@example("DIRECT=OS:" + "\\" * 1000)
@example("=" * 1000)
@example(";" * 1000)
def test_any_text_is_a_name_or_a_format_name_error(text: str) -> None:
    for candidate in (
        text,
        f"DIRECT={text}",
        f"DIRECT=HTTP://{text}",
        f"MULTICAST={text}",
        f"DL={GUID}@{text}",
    ):
        try:
            name = FormatName.parse(candidate)
        except FormatNameError:
            continue
        assert FormatName.parse(str(name)) == name


# Multiple-element format names.


def test_the_elements_of_a_multiple_name_stand_between_commas() -> None:
    text = f"DIRECT=OS:host\\q,PUBLIC={GUID},DL={GUID}"
    names = parse_multiple(text)
    assert [name.kind for name in names] == [
        QueueFormatType.DIRECT,
        QueueFormatType.PUBLIC,
        QueueFormatType.DL,
    ]
    assert format_multiple(names) == text


@given(st.lists(_names(writable=True), min_size=1, max_size=5))
def test_a_multiple_name_reads_back_to_itself(texts: list[str]) -> None:
    names = parse_multiple(",".join(texts))
    assert len(names) == len(texts)
    assert format_multiple(names) == ",".join(texts)


@pytest.mark.parametrize(
    "element",
    [
        f"MACHINE={GUID}",
        f"MACHINE={GUID};DEADLETTER",
        f"PUBLIC={GUID};JOURNAL",
        r"DIRECT=OS:host\q;JOURNAL",
        r"DIRECT=OS:host\SYSTEM$;DEADXACT",
    ],
)
def test_a_read_only_queue_cannot_be_an_element(element: str) -> None:
    with pytest.raises(FormatNameError, match=r"element 2, .* is read-only"):
        parse_multiple(f"DIRECT=OS:host\\q,{element}")
    with pytest.raises(FormatNameError, match=r"element 1, .* is read-only"):
        format_multiple([FormatName.parse(element)])


@pytest.mark.parametrize("text", ["", ",", f"PUBLIC={GUID},"])
def test_an_empty_element_is_refused(text: str) -> None:
    with pytest.raises(FormatNameError, match="no keyword"):
        parse_multiple(text)


def test_blanks_around_elements_and_the_prefix_of_programs_are_passed_over() -> None:
    public = FormatName.parse(f"PUBLIC={GUID}")
    assert parse_multiple(f"FormatName:PUBLIC={GUID}, PUBLIC={GUID}") == (public, public)
    assert FormatName.parse(f"formatname:PUBLIC={GUID}") == public


def test_names_of_real_deployments_hold_blanks_and_letters_beyond_ascii() -> None:
    name = FormatName.parse("DIRECT=OS:host\\private$\\Bestellungen für heute;Retry 1")
    assert str(name) == "DIRECT=OS:host\\private$\\Bestellungen für heute;Retry 1"


def test_a_list_of_no_names_cannot_be_written() -> None:
    with pytest.raises(FormatNameError, match="at least one element"):
        format_multiple([])


# Path names.


@pytest.mark.parametrize(
    ("text", "computer", "queue", "is_private", "suffix"),
    [
        (r"host\q", "host", "q", False, QueueSuffixType.NONE),
        (r".\private$\q", ".", "q", True, QueueSuffixType.NONE),
        (r"Host\PRIVATE$\Q;Retry", "Host", "Q", True, QueueSuffixType.SUBQUEUE),
        (r"host\system$;DEADLETTER", "host", "", False, QueueSuffixType.DEADLETTER),
        (r"host\q;JOURNAL", "host", "q", False, QueueSuffixType.JOURNAL),
    ],
)
def test_a_path_name_shows_its_parts_and_prints_as_written(
    text: str, computer: str, queue: str, is_private: bool, suffix: QueueSuffixType
) -> None:
    path = PathName.parse(text)
    assert (path.computer, path.queue, path.is_private, path.suffix) == (computer, queue, is_private, suffix)
    assert path.is_system == (suffix in (QueueSuffixType.JOURNAL, QueueSuffixType.DEADLETTER))
    assert str(path) == text
    assert PathName.parse(text.upper()).compare_key == path.compare_key


def test_path_names_of_different_queues_have_different_compare_keys() -> None:
    names = (r"host\q", r"host\r", r"other\q", r"host\private$\q", r"host\q;JOURNAL", r"host\q;sub")
    assert len({PathName.parse(name).compare_key for name in names}) == len(names)


def test_a_path_name_reads_its_suffix_in_any_case() -> None:
    assert str(PathName.parse(r"host\system$;deadletter")) == r"host\system$;DEADLETTER"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "computer name is empty"),
        ("host", "queue name is missing"),
        ("host\\", "queue name is empty"),
        ("\\q", "computer name is empty"),
        ("c" * 257 + "\\q", "computer name has 257 characters, at most 256"),
        ("host\\" + "q" * 125, "queue name has 125 characters, at most 124"),
        ("host\\q;" + "s" * 33, "subqueue name has 33 characters, at most 32"),
        ("host\\private$\\a\\b", r"queue name cannot hold U\+005C, its character 2"),
        ("host\\system$;q", r"system\$ needs"),
        ("ho st\\q", r"computer name cannot hold U\+0020, its character 3"),
    ],
)
def test_a_wrong_path_name_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(FormatNameError, match=message):
        PathName.parse(text)


# Packet encodings.


@pytest.mark.parametrize(
    ("encoding", "text", "data"),
    [
        ("direct_queue_format_name", r"DIRECT=OS:a04bm02\q", FRAME_7_NAME),
        (
            "direct_queue_format_name",
            r"DIRECT=OS:h\q",
            bytes.fromhex("0e 00 4f 00 53 00 3a 00 68 00 5c 00 71 00 00 00"),
        ),
        (
            "direct_queue_format_name",
            r"DIRECT=OS:h\qq",
            bytes.fromhex("10 00 4f 00 53 00 3a 00 68 00 5c 00 71 00 71 00 00 00 00 00"),
        ),
        ("mqf_direct_queue_format_name", r"DIRECT=OS:a04bm02\q", FRAME_7_NAME[2:]),
        ("public_queue_format_name", f"PUBLIC={GUID}", GUID_BYTES),
        ("private_queue_format_name", f"PRIVATE={GUID}\\0102030f", GUID_BYTES + bytes.fromhex("0f 03 02 01")),
        ("private_queue_format_name_id", f"PRIVATE={GUID}\\0102030f", bytes.fromhex("0f 03 02 01")),
        ("mqf_distribution_queue_format_name", f"DL={GUID}", GUID_BYTES),
    ],
)
def test_each_encoding_has_its_bytes(encoding: str, text: str, data: bytes) -> None:
    assert str(from_wire(encoding, data, host=GUID)) == text
    assert FormatName.parse(text).to_wire(encoding) == data


@pytest.mark.parametrize("host", [GUID, GUID.upper(), GUID_BYTES, uuid.UUID(GUID)])
def test_the_host_of_a_private_number_is_a_guid_in_any_form(host: str | bytes | uuid.UUID) -> None:
    name = from_wire("private_queue_format_name_id", b"\x04\0\0\0", host=host)
    assert str(name) == f"PRIVATE={GUID}\\00000004"


def test_a_private_number_without_a_host_has_no_name() -> None:
    with pytest.raises(DecodeError) as caught:
        from_wire("private_queue_format_name_id", b"\x04\0\0\0")
    assert caught.value.code == "missing-host"


def test_pad_bytes_of_a_direct_name_may_hold_anything() -> None:
    data = bytes.fromhex("10 00 4f 00 53 00 3a 00 68 00 5c 00 71 00 71 00 00 00 de ad")
    assert str(from_wire("direct_queue_format_name", data)) == r"DIRECT=OS:h\qq"


DIRECT_STEM = "direct_queue_format_name"
MQF_STEM = "mqf_direct_queue_format_name"
SURROGATE = r"OS:h\q".encode("utf-16-le") + b"\x00\xd8\0\0"
EMBEDDED_NULL = "OS:h\\q\0q\0".encode("utf-16-le")


@pytest.mark.parametrize(
    ("encoding", "data", "code", "offset"),
    [
        (DIRECT_STEM, b"", "missing-bytes", 0),
        (DIRECT_STEM, b"\x1a", "missing-bytes", 1),
        (DIRECT_STEM, b"\xff\xff" + FRAME_7_NAME[2:], "missing-bytes", 28),
        (DIRECT_STEM, FRAME_7_NAME[:-1], "missing-bytes", 27),
        (DIRECT_STEM, FRAME_7_NAME + b"\0", "trailing-bytes", 28),
        (DIRECT_STEM, b"\0\0\0\0", "no-terminator", 2),
        (DIRECT_STEM, b"\x01\0\0\0", "odd-length", 2),
        (DIRECT_STEM, b"\x02\0\0\0", "format-name", 2),
        (DIRECT_STEM, b"\x18" + FRAME_7_NAME[1:26] + b"\0\0", "no-terminator", 26),
        (MQF_STEM, b"", "no-terminator", 0),
        (MQF_STEM, b"\0", "odd-length", 0),
        (MQF_STEM, FRAME_7_NAME[2:-2], "no-terminator", 24),
        (MQF_STEM, SURROGATE, "format-name", 0),
        (MQF_STEM, EMBEDDED_NULL, "format-name", 0),
        ("public_queue_format_name", GUID_BYTES[:15], "missing-bytes", 15),
        ("public_queue_format_name", GUID_BYTES + b"\0", "trailing-bytes", 16),
        ("private_queue_format_name", GUID_BYTES, "missing-bytes", 16),
        ("private_queue_format_name_id", b"\0\0\0", "missing-bytes", 3),
        ("mqf_distribution_queue_format_name", b"", "missing-bytes", 0),
        ("machine_name", GUID_BYTES, "unknown-selector", 0),
    ],
)
def test_wrong_bytes_say_where_they_fail(encoding: str, data: bytes, code: str, offset: int) -> None:
    with pytest.raises(DecodeError) as caught:
        from_wire(encoding, data, host=GUID)
    assert (caught.value.code, caught.value.offset) == (code, offset)


@given(st.sampled_from(sorted(ENCODINGS)), st.binary(max_size=64))
def test_any_bytes_are_a_name_or_a_decode_error(encoding: str, data: bytes) -> None:
    failed_at = 0
    try:
        name = from_wire(encoding, data, host=GUID)
        assert from_wire(encoding, name.to_wire(encoding), host=GUID) == name
    except DecodeError as error:
        failed_at = error.offset
    assert 0 <= failed_at <= len(data)


@pytest.mark.parametrize(
    ("encoding", "text", "message"),
    [
        ("public_queue_format_name", f"PRIVATE={GUID}\\1", "carries a PUBLIC name"),
        ("direct_queue_format_name", "MULTICAST=224.0.0.1:1", "carries a DIRECT name"),
        ("private_queue_format_name", f"PRIVATE={GUID}\\1;JOURNAL", "no place for the suffix"),
        ("public_queue_format_name", f"PUBLIC={GUID};JOURNAL", "no place for the suffix"),
        ("mqf_distribution_queue_format_name", f"DL={GUID}@example.com", "no place for the domain"),
        ("machine_name", f"MACHINE={GUID}", "is no packet encoding"),
    ],
)
def test_an_encoding_refuses_what_it_cannot_carry(encoding: str, text: str, message: str) -> None:
    with pytest.raises(EncodeError, match=message):
        FormatName.parse(text).to_wire(encoding)


# QUEUE_FORMAT.


@pytest.mark.parametrize(
    ("qft", "suffix_and_flags", "arm", "text"),
    [
        (1, 0x00, GUID, f"PUBLIC={GUID}"),
        (1, 0x81, GUID_BYTES, f"PUBLIC={GUID};JOURNAL"),
        (2, 0x00, (GUID, 15), f"PRIVATE={GUID}\\0000000f"),
        (3, 0x00, r"OS:host\q", r"DIRECT=OS:host\q"),
        (3, 0x81, r"OS:host\q;JOURNAL", r"DIRECT=OS:host\q;JOURNAL"),
        (3, 0x81, r"OS:host\q", r"DIRECT=OS:host\q;JOURNAL"),
        (3, 0x83, r"OS:host\SYSTEM$", r"DIRECT=OS:host\SYSTEM$;DEADXACT"),
        (4, 0x82, uuid.UUID(GUID), f"MACHINE={GUID};DEADLETTER"),
        (5, 0x04, GUID, f"CONNECTOR={GUID};XACTONLY"),
        (6, 0x00, (GUID, None), f"DL={GUID}"),
        (6, 0x00, (GUID, "example.com"), f"DL={GUID}@example.com"),
        (7, 0x00, (0x010101EA, 8001), "MULTICAST=234.1.1.1:8001"),
        (8, 0x05, r"OS:host\q;retry", r"DIRECT=OS:host\q;retry"),
    ],
)
def test_a_queue_format_means_a_name(qft: int, suffix_and_flags: int, arm: object, text: str) -> None:
    name = queue_format_name(qft, suffix_and_flags, arm)  # type: ignore[arg-type]  # one table, many arms
    assert str(name) == text
    assert name.queue_format() == (qft, suffix_and_flags)


@pytest.mark.parametrize(
    ("qft", "suffix_and_flags", "arm", "code"),
    [
        (0, 0x00, None, "unknown-selector"),
        (9, 0x00, GUID, "unknown-selector"),
        (1, 0x06, GUID, "unknown-selector"),
        (1, 0x00, None, "wrong-arm"),
        (2, 0x00, GUID, "wrong-arm"),
        (3, 0x00, None, "wrong-arm"),
        (7, 0x00, (-1, 1), "wrong-arm"),
        (7, 0x00, (0x010101EA, 0xFFFFFFFF), "format-name"),
        (7, 0x00, (0x0100007F, 1), "format-name"),
        (1, 0x82, GUID, "format-name"),
        (1, 0x00, GUID_BYTES[:3], "format-name"),
        (1, 0x00, "no guid", "format-name"),
        (3, 0x81, r"OS:host\q;retry", "format-name"),
        (3, 0x00, "OS:host\\q\ud800", "format-name"),
    ],
)
def test_a_queue_format_without_a_name_says_so(
    qft: int, suffix_and_flags: int, arm: object, code: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        queue_format_name(qft, suffix_and_flags, arm)  # type: ignore[arg-type]  # wrong arms on purpose
    assert caught.value.code == code


# The suffix table of [MS-MQMQ] 2.2.7: values of m_qft that may stand with each suffix and its flags.
ALLOWED = {
    0x00: {0, 1, 2, 3, 5, 6, 7, 8},
    0x81: {0, 1, 2, 3, 4, 8},
    0x82: {0, 3, 4, 8},
    0x83: {3, 4},
    0x04: {5},
    0x84: {5},
    0x05: {8},
}


@pytest.mark.slow
def test_exactly_the_pairs_of_the_suffix_table_have_no_problem() -> None:
    clean = {(qft, byte) for qft in range(256) for byte in range(256) if not suffix_problems(qft, byte)}
    assert clean == {(qft, byte) for byte, types in ALLOWED.items() for qft in types}


def test_each_broken_rule_is_told() -> None:
    assert suffix_problems(4, 0x00) == ("QUEUE_SUFFIX_TYPE_NONE is not allowed with m_qft 0x04 (MACHINE)",)
    assert suffix_problems(5, 0x01) == (
        "QUEUE_SUFFIX_TYPE_JOURNAL needs Flags 0x80, found 0x00",
        "QUEUE_SUFFIX_TYPE_JOURNAL is not allowed with m_qft 0x05 (CONNECTOR)",
    )
    assert suffix_problems(9, 0x4F) == (
        "m_qft 0x09 is no QUEUE_FORMAT_TYPE",
        "Flags 0x40 is neither 0x00 nor 0x80",
        "Suffix Type 0x0f is no QUEUE_SUFFIX_TYPE",
    )


def test_the_system_flag_stands_with_journals_and_dead_letter_queues() -> None:
    assert FormatName.parse(f"MACHINE={GUID};JOURNAL").queue_format() == (4, QUEUE_FORMAT_FLAG_SYSTEM | 1)
    assert FormatName.parse(f"CONNECTOR={GUID};XACTONLY").queue_format() == (5, 4)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (FormatName.parse, "a format name must be text, not bytes"),
        (PathName.parse, "a path name must be text, not bytes"),
    ],
)
def test_a_name_that_is_no_text_is_a_wrong_type(parse: Callable[[Any], object], text: str) -> None:
    with pytest.raises(TypeError) as caught:
        parse(b"DIRECT=OS:host")
    assert str(caught.value) == text
