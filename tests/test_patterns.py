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
from typing import Any, NamedTuple

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


def meets(begin: str, again: str, end: str = "") -> Attack:
    """What a reader meets, which is a function."""
    return Attack("", begin, again, end)


GUID = "01234567-89ab-cdef-0123-456789abcdef"
OURS = "declarations of the package"
HOSTILE: Mapping[str, str | tuple[Attack, ...]] = {
    "msmq_wire.capture.carve.envelopes:_ROOT": (
        Attack("match", "<", "a"),
        Attack("match", "", "<a:Envelope"),
    ),
    "msmq_wire.capture.carve.envelopes:_PART_HEAD": (
        Attack("match", "--", "a"),
        Attack("match", "--a\n", "b\n"),
        Attack("match", "--a\n\n<?xml ", " "),
    ),
    "msmq_wire.capture.carve.envelopes:_REQUEST_HEAD": (
        Attack("search", "", "\r\n\r\n"),
        Attack("search", "", "\n\n<?xml >"),
    ),
    "msmq_wire.capture.carve.envelopes:_XML": (
        Attack("search", "", "\nContent-Type:  "),
        Attack("search", "", "\n"),
    ),
    "msmq_wire.capture.carve.envelopes:_CLOSING": (
        Attack("finditer", "", "</se:Envelope "),
        Attack("finditer", "", "</se:"),
        Attack("finditer", "</", "a"),
    ),
    "msmq_wire.capture.carve.offsets:_SEPARATOR": (Attack("split", "", " "), Attack("split", "", " ,a")),
    "msmq_wire.capture.carve.offsets:_NUMBER": (Attack("fullmatch", "0x", "0"), Attack("fullmatch", "", "1")),
    "msmq_wire.capture.carve.storage:_FILE": (Attack("fullmatch", "p", "0", "!"),),
    "msmq_wire.capture.carve.storage:_TRANSACTIONS": (Attack("fullmatch", "mqtrans.", "a", "\n"),),
    "msmq_wire.cli.body_files:_OTHER": (Attack("sub", "", "a."),),
    "msmq_wire.report.redaction.forms:_ANOTHER_HOST": (Attack("search", "", "/a"),),
    "msmq_wire.report.redaction.forms:_WEB_HOSTED": (
        Attack("fullmatch", "http://", "a"),
        Attack("fullmatch", "", "http:"),
    ),
    "msmq_wire.report.redaction.forms:_LONG_HOSTED": (
        Attack("fullmatch", "OS:", "a"),
        Attack("fullmatch", "OS:", "/"),
    ),
    "msmq_wire.report.redaction.forms:_HOSTED": (
        Attack("fullmatch", "", "/"),
        Attack("fullmatch", "DIRECT=", "/", "a"),
        Attack("fullmatch", "", "a"),
        Attack("fullmatch", "", "a/"),
    ),
    "msmq_wire.report.redaction.forms:_name": (Attack("split", "", "?"), Attack("split", "", "a")),
    "msmq_wire.report.redaction.forms:_BY_GUID": (
        Attack("fullmatch", f"PUBLIC={GUID}", ";"),
        Attack("fullmatch", f"PUBLIC={GUID};JOURNAL", ";JOURNAL", "\n"),
    ),
    "msmq_wire.cli.commands.route:_KEYWORD": (
        Attack("match", "formatname:", "a", "!"),
        Attack("match", "", "formatname:"),
    ),
    "msmq_wire.report.redaction.forms:_GUIDS": (
        Attack("sub", "", " 01234567"),
        Attack("sub", "", f" {GUID}"),
    ),
    "msmq_wire.cli.commands.explain:_NUMBER": (
        Attack("fullmatch", "MQRR-", "1.", "x"),
        Attack("fullmatch", "CMQ", "Q", "-1.1"),
    ),
    "msmq_wire.replay.rule_table:_ID": "rows stand in tables of the package",
    "msmq_wire.replay.rule_table:_CHECK": "rows stand in tables of the package",
    "msmq_wire.replay.rule_table:_SYMBOL": "rows stand in tables of the package",
    "msmq_wire.records.filter.parser:_SPACE": (Attack("match", "", " ", "a"),),
    "msmq_wire.records.filter.parser:_NAME": (
        Attack("match", "a", "[1]", "[1"),
        Attack("match", "a[", "1"),
        Attack("match", "a", "[0].b", "["),
    ),
    "msmq_wire.cli.help_text:_BETWEEN": (
        Attack("sub", "", "[1"),
        Attack("sub", "[", "1"),
        Attack("sub", "[1<=x<=", "1"),
    ),
    "msmq_wire.cli.help_text:_AT_LEAST": (Attack("sub", "", "[x>="), Attack("sub", "[x>=", "1")),
    "msmq_wire.findings.call_queues:_SCHEME": (Attack("match", "", "a"), Attack("match", "a", "+:/")),
    "msmq_wire.records.filter.parser:_OPERATOR": (Attack("match", "", "="), Attack("match", "", "in")),
    "msmq_wire.records.filter.parser:_QUOTED": (Attack("match", '"', "a"), Attack("match", "'", '"')),
    "msmq_wire.records.filter.parser:_BARE": (Attack("match", "", "a"),),
    "msmq_wire.records.filter.parser:_LISTED": (Attack("match", "", "a"), Attack("match", "", ",")),
    "msmq_wire.records.filter.parser:_HINTED": (Attack("match", "", "a"), Attack("match", "", "=")),
    "msmq_wire.records.filter.times:DATE": (Attack("fullmatch", "", "2026-11-22"),),
    "msmq_wire.records.filter.times:TIME_OF_DAY": (Attack("match", "10:00", ":0", "!"),),
    "msmq_wire.records.filter.record_names:_INDEX": (
        Attack("sub", "", "[1"),
        Attack("sub", "[", "1"),
        Attack("sub", "", "[1]"),
    ),
    "msmq_wire.records.filter.times:_CLOCK": (Attack("fullmatch", "10:00:00.", "1"),),
    "msmq_wire.records.filter.times:_MOMENT": (Attack("fullmatch", "2026-11-22 10:00:00.", "1"),),
    "msmq_wire.cli.packet_input:_OFFSET": (
        Attack("match", "", " ", "!"),
        Attack("match", "0000", " ", "!"),
        Attack("match", "", "0"),
    ),
    "msmq_wire.cli.packet_input:_PAIRS": (Attack("match", "", "00 "), Attack("match", "", "00  ", "0")),
    "msmq_wire.cli.packet_input:_GROUPS": (Attack("match", "", "0"), Attack("match", "", "000 ", "0")),
    "msmq_wire.cli.packet_input:_COMMENT": (
        Attack("sub", "", "/"),
        Attack("sub", "", "/#"),
        Attack("sub", "", "#\n"),
    ),
    "msmq_wire.cli.packet_input:_C_NUMBER": (Attack("fullmatch", "0x", "0"), Attack("fullmatch", "", "'")),
    "msmq_wire.cli.packet_input:_ESCAPE": (Attack("sub", "", "\\x0"), Attack("findall", "", "\\x00")),
    "msmq_wire.cli.packet_input:_SEPARATORS": (
        Attack("sub", "", "0x"),
        Attack("sub", "", " ,"),
        Attack("sub", "", "0 "),
    ),
    "msmq_wire.cli.packet_input:_HEX": (Attack("fullmatch", "", "0", "!"),),
    "msmq_wire.cli.packet_input:_BASE64": (Attack("fullmatch", "", "A", "!"), Attack("fullmatch", "A", "=")),
    "msmq_wire.cli.read_counts:_CONNECTION": (
        Attack("match", "", ":1"),
        Attack("match", "a:", "1"),
        Attack("match", "a:1 to b", ":1", "!"),
        Attack("match", "", "a:1 to "),
    ),
    "msmq_wire.findings.suricata_options:_PLAIN": "it is asked about one byte",
    "msmq_wire.findings.suricata_rules:_ADDRESS": (Attack("fullmatch", "", "a", " "),),
    "msmq_wire.report.redaction.forms:_ROOTED": (
        Attack("sub", "", "/a"),
        Attack("sub", "", "/"),
        Attack("sub", "", " ../"),
        Attack("sub", "", "a:"),
    ),
    "msmq_wire.report.redaction.forms:_QUOTED": (
        Attack("sub", "'", "a"),
        Attack("sub", "'", "\\\\"),
        Attack("sub", "", "'\""),
    ),
    "msmq_wire.report.redaction.forms:without_paths": "escaped names of files, attacked as a reader below",
    "msmq_wire.report.redaction.cut_numbers:_NUMBER": (Attack("sub", "", "1"), Attack("sub", "", "12 ")),
    "msmq_wire.report.redaction.cut_numbers:_INDEX": (
        Attack("fullmatch", "a[", "1"),
        Attack("fullmatch", "", "a"),
    ),
    "msmq_wire.sealing.ciphers:_CONTROL": (Attack("search", "", "a"),),
    "msmq_wire.cli.reporting:hide_paths": (Attack("search", "", "a"),),
    "msmq_wire.cli.render.table:_DECLARATION": (
        Attack("match", "", " ", "!"),
        Attack("match", "<?xml", "?"),
        Attack("match", "", "<?xml"),
    ),
    # A row of a dump has no more of them.
    "msmq_wire.cli.render.tree:_ENDS": (
        Attack("sub", "", f"{' ' * 40}\n"),
        Attack("sub", "", f"{' ' * 40}x"),
    ),
    "msmq_wire.cli.spark_session:_MEMORY": (Attack("fullmatch", "1", "0"),),
    "msmq_wire.report.redaction.web_forms:_HEADER_VALUES": (
        Attack("fullmatch", "", "0"),
        Attack("fullmatch", "", "close"),
    ),
    "msmq_wire.report.redaction.web_forms:_URL": (
        Attack("fullmatch", "http://", "/"),
        Attack("fullmatch", "http://", "a?#"),
        Attack("fullmatch", "", "http:"),
    ),
    "msmq_wire.report.redaction.web_forms:_HOST": (
        Attack("fullmatch", "", "a", "!"),
        Attack("fullmatch", "a:", "0", "!"),
    ),
    "msmq_wire.report.redaction.web_forms:_PATH": (
        Attack("fullmatch", "", "/a", "?"),
        Attack("fullmatch", "/", "a", "?"),
    ),
    "msmq_wire.report.redaction.web_forms:_GROUP": (Attack("fullmatch", "MSMQ:MULTICAST=", "1."),),
    "msmq_wire.report.redaction.web_forms:_GUID": (Attack("fullmatch", "", GUID),),
    "msmq_wire.report.redaction.web_forms:_STREAM": (Attack("fullmatch", f"uid:{GUID}\\", "1"),),
    "msmq_wire.report.redaction.web_forms:_PART": (Attack("fullmatch", "cid:body@", GUID),),
    "msmq_wire.report.redaction.web_forms:_MESSAGE": (Attack("fullmatch", f"{GUID}\\", "1"),),
    "msmq_wire.records.filter.subject:_STEP": (Attack("findall", "", "a."), Attack("findall", "", "[")),
    "msmq_wire.report.redaction.forms:_PLACE": (
        Attack("fullmatch", "", "a[0]."),
        Attack("fullmatch", "", "a", "!"),
    ),
    "msmq_wire.report.redaction.forms:_WELL_KNOWN": "an identifier of one of two sizes: nothing repeats",
    "msmq_wire.report.redaction.web_forms:_OTHER_MESSAGE": (
        Attack("fullmatch", "uuid:1@", "a"),
        Attack("fullmatch", "uuid:", "1"),
    ),
    "msmq_wire.records.srmp_packets:_KNOWN": (
        Attack("fullmatch", "", "via"),
        Attack("fullmatch", "date", "e"),
    ),
    "msmq_wire.records.srmp_packets:_VERSION": (Attack("fullmatch", "", "1."),),
    "msmq_wire.findings.address_scope:_PORT": (
        Attack("sub", "", ":1"),
        Attack("sub", "", ":"),
        Attack("sub", ":", "1"),
    ),
    "msmq_wire.findings.address_scope:_NUMBERS": (
        Attack("fullmatch", "", "1"),
        Attack("fullmatch", "", "1."),
        Attack("fullmatch", "0x", "f"),
    ),
    "msmq_wire.tables.store.table_folders:_VERSION": (Attack("match", "", "0"),),
    "msmq_wire.urls:_NAMED": (
        Attack("sub", "", "sig="),
        Attack("sub", "sig=", "a"),
        Attack("sub", "x-amz-", "a-"),
    ),
    "msmq_wire.findings.rule:_REFERENCE": OURS,
    "msmq_wire.invisible:UNSEEN": (
        Attack("match", "", "\x1b"),
        Attack("search", "", "a"),
        Attack("sub", "", "\x1b"),
        Attack("sub", "", "a"),
    ),
    "msmq_wire.replay.rules.answers:_OLD_VERSION": (
        Attack("fullmatch", "1", ",1"),
        Attack("fullmatch", "", "1"),
    ),
    "msmq_wire.output:_OWN": (Attack("fullmatch", "/dev/fd/", "1"),),
    "msmq_wire.engines.python_source:nested": OURS,
    "msmq_wire.engines.python_source:Code": OURS,
    "msmq_wire.findings.rules.bod_type:_CONTROL": (Attack("search", "", "a"),),
    "msmq_wire.lab.faults:_NUMBER": (Attack("fullmatch", "0.", "1"), Attack("fullmatch", "", "1")),
    "msmq_wire.lab.faults:_TIME": (Attack("fullmatch", "", "1", "ms"),),
    "msmq_wire.lab.http_server:_HOST": (
        Attack("fullmatch", "[", "1", "!"),
        Attack("fullmatch", "", "a", "]"),
        Attack("fullmatch", "a:", "1"),
    ),
    "msmq_wire.lab.log:_NUMBER": (Attack("search", "", "[Errno "), Attack("search", "[Errno ", "1")),
    "msmq_wire.lab.srmp_message:_ID": (
        Attack("fullmatch", "uuid:1@", "0"),
        Attack("fullmatch", "uuid:", "1"),
    ),
    "msmq_wire.replay.rules.answers:_GUID": (Attack("fullmatch", "", GUID),),
    "msmq_wire.replay.rules.answers:_VERSION": (Attack("fullmatch", "1", ".1"),),
    "msmq_wire.replay.rules.answers:_NUMBER": (Attack("fullmatch", "", "1", "!"),),
    "msmq_wire.replay.rules.answers:_COMPUTERS": (
        Attack("fullmatch", "", "a,", ","),
        Attack("fullmatch", "", "0123456789abcde,", " "),
        Attack("fullmatch", "", "a"),
    ),
    "msmq_wire.wire.names.format_name:_GUID": (Attack("fullmatch", "", GUID),),
    "msmq_wire.wire.names.format_name:_QUEUE_NUMBER": (Attack("fullmatch", "", "0"),),
    "msmq_wire.wire.names.format_name:_PORT": (Attack("fullmatch", "1", "0"),),
    "msmq_wire.wire.names.format_name:_IPX_ADDRESS": (Attack("fullmatch", "0.", "0"),),
    "msmq_wire.wire.names.format_name:_HTTP_ADDRESS": (
        Attack("fullmatch", "//", "a", "/msmp"),
        Attack("fullmatch", "//[", ":", "]"),
        Attack("fullmatch", "//a:", "0"),
    ),
    "msmq_wire.wire.names.format_name:_HTTP_SPLIT": (
        Attack("fullmatch", "//", "a"),
        Attack("fullmatch", "//", "/msmq"),
    ),
    "msmq_wire.wire.types.direct_queue_format_name:_DIRECTORY": (
        Attack("sub", "http://", "a"),
        Attack("sub", "http://a/", "a"),
        Attack("sub", "", "http://a/"),
    ),
    "msmq_wire.wire.names.grammar:_NEVER_IN_A_NAME": (Attack("search", "a", " ", "a"),),
    "msmq_wire.records.bodies.json_text:_TOKEN": (
        Attack("finditer", "", '"\\'),
        Attack("finditer", '"', "a"),
        Attack("finditer", "", "[{"),
        Attack("finditer", "", "\\"),
    ),
    "msmq_wire.records.bodies.text:_CONTROL": (Attack("search", "", "a"),),
    "msmq_wire.report.finding_section:_FOLDERS": (Attack("split", "", "/a"),),
    "msmq_wire.routing.ldif:_ATTRIBUTE": (
        Attack("fullmatch", "a", ";a", "!"),
        Attack("fullmatch", "", "a", "!"),
    ),
    "msmq_wire.routing.ldif:_ESCAPED": (Attack("sub", "", "\\41", "\\4"), Attack("sub", "", "\\,")),
    "msmq_wire.routing.topology_file:_TOML_STRINGS": (
        Attack("sub", "", '"\\"'),
        Attack("sub", '"', "\\", "\n"),
        Attack("sub", "", "'\n"),
        Attack("sub", "", '"\n'),
        Attack("sub", "", "#"),
    ),
    "msmq_wire.routing.topology_file:_TOML_PLACE": (
        Attack("fullmatch", "", " (at line 1, column 1", "!"),
        Attack("fullmatch", " (at line ", "1"),
    ),
    "msmq_wire.routing.topology_file:_DIGITS": (
        Attack("search", "", "1" * 4299 + "."),
        Attack("search", "", "_"),
    ),
    "msmq_wire.routing.topology_ldif:_INTEGER": (Attack("fullmatch", "-", "1"),),
    "msmq_wire.routing.topology_names:_GUID": (Attack("fullmatch", "{", GUID),),
    "msmq_wire.rpc.pdu.decoding:_PATTERN": "eight bytes and any eight behind them: nothing repeats",
    "msmq_wire.capture.listing:_CAPTURE_NAME": (
        Attack("search", "", ".pcap1"),
        Attack("search", ".pcap", "1", "!"),
    ),
    "msmq_wire.capture.places:_SCHEME": (Attack("match", "", "a", "!"), Attack("match", "", "a:")),
    "msmq_wire.capture.places:_SIGNED": (Attack("search", "", "?"), Attack("search", "?", "a")),
    "msmq_wire.tables.store.table_files:FILE_PATH": (
        Attack("fullmatch", "part-", "a"),
        Attack("fullmatch", "", "p"),
    ),
    "msmq_wire.tables.store.table_folders:_CHECKPOINT": (Attack("fullmatch", "", "0"),),
    "msmq_wire.urls:_URL": (
        Attack("sub", "", "a."),
        Attack("sub", "", "a:/"),
        Attack("sub", "", "ab:/ "),
        Attack("match", "", "a"),
    ),
    "msmq_wire.urls:_QUERY": (Attack("search", "", "a"),),
    "msmq_wire.capture.places:_BUCKET": (Attack("match", "", "a", "!"),),
    "msmq_wire.capture.places:_NO_TABLE": (Attack("search", "", "%"), Attack("search", "", "%4")),
    "msmq_wire.spark.queries:_LITERALS": (
        Attack("sub", "", "/*a"),
        Attack("sub", "'", "\\'"),
        Attack("sub", '"', '\\"'),
        Attack("sub", "", "'`"),
        Attack("sub", "", "r'"),
        Attack("sub", "", "--"),
    ),
    "msmq_wire.spark.queries:_WRITING": (
        Attack("search", "", "insert "),
        Attack("search", "update", " ", "a"),
        Attack("search", "", "update a "),
        Attack("search", "update ", "a"),
    ),
    "msmq_wire.spark.queries:query_problem": (Attack("search", "", "("), Attack("match", "", "a")),
    "msmq_wire.spark.read_options:_FRACTION": (
        Attack("search", "", "T10:00:00"),
        Attack("sub", "T10:00:00.", "1", "!"),
    ),
    "msmq_wire.spark.java:_VERSION": (
        Attack("search", "", 'version "1.'),
        Attack("search", 'version "', "1"),
    ),
    "msmq_wire.spark.session:_CALLED": (
        Attack("sub", "", "An error occurred while calling "),
        Attack("sub", "An error occurred while calling a", " "),
    ),
    "msmq_wire.spark.session:_CLASS": (
        Attack("sub", "", "a."),
        Attack("sub", "", "a"),
        Attack("sub", "", "a.b:"),
        Attack("sub", "a.", "b", ":"),
    ),
    "msmq_wire.spark.session:_RAISED": (Attack("findall", "", "a", "!"), Attack("findall", "", "a.\n")),
    "msmq_wire.spark.session:_ENDED": (
        Attack("search", "", "Exception in thread "),
        Attack("search", "", "Error occurred during \n"),
        Attack("search", "Exception in thread ", "a"),
    ),
    "msmq_wire.spark.table_views:_GLOB": (Attack("sub", "", "*"),),
    "msmq_wire.spark.table_views:register_views": (Attack("findall", "", "a "),),
    "msmq_wire.spec:_CAPITALS_THEN_WORD": (Attack("sub", "", "A"), Attack("sub", "", "AAa")),
    "msmq_wire.spec:_WORD_THEN_CAPITAL": (Attack("sub", "", "aA"),),
    "msmq_wire.srmp.building:_URL": (Attack("fullmatch", "http://", "a", " "),),
    "msmq_wire.findings.rules.frm_sig:_PREAMBLES": (
        Attack("match", "GET ", "a"),
        Attack("match", "GET ", "HTTP"),
        Attack("match", "", "P"),
    ),
    "msmq_wire.srmp.xml.element_tree:_DECLARED": (
        Attack("match", "", " "),
        Attack("match", "<?xml ", " "),
        Attack("match", "<?xml ", " encoding="),
        Attack("match", "<?xml encoding='", "a"),
    ),
    "msmq_wire.srmp.xml.element_tree:_READ": "names of codecs of Python",
    "msmq_wire.records.srmp_content:_MSMQ": (Attack("match", "", "/msmq/"),),
    "msmq_wire.srmp.http.message:_START_LINE": (
        Attack("match", "GET ", " HTTP/1.1"),
        Attack("match", "GET ", "a"),
        Attack("match", "HTTP/1.1 200 ", "a", "\r\r"),
    ),
    "msmq_wire.srmp.http.message:_SEARCHED": (
        Attack("search", "", "GET "),
        Attack("search", "", "GET /" + "a" * 2040 + " "),
        Attack("search", "", "HTTP/1.1 200 "),
        Attack("search", "GET ", "GET/"),
    ),
    "msmq_wire.cli.commands.explain:_SECTION": (
        Attack("fullmatch", "MS", "a", "!"),
        Attack("fullmatch", "MSA-", "1.", "!"),
    ),
    "msmq_wire.findings.diagnosis.digest:_NAME": "titles of rules",
    "msmq_wire.findings.diagnosis.digest:_action": "what a rule says to do",
    "msmq_wire.findings.diagnosis.digest:_addressed": "what a rule says to do",
    "msmq_wire.findings.diagnosis.delivery_failures:of_several": "reasons of the package",
    "msmq_wire.findings.rules.bod_type:_PLAIN": (
        Attack("fullmatch", "", "a\0", "\1"),
        Attack("fullmatch", "", "a", "\1"),
        Attack("fullmatch", "", "\0", "\1"),
    ),
    "msmq_wire.records.capture_names:_PARTS": (Attack("split", "", "a-"), Attack("split", "", "-")),
    "msmq_wire.records.capture_names:short_names": (Attack("split", "", "/"),),
    "msmq_wire.report.links:_UNSAFE": (Attack("sub", "", "!"), Attack("sub", "", "a!")),
    "msmq_wire.report.totals:_PLAIN": (Attack("fullmatch", "", "a", '"'),),
    "msmq_wire.srmp.http.message:_QUOTED": (
        Attack("sub", "", "b'"),
        Attack("sub", "", "bytearray("),
        Attack("sub", "b'", "a"),
    ),
    "msmq_wire.srmp.http.message:_BEGINNING": (Attack("match", "GET ", " "),),
    "msmq_wire.srmp.http.message:_TO_MSMQ": (Attack("search", "", "/msmq"),),
    "msmq_wire.srmp.http.message:_SRMP_HEADER": (
        Attack("search", "", "\nContent-Type:   multipart/related;"),
        Attack("search", "\nSOAPAction:", " ", "!"),
        Attack("search", "\nContent-Type:multipart/related;", "boundary="),
    ),
    "msmq_wire.srmp.mime:_PARAMETER": (
        Attack("finditer", ";", " ", "!"),
        Attack("finditer", ";a", " ", "!"),
        Attack("finditer", "", "; a"),
        Attack("finditer", ';a="', "\\"),
        Attack("finditer", "", ';a="'),
        Attack("finditer", ";a=", " ", '"'),
    ),
    "msmq_dissect.images.vmdk:_EXTENT": (Attack("match", 'RW 1 FLAT "', "a"), Attack("match", "RW ", "1")),
    "msmq_wire.srmp.mime:_QUOTED_PAIR": (Attack("sub", "", "\\"),),
    "msmq_wire.srmp.mime:_LINE_REST": (Attack("match", "", " ", "!"), Attack("match", "", "\t", "\r")),
    "msmq_wire.srmp.mime:_HEADERS_END": (Attack("search", "", "\r\n\r"), Attack("search", "", "\r")),
    "msmq_wire.srmp.mime:_EMPTY_LINE": (Attack("match", "", "\r"),),
    "msmq_wire.capture.rings:_DIGITS": (
        Attack("sub", "", "1"),
        Attack("sub", "", "a"),
        Attack("sub", "", "1a"),
    ),
    "msmq_wire.capture.rings:_last_of_pcap": "no more than the last MiB of a file is looked through",
    "msmq_wire.capture.rings:_last_of_pcapng": "no more than the last MiB of a file is looked through",
    "msmq_wire.findings.diagnosis.naming:_PLACE": (
        Attack("fullmatch", "frame", " "),
        Attack("fullmatch", "id", "1"),
        Attack("fullmatch", "frame 1 of ", " ", "\n"),
    ),
    "msmq_wire.records.queue_names:_DIRECT": (
        Attack("fullmatch", "DIRECT=OS:", "a"),
        Attack("fullmatch", "DIRECT=OS:a\\", "private$", "\\"),
        Attack("fullmatch", "DIRECT=TCP:a\\PRIVATE$\\", "q", "\\"),
    ),
    "msmq_wire.records.queue_names:_HTTP": (
        Attack("fullmatch", "DIRECT=http://", "a"),
        Attack("fullmatch", "DIRECT=http://a", "/msmq"),
        Attack("fullmatch", "DIRECT=https://a/msmq/private$/", "q", "/"),
    ),
    "msmq_wire.records.queue_names:_GUID": (
        Attack("sub", "", "0"),
        Attack("sub", "", "00000000-"),
        Attack("sub", "", GUID[:-1]),
    ),
    "msmq_wire.srmp.mime:_DIGITS": (Attack("fullmatch", "", "1"),),
    "msmq_wire.srmp.mime:_FIELD_NAME": (Attack("fullmatch", "", "a"),),
    "msmq_wire.srmp.mime:_BOUNDARY": (Attack("fullmatch", "a", " "),),
    "msmq_wire.srmp.rules:MESSAGE_ID": (Attack("fullmatch", "uuid:", "1"), Attack("match", "uuid:1@", GUID)),
    "msmq_wire.srmp.rules:_STREAM_ID": (Attack("fullmatch", f"uid:{GUID}\\", "1"),),
    "msmq_wire.srmp.xml.fields:_NUMBER": (Attack("fullmatch", "+", "0", "!"), Attack("fullmatch", "", "1")),
    "msmq_wire.srmp.xml.fields:_DATE": (Attack("fullmatch", "20261122T", "0"),),
    "msmq_wire.srmp.xml.fields:GUID": (Attack("fullmatch", "", GUID),),
    "msmq_wire.srmp.xml.writer:_ILLEGAL": (Attack("search", "", "a"),),
    "msmq_wire.srmp.xml.writer:_name": (Attack("search", "", "a"),),
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
        (meets("", "a"), meets("", "/a/b"), meets("", "/a/b/"), meets("", " /a/b"), meets("'", "/a/b")),
    ),
    "filter": (
        compile_filter,
        (
            meets("id == 1", " or id == 1"),
            meets("", "not "),
            meets("", "("),
            meets("label ~ '", "a"),
            meets("label ~ ", "a"),
            meets("label", " ", "!"),
            meets("a", "[1]"),
            meets("", "a."),
            meets("id == ", "1"),
            meets("id == 0x", "f"),
            meets("host == ", "1."),
            meets("host == ", "1:"),
            meets("host == 1.1.1.1/", "1"),
            meets("time > 2026-11-22 ", "10:"),
            meets("time > ", "2026-"),
            meets("type == ", "a|"),
            meets("status == ", "MQ_"),
        ),
    ),
    "format name": (
        FormatName.parse,
        (
            meets("", "FormatName:"),
            meets("DIRECT=", "OS:"),
            meets("DIRECT=OS:", "a", "\\q"),
            meets("DIRECT=OS:a\\", "private$\\"),
            meets("DIRECT=OS:a\\q", ";"),
            meets("DIRECT=OS:a\\q", ";journal"),
            meets("DIRECT=HTTP://", "/msmq"),
            meets("DIRECT=HTTP://a:", "0"),
            meets("DIRECT=HTTP://[", ":"),
            meets("DIRECT=TCP:", "1."),
            meets("DIRECT=SPX:", "0."),
            meets("PRIVATE=", "0-"),
            meets(f"PRIVATE={GUID}\\", "0"),
            meets(f"DL={GUID}@", "a."),
            meets("MULTICAST=", "1."),
            meets("MULTICAST=1.1.1.1:", "1"),
            meets("", "=", "\ud800"),
        ),
    ),
    "format names": (
        parse_multiple,
        (meets("", "DIRECT=OS:a\\q,"), meets("", ","), meets("", "DL=,")),
    ),
    "path name": (
        PathName.parse,
        (meets("a", "\\q"), meets("a\\private$\\", "a"), meets("a\\q", ";journal")),
    ),
    "packet": (
        lambda text: read_packet_input(text.encode("ascii")),
        (
            meets("{", "/*a"),
            meets("{", "/*/"),
            meets("{", "/"),
            meets("{", "/**/"),
            meets("{", "1,", "}"),
            meets("{", " ", "}"),
            meets("", "{"),
            meets("", "\\x"),
            meets("", "\\x00"),
            meets("0000 ", "00 "),
            meets("0000  00\n", "*\n"),
            meets("", "0000 00\n"),
            meets("", "0001 00\n"),
            meets("", "#\n"),
            meets("", "0x0 "),
            meets("", " ", "!"),
            meets("", "A="),
            meets("", "AA"),
        ),
    ),
    "SQL": (
        query_problem,
        (meets("select ", "/*a"), meets("select '", "\\'"), meets("", "(;")),
    ),
    "Content-Type": (
        parse_content_type,
        (
            meets("a;", " "),
            meets("", '; a="'),
            meets('a;b="', "\\"),
            meets("", "; a=b"),
            meets("", "; a" + "b" * 63),
        ),
    ),
    "multipart": (
        lambda text: parse_multipart("multipart/related; boundary=b", text.encode("ascii")),
        (
            meets("", "--b\r\n"),
            meets("--b", " "),
            meets("", "--b "),
            meets("", "--b\r\na:b\r\n"),
            meets("--b\r\n", "a: b\r\n"),
            meets("", "\r\n--b\r\nContent-Length: 99999999\r\n\r\n"),
        ),
    ),
    "start line": (
        lambda text: find_start_line(text.encode("ascii")),
        (meets("", "GET /a HTTP/1.1"), meets("", "POST "), meets("", "HTTP/1.1 200 ")),
    ),
    "HTTP message": (
        lambda text: parse_message(text.encode("ascii")),
        (
            meets("", "\r\n"),
            meets("GET / HTTP/1.1\r\n", "a: b\r\n", "\r\n"),
            meets("GET / HTTP/1.1\r\na: b\r\n", " c\r\n", "\r\n"),
            meets("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n"),
            meets("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "0"),
        ),
    ),
    "carved bytes": (
        lambda text: _carved(text.encode("ascii")),
        (
            meets("", "LIOR"),
            meets("", "<se:Envelope schemas.xmlsoap.org/soap/envelope/"),
            meets("", _SRMP_ROOT),
            meets("", f"--b\r\nContent-Type: text/xml\r\n\r\n{_SRMP_ROOT}</se:Envelope>"),
            meets("POST /msmq/q HTTP/1.1\r\n\r\n", f"{_SRMP_ROOT}</se:Envelope>"),
        ),
    ),
    "topology": (
        lambda text: parse_topology(text.encode("ascii")),
        (
            meets("dn: a\n", " a\n"),
            meets("dn: cn=", "\\41"),
            meets("dn: ", "a=b,"),
            meets("", "dn: a\n\n"),
            meets("a = '", "#"),
            meets("{", '"a'),
        ),
    ),
    "body": (
        lambda text: open_body(text.encode("ascii"), None),
        (
            meets("<?xml ", "<a>"),
            meets("{", '"\\'),
            meets("", "[{"),
            meets("<a>", "&"),
            meets("", "a"),
        ),
    ),
    "terminal": (escaped, (meets("", "\x1b[0m"), meets("", "\u202e"))),
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
