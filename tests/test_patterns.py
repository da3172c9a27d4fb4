"""Regular expressions, and readers of text, that hostile text does not slow down.

Every pattern of the package stands in a table here: with text that is as bad for it as we know, or with the
reason why nobody else writes what it reads. A new pattern fails until somebody adds it.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import importlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from msmq_wire import FormatName, MsmqWireError, PathName
from msmq_wire.capture.carve.search import Carver
from msmq_wire.cli.packet_input import read_packet_input
from msmq_wire.cli.render.safe_text import escaped
from msmq_wire.records.bodies import open_body
from msmq_wire.records.filter.compiling import compile_filter
from msmq_wire.report.redaction.forms import without_paths
from msmq_wire.routing.topology_file import parse_topology
from msmq_wire.spark.queries import query_problem
from msmq_wire.srmp.http.connection import parse_message
from msmq_wire.srmp.http.message import find_start_line
from msmq_wire.srmp.mime import parse_content_type, parse_multipart
from msmq_wire.wire.names import parse_multiple

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {"msmq_wire": ROOT, "dissectors": ROOT / "dissectors"}
METHODS = ("match", "fullmatch", "search", "sub", "findall", "finditer", "split")
LONG = 0.02
"""Seconds of CPU from which on two times can be compared."""
MOST = 1 << 18
"""Characters after which what takes less is fast enough."""
TIMES = 8
"""How much longer the longer text is."""
HARMLESS = 2.0
"""Seconds of CPU that the longest text takes only where the time does not grow with its square."""


class Attack(NamedTuple):
    """How a pattern is used, and what it meets: ``begin``, then ``again`` many times, then ``end``."""

    method: str
    begin: str
    again: str
    end: str = ""

    def text(self, size: int) -> str:
        return f"{self.begin}{self.again * (size // len(self.again) + 1)}{self.end}"


Text: TypeAlias = tuple[str, str] | tuple[str, str, str]


def using(method: str, *texts: Text) -> tuple[Attack, ...]:
    """What a pattern meets that is used with this method."""
    return tuple(Attack(method, *text) for text in texts)


def meets(*texts: Text) -> tuple[Attack, ...]:
    """What a reader meets, which is a function."""
    return using("", *texts)


GUID = "01234567-89ab-cdef-0123-456789abcdef"
OURS = "declarations of the package"
HOSTILE: Mapping[str, str | tuple[Attack, ...]] = {
    "msmq_wire.capture.carve.envelopes:_ROOT": using("match", ("<", "a"), ("", "<a:Envelope")),
    "msmq_wire.capture.carve.envelopes:_PART_HEAD": using(
        "match", ("--", "a"), ("--a\n", "b\n"), ("--a\n\n<?xml ", " ")
    ),
    "msmq_wire.capture.carve.envelopes:_REQUEST_HEAD": using("search", ("", "\r\n\r\n"), ("", "\n\n<?xml >")),
    "msmq_wire.capture.carve.envelopes:_XML": using("search", ("", "\nContent-Type:  "), ("", "\n")),
    "msmq_wire.capture.carve.envelopes:_CLOSING": using(
        "finditer", ("", "</se:Envelope "), ("", "</se:"), ("</", "a")
    ),
    "msmq_wire.capture.carve.offsets:_SEPARATOR": using("split", ("", " "), ("", " ,a")),
    "msmq_wire.capture.carve.offsets:_NUMBER": using("fullmatch", ("0x", "0"), ("", "1")),
    "msmq_wire.capture.carve.storage:_FILE": using("fullmatch", ("p", "0", "!")),
    "msmq_wire.capture.carve.storage:_TRANSACTIONS": using("fullmatch", ("mqtrans.", "a", "\n")),
    "msmq_wire.capture.queue_files:_NAME": using("fullmatch", ("", "0"), ("0000000b.", "0", "!"), ("", "0-")),
    "msmq_wire.capture.queue_files:_OWNED": using("fullmatch", ("{", "0"), (f"{GUID}=", "a"), (GUID, "}")),
    "msmq_wire.records.registered_queues:_QUEUE": (
        using("fullmatch", (f"PUBLIC={GUID};", "a"))
        + using("sub", ("", "PRIVATE="), ("", f"PRIVATE={GUID}\\"), (f"PUBLIC={GUID}", "0"))
    ),
    "msmq_wire.cli.body_files:_OTHER": using("sub", ("", "a.")),
    "msmq_wire.report.redaction.forms:_ANOTHER_HOST": using("search", ("", "/a")),
    "msmq_wire.report.redaction.forms:_WEB_HOSTED": using("fullmatch", ("http://", "a"), ("", "http:")),
    "msmq_wire.report.redaction.forms:_LONG_HOSTED": using("fullmatch", ("OS:", "a"), ("OS:", "/")),
    "msmq_wire.report.redaction.forms:_HOSTED": using(
        "fullmatch", ("", "/"), ("DIRECT=", "/", "a"), ("", "a"), ("", "a/")
    ),
    "msmq_wire.report.redaction.forms:_name": using("split", ("", "?"), ("", "a")),
    "msmq_wire.report.redaction.forms:_BY_GUID": using(
        "fullmatch", (f"PUBLIC={GUID}", ";"), (f"PUBLIC={GUID};JOURNAL", ";JOURNAL", "\n")
    ),
    "msmq_wire.cli.commands.route:_KEYWORD": using("match", ("formatname:", "a", "!"), ("", "formatname:")),
    "msmq_wire.report.redaction.forms:_GUIDS": using("sub", ("", " 01234567"), ("", f" {GUID}")),
    "msmq_wire.cli.commands.explain:_NUMBER": using("fullmatch", ("MQRR-", "1.", "x"), ("CMQ", "Q", "-1.1")),
    "msmq_wire.replay.rule_table:_ID": "rows stand in tables of the package",
    "msmq_wire.replay.rule_table:_CHECK": "rows stand in tables of the package",
    "msmq_wire.replay.rule_table:_SYMBOL": "rows stand in tables of the package",
    "msmq_wire.records.filter.parser:_SPACE": using("match", ("", " ", "a")),
    "msmq_wire.records.filter.parser:_NAME": using(
        "match", ("a", "[1]", "[1"), ("a[", "1"), ("a", "[0].b", "[")
    ),
    "msmq_wire.cli.help_text:_BETWEEN": using("sub", ("", "[1"), ("[", "1"), ("[1<=x<=", "1")),
    "msmq_wire.cli.help_text:_AT_LEAST": using("sub", ("", "[x>="), ("[x>=", "1")),
    "msmq_wire.detection.call_queues:_SCHEME": using("match", ("", "a"), ("a", "+:/")),
    "msmq_wire.records.filter.parser:_OPERATOR": using("match", ("", "="), ("", "in")),
    "msmq_wire.records.filter.parser:_QUOTED": using("match", ('"', "a"), ("'", '"')),
    "msmq_wire.records.filter.parser:_BARE": using("match", ("", "a")),
    "msmq_wire.records.filter.parser:_LISTED": using("match", ("", "a"), ("", ",")),
    "msmq_wire.records.filter.parser:_HINTED": using("match", ("", "a"), ("", "=")),
    "msmq_wire.records.filter.times:DATE": using("fullmatch", ("", "2026-11-22")),
    "msmq_wire.records.filter.times:TIME_OF_DAY": using("match", ("10:00", ":0", "!")),
    "msmq_wire.records.filter.record_names:_INDEX": using("sub", ("", "[1"), ("[", "1"), ("", "[1]")),
    "msmq_wire.records.filter.times:_CLOCK": using("fullmatch", ("10:00:00.", "1")),
    "msmq_wire.records.filter.times:_MOMENT": using("fullmatch", ("2026-11-22 10:00:00.", "1")),
    "msmq_wire.cli.packet_input:_OFFSET": using("match", ("", " ", "!"), ("0000", " ", "!"), ("", "0")),
    "msmq_wire.cli.packet_input:_PAIRS": using("match", ("", "00 "), ("", "00  ", "0")),
    "msmq_wire.cli.packet_input:_GROUPS": using("match", ("", "0"), ("", "000 ", "0")),
    "msmq_wire.cli.packet_input:_COMMENT": using("sub", ("", "/"), ("", "/#"), ("", "#\n")),
    "msmq_wire.cli.packet_input:_C_NUMBER": using("fullmatch", ("0x", "0"), ("", "'")),
    "msmq_wire.cli.packet_input:_ESCAPE": (using("sub", ("", "\\x0")) + using("findall", ("", "\\x00"))),
    "msmq_wire.cli.packet_input:_SEPARATORS": using("sub", ("", "0x"), ("", " ,"), ("", "0 ")),
    "msmq_wire.cli.packet_input:_HEX": using("fullmatch", ("", "0", "!")),
    "msmq_wire.cli.packet_input:_BASE64": using("fullmatch", ("", "A", "!"), ("A", "=")),
    "msmq_wire.capture.capture_counts:CONNECTION": using(
        "match", ("", ":1"), ("a:", "1"), ("a:1 to b", ":1", "!"), ("", "a:1 to ")
    ),
    "msmq_wire.detection.suricata_options:_PLAIN": "it is asked about one byte",
    "msmq_wire.detection.suricata_rules:_ADDRESS": using("fullmatch", ("", "a", " ")),
    "msmq_wire.report.redaction.forms:_ROOTED": using("sub", ("", "/a"), ("", "/"), ("", " ../"), ("", "a:")),
    "msmq_wire.report.redaction.forms:_QUOTED": using("sub", ("'", "a"), ("'", "\\\\"), ("", "'\"")),
    "msmq_wire.report.redaction.forms:without_paths": "escaped names of files, attacked as a reader below",
    "msmq_wire.report.redaction.cut_numbers:_NUMBER": using("sub", ("", "1"), ("", "12 ")),
    "msmq_wire.report.redaction.cut_numbers:_INDEX": using("fullmatch", ("a[", "1"), ("", "a")),
    "msmq_wire.sealing.ciphers:_CONTROL": using("search", ("", "a")),
    "msmq_wire.cli.reporting:hide_paths": using("search", ("", "a")),
    "msmq_wire.cli.render.table:_DECLARATION": using("match", ("", " ", "!"), ("<?xml", "?"), ("", "<?xml")),
    # A row of a dump has no more of them.
    "msmq_wire.records.tree.tree:_ENDS": using("sub", ("", f"{' ' * 40}\n"), ("", f"{' ' * 40}x")),
    "msmq_wire.cli.spark_session:_MEMORY": using("fullmatch", ("1", "0")),
    "msmq_wire.report.redaction.web_forms:_HEADER_VALUES": using("fullmatch", ("", "0"), ("", "close")),
    "msmq_wire.report.redaction.web_forms:_URL": using(
        "fullmatch", ("http://", "/"), ("http://", "a?#"), ("", "http:")
    ),
    "msmq_wire.report.redaction.web_forms:_HOST": using("fullmatch", ("", "a", "!"), ("a:", "0", "!")),
    "msmq_wire.report.redaction.web_forms:_PATH": using("fullmatch", ("", "/a", "?"), ("/", "a", "?")),
    "msmq_wire.report.redaction.web_forms:_GROUP": using("fullmatch", ("MSMQ:MULTICAST=", "1.")),
    "msmq_wire.report.redaction.web_forms:_GUID": using("fullmatch", ("", GUID)),
    "msmq_wire.report.redaction.web_forms:_STREAM": using("fullmatch", (f"uid:{GUID}\\", "1")),
    "msmq_wire.report.redaction.web_forms:_PART": using("fullmatch", ("cid:body@", GUID)),
    "msmq_wire.report.redaction.web_forms:_MESSAGE": using("fullmatch", (f"{GUID}\\", "1")),
    "msmq_wire.records.filter.subject:_STEP": using("findall", ("", "a."), ("", "[")),
    "msmq_wire.report.redaction.forms:_PLACE": using("fullmatch", ("", "a[0]."), ("", "a", "!")),
    "msmq_wire.report.redaction.forms:_WELL_KNOWN": "an identifier of one of two sizes: nothing repeats",
    "msmq_wire.report.redaction.web_forms:_OTHER_MESSAGE": using(
        "fullmatch", ("uuid:1@", "a"), ("uuid:", "1")
    ),
    "msmq_wire.records.json_values:_STRINGS": using("sub", ("", '"'), ("", '\\"'), ('"', "\\"), ("", '"\\')),
    "msmq_wire.records.srmp_packets:_KNOWN": using("fullmatch", ("", "via"), ("date", "e")),
    "msmq_wire.records.srmp_packets:_VERSION": using("fullmatch", ("", "1.")),
    "msmq_wire.detection.address_scope:_PORT": using("sub", ("", ":1"), ("", ":"), (":", "1")),
    "msmq_wire.detection.address_scope:_NUMBERS": using("fullmatch", ("", "1"), ("", "1."), ("0x", "f")),
    "msmq_wire.tables.store.table_folders:_VERSION": using("match", ("", "0")),
    "msmq_wire.urls:_SECRET_PARAMETER": using("sub", ("", "sig="), ("sig=", "a"), ("x-amz-", "a-")),
    "msmq_wire.detection.rule:_REFERENCE": OURS,
    "msmq_wire.invisible:UNSEEN": (
        using("match", ("", "\x1b")) + using("search", ("", "a")) + using("sub", ("", "\x1b"), ("", "a"))
    ),
    "msmq_wire.replay.rules.answers:_OLD_VERSION": using("fullmatch", ("1", ",1"), ("", "1")),
    "msmq_wire.output:_OWN": using("fullmatch", ("/dev/fd/", "1")),
    "msmq_wire.engines.python_source:nested": OURS,
    "msmq_wire.engines.python_source:Code": OURS,
    "msmq_wire.detection.rules.bod_type:_CONTROL": using("search", ("", "a")),
    "msmq_wire.lab.faults:_NUMBER": using("fullmatch", ("0.", "1"), ("", "1")),
    "msmq_wire.lab.faults:_TIME": using("fullmatch", ("", "1", "ms")),
    "msmq_wire.lab.http_server:_HOST": using("fullmatch", ("[", "1", "!"), ("", "a", "]"), ("a:", "1")),
    "msmq_wire.lab.log:_NUMBER": using("search", ("", "[Errno "), ("[Errno ", "1")),
    "msmq_wire.replay.rules.answers:_GUID": using("fullmatch", ("", GUID)),
    "msmq_wire.replay.rules.answers:_VERSION": using("fullmatch", ("1", ".1")),
    "msmq_wire.replay.rules.answers:_NUMBER": using("fullmatch", ("", "1", "!")),
    "msmq_wire.replay.rules.answers:_COMPUTERS": using(
        "fullmatch", ("", "a,", ","), ("", "0123456789abcde,", " "), ("", "a")
    ),
    "msmq_wire.wire.names.format_name:_GUID": using("fullmatch", ("", GUID)),
    "msmq_wire.wire.names.format_name:_QUEUE_NUMBER": using("fullmatch", ("", "0")),
    "msmq_wire.wire.names.format_name:_PORT": using("fullmatch", ("1", "0")),
    "msmq_wire.wire.names.format_name:_IPX_ADDRESS": using("fullmatch", ("0.", "0")),
    "msmq_wire.wire.names.format_name:_HTTP_ADDRESS": using(
        "fullmatch", ("//", "a", "/msmp"), ("//[", ":", "]"), ("//a:", "0")
    ),
    "msmq_wire.wire.names.format_name:_HTTP_SPLIT": using("fullmatch", ("//", "a"), ("//", "/msmq")),
    "msmq_wire.wire.headers.security_header:_SID_TEXT": using("fullmatch", ("S-1-5", "-1"), ("S-1-5-", "1")),
    "msmq_wire.wire.headers.security_header:_GUID_TEXT": using("fullmatch", ("", GUID), (GUID, "-0000")),
    "msmq_wire.wire.types.direct_queue_format_name:_DIRECTORY": using(
        "sub", ("http://", "a"), ("http://a/", "a"), ("", "http://a/")
    ),
    "msmq_wire.wire.report_message:_LABEL": using(
        "fullmatch", ("a1b2:1:1 received by ", "a"), ("a1b2:1:1 sent from a to ", "b", " at")
    ),
    "msmq_wire.wire.report_message:_TIME": using("fullmatch", ("10:00", ":00"), ("", "1")),
    "msmq_wire.wire.report_message:_BODY": using(
        "fullmatch",
        ("<MESSAGE ID>1</MESSAGE ID>\n<TARGET QUEUE>", "</TARGET QUEUE>"),
        ("<MESSAGE ID>1</MESSAGE ID>\n<TARGET QUEUE>", " "),
        ("<MESSAGE ID>1</MESSAGE ID>\n<TARGET QUEUE>a</TARGET QUEUE>\n<NEXT HOP>", "</NEXT HOP>"),
    ),
    "msmq_wire.wire.names.grammar:_NEVER_IN_A_NAME": using("search", ("a", " ", "a")),
    "msmq_wire.records.bodies.json_text:_TOKEN": using(
        "finditer", ("", '"\\'), ('"', "a"), ("", "[{"), ("", "\\")
    ),
    "msmq_wire.records.bodies.text:_CONTROL": using("search", ("", "a")),
    "msmq_wire.report.finding_section:_FOLDERS": using("split", ("", "/a")),
    "msmq_wire.routing.ldif:_ATTRIBUTE": using("fullmatch", ("a", ";a", "!"), ("", "a", "!")),
    "msmq_wire.routing.ldif:_ESCAPED": using("sub", ("", "\\41", "\\4"), ("", "\\,")),
    "msmq_wire.routing.topology_file:_TOML_STRINGS": using(
        "sub", ("", '"\\"'), ('"', "\\", "\n"), ("", "'\n"), ("", '"\n'), ("", "#")
    ),
    "msmq_wire.routing.topology_file:_TOML_PLACE": using(
        "fullmatch", ("", " (at line 1, column 1", "!"), (" (at line ", "1")
    ),
    "msmq_wire.routing.topology_file:_DIGITS": using("search", ("", "1" * 4299 + "."), ("", "_")),
    "msmq_wire.routing.topology_ldif:_INTEGER": using("fullmatch", ("-", "1")),
    "msmq_wire.routing.topology_names:_GUID": using("fullmatch", ("{", GUID)),
    "msmq_wire.rpc.pdu.decoding:_PATTERN": "eight bytes and any eight behind them: nothing repeats",
    "msmq_wire.capture.listing:_CAPTURE_NAME": using("search", ("", ".pcap1"), (".pcap", "1", "!")),
    "msmq_wire.capture.places:_SCHEME": using("match", ("", "a", "!"), ("", "a:")),
    "msmq_wire.capture.places:_SIGNED": using("search", ("", "?"), ("?", "a")),
    "msmq_wire.tables.store.table_files:FILE_PATH": using("fullmatch", ("part-", "a"), ("", "p")),
    "msmq_wire.tables.store.table_folders:_CHECKPOINT": using("fullmatch", ("", "0")),
    "msmq_wire.urls:_URL": (using("sub", ("", "a."), ("", "a:/"), ("", "ab:/ ")) + using("match", ("", "a"))),
    "msmq_wire.urls:_QUERY": using("search", ("", "a")),
    "msmq_wire.capture.places:_BUCKET": using("match", ("", "a", "!")),
    "msmq_wire.capture.places:_CONTAINER": using("match", ("", "a", "!"), ("abc@", "a", "!")),
    "msmq_wire.capture.places:_HOST": using("match", ("", "a", "!"), ("a:", "0", "!")),
    "msmq_wire.capture.places:_NO_TABLE": using("search", ("", "%"), ("", "%4")),
    "msmq_wire.spark.queries:_LITERALS": using(
        "sub", ("", "/*a"), ("'", "\\'"), ('"', '\\"'), ("", "'`"), ("", "r'"), ("", "--")
    ),
    "msmq_wire.spark.queries:_WRITING": using(
        "search", ("", "insert "), ("update", " ", "a"), ("", "update a "), ("update ", "a")
    ),
    "msmq_wire.spark.queries:query_problem": (using("search", ("", "(")) + using("match", ("", "a"))),
    "msmq_wire.spark.read_options:_FRACTION": (
        using("search", ("", "T10:00:00")) + using("sub", ("T10:00:00.", "1", "!"))
    ),
    "msmq_wire.spark.java:_VERSION": using("search", ("", 'version "1.'), ('version "', "1")),
    "msmq_wire.spark.session:_CALLED": using(
        "sub", ("", "An error occurred while calling "), ("An error occurred while calling a", " ")
    ),
    "msmq_wire.spark.session:_CLASS": using("sub", ("", "a."), ("", "a"), ("", "a.b:"), ("a.", "b", ":")),
    "msmq_wire.spark.session:_RAISED": using("findall", ("", "a", "!"), ("", "a.\n")),
    "msmq_wire.spark.session:_ENDED": using(
        "search",
        ("", "Exception in thread "),
        ("", "Error occurred during \n"),
        ("Exception in thread ", "a"),
    ),
    "msmq_wire.spark.table_views:_GLOB": using("sub", ("", "*")),
    "msmq_wire.spark.table_views:_loads": using("findall", ("", "a ")),
    "msmq_wire.spec:_CAPITALS_THEN_WORD": using("sub", ("", "A"), ("", "AAa")),
    "msmq_wire.spec:_WORD_THEN_CAPITAL": using("sub", ("", "aA")),
    "msmq_wire.srmp.building:_URL": using("fullmatch", ("http://", "a", " ")),
    "msmq_wire.detection.rules.frm_sig:_PREAMBLES": using(
        "match", ("GET ", "a"), ("GET ", "HTTP"), ("", "P")
    ),
    "msmq_wire.srmp.xml.element_tree:_DECLARED": using(
        "match", ("", " "), ("<?xml ", " "), ("<?xml ", " encoding="), ("<?xml encoding='", "a")
    ),
    "msmq_wire.srmp.xml.element_tree:_READ": "names of codecs of Python",
    "msmq_wire.records.srmp_content:_MSMQ": using("match", ("", "/msmq/")),
    "msmq_wire.srmp.http.message:_START_LINE": using(
        "match", ("GET ", " HTTP/1.1"), ("GET ", "a"), ("HTTP/1.1 200 ", "a", "\r\r")
    ),
    "msmq_wire.srmp.http.message:_SEARCHED": using(
        "search", ("", "GET "), ("", "GET /" + "a" * 2040 + " "), ("", "HTTP/1.1 200 "), ("GET ", "GET/")
    ),
    "msmq_wire.cli.commands.explain:_SECTION": using("fullmatch", ("MS", "a", "!"), ("MSA-", "1.", "!")),
    "msmq_wire.detection.diagnosis.digest:_NAME": "titles of rules",
    "msmq_wire.detection.diagnosis.digest:_action": "what a rule says to do",
    "msmq_wire.detection.diagnosis.digest:_addressed": "what a rule says to do",
    "msmq_wire.detection.diagnosis.delivery_failures:in_plural": "reasons of the package",
    "msmq_wire.detection.rules.bod_type:_PLAIN": using(
        "fullmatch", ("", "a\0", "\1"), ("", "a", "\1"), ("", "\0", "\1")
    ),
    "msmq_wire.records.capture_names:_PARTS": using("split", ("", "a-"), ("", "-")),
    "msmq_wire.records.capture_names:short_names": using("split", ("", "/")),
    "msmq_wire.report.links:_UNSAFE": using("sub", ("", "!"), ("", "a!")),
    "msmq_wire.report.totals:_PLAIN": using("fullmatch", ("", "a", '"')),
    "msmq_wire.srmp.http.chunks:_SIZE": using("fullmatch", ("0;", " ", "\n"), ("0", " ", "!"), ("0;", "\r")),
    "msmq_wire.srmp.http.grammar:_START": using(
        "match", ("", "a"), ("GET ", "a"), ("HTTP/1.1 200 ", "a", "\0"), ("HTTP/1.1 200 ", "\r")
    ),
    "msmq_wire.srmp.http.grammar:_FIELDS": using(
        "match",
        ("", "a:b\r\n"),
        ("a:", "b\r\n\t", "\0"),
        ("a:", "\n ", "\0"),
        ("", "a"),
        ("a:b\n", "c:", "\0"),
    ),
    "msmq_wire.srmp.http.grammar:_WHOLE_FIELD": using("match", ("", "\n "), ("", "a")),
    "msmq_wire.srmp.http.grammar:_FOLD": using("sub", ("", "\r\n "), ("", "\r"), ("\n", " ")),
    "msmq_wire.srmp.http.grammar:_LENGTH": using("fullmatch", ("", "1")),
    "msmq_wire.srmp.http.message:_BEGINNING": using("match", ("GET ", " ")),
    "msmq_wire.srmp.http.message:_TO_MSMQ": using("search", ("", "/msmq")),
    "msmq_wire.srmp.http.message:_SRMP_HEADER": using(
        "search",
        ("", "\nContent-Type:   multipart/related;"),
        ("\nSOAPAction:", " ", "!"),
        ("\nContent-Type:multipart/related;", "boundary="),
    ),
    "msmq_wire.srmp.mime:_PARAMETER": using(
        "finditer",
        (";", " ", "!"),
        (";a", " ", "!"),
        ("", "; a"),
        (';a="', "\\"),
        ("", ';a="'),
        (";a=", " ", '"'),
    ),
    "msmq_dissect.images.vmdk:_EXTENT": using("match", ('RW 1 FLAT "', "a"), ("RW ", "1")),
    "msmq_wire.srmp.mime:_QUOTED_PAIR": using("sub", ("", "\\")),
    "msmq_wire.srmp.mime:_LINE_REST": using("match", ("", " ", "!"), ("", "\t", "\r")),
    "msmq_wire.srmp.mime:_HEADERS_END": using("search", ("", "\r\n\r"), ("", "\r")),
    "msmq_wire.srmp.mime:_EMPTY_LINE": using("match", ("", "\r")),
    "msmq_wire.capture.rings:_DIGITS": using("sub", ("", "1"), ("", "a"), ("", "1a")),
    "msmq_wire.capture.rings:_last_of_pcap": "no more than the last MiB of a file is looked through",
    "msmq_wire.capture.rings:_last_of_pcapng": "no more than the last MiB of a file is looked through",
    "msmq_wire.detection.diagnosis.naming:_PLACE": using(
        "fullmatch", ("frame", " "), ("id", "1"), ("frame 1 of ", " ", "\n")
    ),
    "msmq_wire.records.queue_names:_DIRECT": using(
        "fullmatch",
        ("DIRECT=OS:", "a"),
        ("DIRECT=OS:a\\", "private$", "\\"),
        ("DIRECT=TCP:a\\PRIVATE$\\", "q", "\\"),
    ),
    "msmq_wire.records.queue_names:_HTTP": using(
        "fullmatch",
        ("DIRECT=http://", "a"),
        ("DIRECT=http://a", "/msmq"),
        ("DIRECT=https://a/msmq/private$/", "q", "/"),
    ),
    "msmq_wire.records.queue_names:_GUID": using("sub", ("", "0"), ("", "00000000-"), ("", GUID[:-1])),
    "msmq_wire.srmp.mime:_DIGITS": using("fullmatch", ("", "1")),
    "msmq_wire.srmp.mime:_FIELD_NAME": using("fullmatch", ("", "a")),
    "msmq_wire.srmp.mime:_BOUNDARY": using("fullmatch", ("a", " ")),
    "msmq_wire.srmp.rules:MESSAGE_ID": (
        using("fullmatch", ("uuid:", "1")) + using("match", ("uuid:1@", GUID))
    ),
    "msmq_wire.srmp.rules:_STREAM_ID": using("fullmatch", (f"uid:{GUID}\\", "1")),
    "msmq_wire.srmp.xml.fields:_NUMBER": using("fullmatch", ("+", "0", "!"), ("", "1")),
    "msmq_wire.srmp.xml.fields:_DATE": using("fullmatch", ("20261122T", "0")),
    "msmq_wire.srmp.xml.fields:GUID": using("fullmatch", ("", GUID)),
    "msmq_wire.srmp.xml.writer:_ILLEGAL": using("search", ("", "a")),
    "msmq_wire.srmp.xml.writer:_name": using("search", ("", "a")),
    "msmq_wire.wire.musts:_NO_MEANING": OURS,
    "msmq_wireshark.install:_VERSION": "what tshark says of its own version",
    "msmq_wire.cli.health:_TSHARK_VERSION": "what tshark says of its own version",
    "msmq_wire.cli.health:_LUA_VERSION": "what tshark says of its own version",
    "msmq_wireshark.lua_expressions:_nested": OURS,
    "msmq_wireshark.tshark:_DROPPED": "what dumpcap says of its own counters",
}


@functools.cache
def _trees() -> Mapping[str, ast.Module]:
    """The modules that use regular expressions, by name."""
    found = {}
    for folder, root in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text("utf-8")
            assert "from re import" not in text
            if "import re\n" in text:
                found[".".join(path.relative_to(root).with_suffix("").parts)] = ast.parse(text)
    return found


def _sites() -> Iterator[tuple[str, ast.Call]]:
    """Every pattern: its module and the name that is bound to it, or the definition that uses it."""
    for module, tree in _trees().items():
        for statement in tree.body:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement
            target = getattr(target, "target", target)
            name = getattr(target, "id", getattr(target, "name", ""))
            for node in ast.walk(statement):
                match node:
                    case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attr)) if (
                        attr in METHODS or attr == "compile"
                    ):
                        yield f"{module}:{name}", node


def _patterns(key: str) -> list[re.Pattern[Any]]:
    """The patterns that a key of the table is about."""
    module, _, name = key.partition(":")
    found = getattr(importlib.import_module(module), name)
    if isinstance(found, re.Pattern):
        return [found]
    if isinstance(found, Mapping):
        return list(found.values())
    return [re.compile(ast.literal_eval(call.args[0])) for site, call in _sites() if site == key]


@pytest.mark.slow
def test_every_pattern_is_in_the_table_and_nothing_else() -> None:
    assert {key for key, _ in _sites()} == set(HOSTILE)


@pytest.mark.slow
def test_a_pattern_is_attacked_as_it_is_used() -> None:
    used: dict[str, set[str]] = {}
    for module, tree in _trees().items():
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in METHODS:
                    used.setdefault(f"{module}:{name}", set()).add(attr)
    for key, attacks in HOSTILE.items():
        if not isinstance(attacks, str):
            assert used.get(key, set()) <= {one.method for one in attacks}, key


ATTACKS = [
    pytest.param(key, attack, id=f"{key}-{attack.method}-{number}")
    for key, attacks in HOSTILE.items()
    if not isinstance(attacks, str)
    for number, attack in enumerate(attacks)
]


def _seconds(function: Callable[[], object]) -> float:
    gc.disable()
    try:
        begun = time.thread_time()
        function()
        return time.thread_time() - begun
    finally:
        gc.enable()


def _grows_with_the_text(give: Callable[[int], Callable[[], object]]) -> None:
    """Fail where eight times the text take 24 times as long, or more; ``give`` makes a call for a size.

    Linear time takes 8 times as long and time that grows with the square 64 times: 24 is about three times
    away from either, which a busy machine and memory that is slow do not reach.
    """
    size = 512
    while size < MOST and _seconds(give(size)) < LONG:
        size *= 4 if size < MOST >> 4 else 2
    # What else runs on the machine adds to a time and takes nothing away: the least of several counts.
    shorter = longer = float("inf")
    for _ in range(4):
        shorter, longer = min(shorter, _seconds(give(size))), min(longer, _seconds(give(TIMES * size)))
        if longer < 3 * TIMES * max(shorter, LONG):
            return
        # In time that grows with the square, so much text would take hours; it is memory that is slow here.
        if size >= MOST and longer < HARMLESS:
            return
    pytest.fail(f"{size} characters take {shorter:.2f} s, {TIMES} times as many {longer:.2f} s")


@pytest.mark.check
@pytest.mark.parametrize(("key", "attack"), ATTACKS)
def test_hostile_text_takes_a_pattern_linear_time(key: str, attack: Attack) -> None:
    for pattern in _patterns(key):
        arguments = [""] if attack.method == "sub" else []
        if isinstance(pattern.pattern, bytes):
            arguments = [b"" for _ in arguments]  # type: ignore[misc]  # for a pattern of bytes

        def give(size: int, pattern: re.Pattern[Any] = pattern, arguments: list[Any] = arguments) -> Any:
            text: Any = attack.text(size)
            if isinstance(pattern.pattern, bytes):
                text = text.encode("latin-1")
            use = getattr(pattern, attack.method)
            return lambda: (
                list(use(*arguments, text) or ()) if attack.method == "finditer" else use(*arguments, text)
            )

        _grows_with_the_text(give)


def _refusing(function: Callable[[str], object]) -> Callable[[str], object]:
    def call(text: str) -> None:
        with contextlib.suppress(MsmqWireError, ValueError):
            function(text)

    return call


_SRMP_ROOT = (
    '<se:Envelope xmlns:se="http://schemas.xmlsoap.org/soap/envelope/" '
    'xmlns="http://schemas.xmlsoap.org/srmp/">'
)


def _carved(data: bytes) -> None:
    carver = Carver()
    carver.feed(data)
    carver.finish()


READERS: Mapping[str, tuple[Callable[[str], object], tuple[Attack, ...]]] = {
    "sentence with paths": (
        lambda text: without_paths(text, {"/a/b": "file 1", "/a/b/c": "file 2", "a" * 64: "file 3"}),
        meets(("", "a"), ("", "/a/b"), ("", "/a/b/"), ("", " /a/b"), ("'", "/a/b")),
    ),
    "filter": (
        compile_filter,
        meets(
            ("id == 1", " or id == 1"),
            ("", "not "),
            ("", "("),
            ("label ~ '", "a"),
            ("label ~ ", "a"),
            ("label", " ", "!"),
            ("a", "[1]"),
            ("", "a."),
            ("id == ", "1"),
            ("id == 0x", "f"),
            ("host == ", "1."),
            ("host == ", "1:"),
            ("host == 1.1.1.1/", "1"),
            ("time > 2026-11-22 ", "10:"),
            ("time > ", "2026-"),
            ("type == ", "a|"),
            ("status == ", "MQ_"),
        ),
    ),
    "format name": (
        FormatName.parse,
        meets(
            ("", "FormatName:"),
            ("DIRECT=", "OS:"),
            ("DIRECT=OS:", "a", "\\q"),
            ("DIRECT=OS:a\\", "private$\\"),
            ("DIRECT=OS:a\\q", ";"),
            ("DIRECT=OS:a\\q", ";journal"),
            ("DIRECT=HTTP://", "/msmq"),
            ("DIRECT=HTTP://a:", "0"),
            ("DIRECT=HTTP://[", ":"),
            ("DIRECT=TCP:", "1."),
            ("DIRECT=SPX:", "0."),
            ("PRIVATE=", "0-"),
            (f"PRIVATE={GUID}\\", "0"),
            (f"DL={GUID}@", "a."),
            ("MULTICAST=", "1."),
            ("MULTICAST=1.1.1.1:", "1"),
            ("", "=", "\ud800"),
        ),
    ),
    "format names": (parse_multiple, meets(("", "DIRECT=OS:a\\q,"), ("", ","), ("", "DL=,"))),
    "path name": (PathName.parse, meets(("a", "\\q"), ("a\\private$\\", "a"), ("a\\q", ";journal"))),
    "packet": (
        lambda text: read_packet_input(text.encode("ascii")),
        meets(
            ("{", "/*a"),
            ("{", "/*/"),
            ("{", "/"),
            ("{", "/**/"),
            ("{", "1,", "}"),
            ("{", " ", "}"),
            ("", "{"),
            ("", "\\x"),
            ("", "\\x00"),
            ("0000 ", "00 "),
            ("0000  00\n", "*\n"),
            ("", "0000 00\n"),
            ("", "0001 00\n"),
            ("", "#\n"),
            ("", "0x0 "),
            ("", " ", "!"),
            ("", "A="),
            ("", "AA"),
        ),
    ),
    "SQL": (query_problem, meets(("select ", "/*a"), ("select '", "\\'"), ("", "(;"))),
    "Content-Type": (
        parse_content_type,
        meets(("a;", " "), ("", '; a="'), ('a;b="', "\\"), ("", "; a=b"), ("", "; a" + "b" * 63)),
    ),
    "multipart": (
        lambda text: parse_multipart("multipart/related; boundary=b", text.encode("ascii")),
        meets(
            ("", "--b\r\n"),
            ("--b", " "),
            ("", "--b "),
            ("", "--b\r\na:b\r\n"),
            ("--b\r\n", "a: b\r\n"),
            ("", "\r\n--b\r\nContent-Length: 99999999\r\n\r\n"),
        ),
    ),
    "start line": (
        lambda text: find_start_line(text.encode("ascii")),
        meets(("", "GET /a HTTP/1.1"), ("", "POST "), ("", "HTTP/1.1 200 ")),
    ),
    "HTTP message": (
        lambda text: parse_message(text.encode("ascii")),
        meets(
            ("", "\r\n"),
            ("GET / HTTP/1.1\r\n", "a: b\r\n", "\r\n"),
            ("GET / HTTP/1.1\r\na: b\r\n", " c\r\n", "\r\n"),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n"),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "0"),
        ),
    ),
    "carved bytes": (
        lambda text: _carved(text.encode("ascii")),
        meets(
            ("", "LIOR"),
            ("", "<se:Envelope schemas.xmlsoap.org/soap/envelope/"),
            ("", _SRMP_ROOT),
            ("", f"--b\r\nContent-Type: text/xml\r\n\r\n{_SRMP_ROOT}</se:Envelope>"),
            ("POST /msmq/q HTTP/1.1\r\n\r\n", f"{_SRMP_ROOT}</se:Envelope>"),
        ),
    ),
    "topology": (
        lambda text: parse_topology(text.encode("ascii")),
        meets(
            ("dn: a\n", " a\n"),
            ("dn: cn=", "\\41"),
            ("dn: ", "a=b,"),
            ("", "dn: a\n\n"),
            ("a = '", "#"),
            ("{", '"a'),
        ),
    ),
    "body": (
        lambda text: open_body(text.encode("ascii"), None),
        meets(("<?xml ", "<a>"), ("{", '"\\'), ("", "[{"), ("<a>", "&"), ("", "a")),
    ),
    "terminal": (escaped, meets(("", "\x1b[0m"), ("", "\u202e"))),
}


@pytest.mark.check
@pytest.mark.parametrize(
    ("reader", "attack"),
    [
        pytest.param(name, attack, id=f"{name}-{number}")
        for name, (_, attacks) in READERS.items()
        for number, attack in enumerate(attacks)
    ],
)
def test_hostile_text_takes_a_reader_linear_time(reader: str, attack: Attack) -> None:
    read = _refusing(READERS[reader][0])

    def give(size: int) -> Callable[[], object]:
        text = attack.text(size)
        return lambda: read(text)

    _grows_with_the_text(give)


@pytest.mark.parametrize("reader", READERS)
def test_hostile_text_is_read_or_refused_in_words(reader: str) -> None:
    function, attacks = READERS[reader]
    for attack in attacks:
        _refusing(function)(attack.text(300))
