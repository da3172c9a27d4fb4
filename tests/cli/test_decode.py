"""``msmq-wire decode``: rows, ids, filters, redaction, and how every bad file ends."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import msgspec
import pytest

from msmq_wire import build_message, encode, fit
from msmq_wire.wire.headers.security_header import SecurityData, SecurityHeader
from tests.cli.conftest import is_refused
from tests.effort import share

Run = Callable[..., Any]
Read = Callable[[str], bytes]
Make = Callable[..., Path]


def rows(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_jsonl_has_one_row_an_item_in_order_of_completion(run: Run, capture: Path) -> None:
    status, out, err = run("decode", capture, "--format", "jsonl")
    found = rows(out)
    assert status == 0
    assert [(row["id"], row["type"], row["frames"]) for row in found] == [
        (1, "ping", [1]),
        # The second is the step that begins in the middle of a connection.
        (3, "user_message", [2]),
        (4, "user_message", [3, 4]),
    ]
    assert found[2]["time"] == "2023-11-14T22:13:23.500000000Z"
    assert found[2]["src"] == "192.0.2.1:1025"
    assert found[2]["capture"] == str(capture)
    assert err == "5 frames read, 1 skipped\n"
    counted = "5 frames read, 4 understood, 1 skipped (1 TCP, not MSMQ); 1 ping, 2 user_message\n"
    assert run("decode", capture, "--format", "jsonl", "-v") == (status, out, counted)


def test_the_tree_begins_with_one_line_a_packet(run: Run, capture: Path) -> None:
    out = run("decode", capture, "--quiet").out
    assert (
        "#4  2023-11-14 22:13:23.500000Z  192.0.2.1:1025 → 192.0.2.20:1801  user_message  "
        'DIRECT=OS:a04bm02\\q  "mqsender label"  2224 bytes  via tcp  frames 3, 4'
    ) in out.splitlines()


def test_ids_run_on_through_all_files(
    run: Run, capture: Path, make_capture: Make, packet_bytes: Read
) -> None:
    other = make_capture(packet_bytes("user_message/direct_destination"))
    status, out, err = run("decode", capture, other, "--format", "jsonl")
    assert status == 0
    assert [(row["id"], Path(row["capture"]).name) for row in rows(out)] == [
        (1, "traffic.pcap"),
        (3, "traffic.pcap"),
        (4, "traffic.pcap"),
        (6, "made.pcap"),
    ]
    assert err.startswith("6 frames read, 1 skipped")


def test_filters_and_ids_must_all_match(run: Run, capture: Path) -> None:
    def ids(*arguments: str) -> list[int]:
        status, out, _ = run("decode", capture, "--format", "jsonl", *arguments)
        assert status == 0
        return [row["id"] for row in rows(out)]

    assert ids("--filter", "type == user_message") == [3, 4]
    assert ids("--filter", "type == user_message", "--filter", "label ~ mqsender") == [4]
    assert ids("--id", "1", "--id", "3") == [1, 3]
    assert ids("--id", "2") == [2]
    assert ids("--id", "1", "--filter", "type == user_message") == []


def test_redaction_blanks_what_was_asked_for_and_keeps_lengths(run: Run, capture: Path) -> None:
    plain = rows(run("decode", capture, "--format", "jsonl").out)
    status, out, _ = run(
        "decode", capture, "--format", "jsonl", "--redact", "bodies,labels", "--redact", "hosts"
    )
    assert status == 0
    for secret in ("192.0.2.1", "mqsender", "a04bm02", "557358d1", "YQBhAGEA"):
        assert secret not in out
    for before, after in zip(plain, rows(out), strict=True):
        assert [after[key] for key in ("id", "type", "offset", "length", "consumed", "time")] == [
            before[key] for key in ("id", "type", "offset", "length", "consumed", "time")
        ]
    last = rows(out)[2]
    assert last["src"] == "host-1:1025"
    assert last["dst"] == "host-2:1801"
    assert last["packet"]["message_properties_header"]["label"] == "x" * 14
    assert last["packet"]["user_header"]["destination_queue"]["format_name"] == "DIRECT=OS:xxxxxxx\\q"


def test_redaction_comes_after_filtering(run: Run, capture: Path) -> None:
    out = run(
        "decode", capture, "--format", "jsonl", "--redact", "labels", "--filter", "label ~ mqsender"
    ).out
    assert [row["id"] for row in rows(out)] == [4]


def test_redacted_trees_hold_no_secret_even_with_bytes(run: Run, capture: Path) -> None:
    out = run("decode", capture, "--hex", "--redact", "bodies,labels,hosts", "--body-limit", "0").out
    for secret in ("192.0.2.1", "mqsender", "a04bm02", "557358d1", "d1 58 73 55", "6d 00 71 00", "61 00 61"):
        assert secret not in out


def test_gzip_and_standard_input_are_read(run: Run, capture: Path, tmp_path: Path) -> None:
    packed = tmp_path / "traffic.pcap.gz"
    packed.write_bytes(gzip.compress(capture.read_bytes()))
    from_gzip = run("decode", packed, "--format", "jsonl")
    assert (from_gzip.status, len(rows(from_gzip.out))) == (0, 3)


def test_a_capture_without_msmq_is_one_line_and_status_1(run: Run, make_capture: Make) -> None:
    path = make_capture()
    status, out, err = run("decode", path, "-q")
    assert (status, out) == (1, "")
    assert err == f"msmq-wire: {path}: no MSMQ traffic in 0 frames\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"This is a letter to my aunt.\n", "is text"),
        (bytes(100), "neither pcap nor pcapng"),
    ],
)
def test_what_is_no_capture_is_one_line_and_status_1(
    run: Run, tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    status, out, err = run("decode", path)
    assert (status, out) == (1, "")
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["missing", "file/below"])
def test_a_path_that_cannot_be_opened_is_one_line_and_status_1(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"x")
    status, out, err = run("decode", tmp_path / name)
    assert (status, out) == (1, "")
    assert err.startswith("msmq-wire: cannot open")
    assert err.count("\n") == 1


def test_a_file_that_fails_does_not_stop_the_next_one(run: Run, tmp_path: Path, capture: Path) -> None:
    status, out, err = run("decode", tmp_path / "missing", capture, "--format", "jsonl")
    assert status == 1
    assert [row["id"] for row in rows(out)] == [1, 3, 4]
    assert "cannot open" in err


def test_a_capture_cut_in_its_first_header_is_an_error_row_and_status_1(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xd4\xc3\xb2\xa1\x02\x00")
    status, out, err = run("decode", path, "--format", "jsonl")
    (row,) = map(json.loads, out.splitlines())
    assert (status, row["type"]) == (1, "error")
    assert "cut" in err.splitlines()[0]


def test_a_cut_capture_gives_everything_before_the_cut_and_status_1(run: Run, capture: Path) -> None:
    whole = capture.read_bytes()
    capture.write_bytes(whole[:-5])
    status, out, err = run("decode", capture, "--format", "jsonl")
    assert status == 1
    assert [row["type"] for row in rows(out)] == ["ping", "user_message", "user_message", "error"]
    assert err.count("\n") == 2
    assert "cut" in err.splitlines()[0]


def test_packets_that_are_cut_are_status_0(run: Run, make_capture: Make, packet_bytes: Read) -> None:
    path = make_capture(packet_bytes("user_message/frame_7_completed_synthetic")[:1400])
    status, out, _ = run("decode", path, "--format", "jsonl")
    assert status == 0
    assert rows(out)[0]["error"]["code"] == "missing-bytes"


def test_a_hostile_file_name_stays_on_its_line(run: Run, tmp_path: Path) -> None:
    _, _, err = run("decode", tmp_path / "a\x1b[2J\nb")
    assert "\x1b" not in err
    assert err.count("\n") == 1


def test_a_hostile_label_does_not_leave_its_json_line(
    run: Run, make_capture: Make, packet_bytes: Read
) -> None:
    data = packet_bytes("user_message/frame_7_completed_synthetic")
    label = "\u2028\u202e\x85\x9b\x1b\x7f\ud800".encode("utf-16-le", "surrogatepass").ljust(28, b"a")
    path = make_capture(data[:192] + label + data[220:])
    out = run("decode", path, "--format", "jsonl").out
    assert not set(out) & set("\u2028\u202e\x85\x9b\x1b\x7f")
    assert rows(out)[0]["packet"]["message_properties_header"]["label"].startswith(
        "\u2028\u202e\x85\x9b\x1b\x7f\ufffd"
    )


def test_a_port_can_be_added(run: Run, tmp_path: Path, make_capture: Make, packet_bytes: Read) -> None:
    path = make_capture(packet_bytes("user_message/direct_destination"))
    data = path.read_bytes().replace(struct.pack(">HH", 1025, 1801), struct.pack(">HH", 1025, 9999))
    path.write_bytes(data)
    out = run("decode", path, "--port", "9999", "--format", "jsonl").out
    assert [row["type"] for row in rows(out)] == ["user_message"]
    assert run("decode", path, "--port", "70000").status == 2


def test_steps_of_connections_are_found_where_there_is_no_packet(run: Run) -> None:
    captures = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
    status, out, _ = run("decode", captures / "path_syn_refused.pcap", "--streams", "--format", "jsonl")
    assert (status, {json.loads(line)["type"] for line in out.splitlines()}) == (0, {"tcp_stream"})
    status, out, err = run("decode", captures / "path_syn_refused.pcap")
    assert (status, out) == (1, "")
    assert "--streams" in err


@pytest.mark.slow
@pytest.mark.parametrize("closed", share([">&-", "2>&-", ">&- 2>&-", "<&-"], 2))
def test_a_closed_standard_stream_is_no_traceback(capture: Path, closed: str) -> None:
    code = "import sys; from msmq_wire.cli.app import main; sys.exit(main(sys.argv[1:]))"
    command = f'"{sys.executable}" -c "{code}" decode "{capture}" {closed}'
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in ended.stderr
    assert ended.returncode == 0


_WITH_A_BAR_AT_ONCE = """
import sys
from msmq_wire.cli import progress
from msmq_wire.cli.app import main
progress._PATIENCE = progress._REFRESH = 0.001
sys.exit(main(sys.argv[1:]))
"""


def _on_a_terminal(capture: Path, stdout: IO[bytes] | None = None) -> bytes:
    """What decode writes on a terminal, with a bar at once; rows go to ``stdout``, or there, too."""
    terminal, other = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _WITH_A_BAR_AT_ONCE, "decode", str(capture), "--format", "jsonl"],
        stdout=other if stdout is None else stdout,
        stderr=other,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(other)
    seen = b""
    # Who waits for ever is killed, and is no success.
    patience = threading.Timer(120, process.kill)
    patience.start()
    # A terminal that nobody has open any more ends in an error or in nothing.
    with contextlib.suppress(OSError):
        while chunk := os.read(terminal, 4096):
            seen += chunk
    os.close(terminal)
    status = process.wait()
    patience.cancel()
    assert status == 0
    return seen


@pytest.mark.slow
def test_the_bar_is_on_the_terminal_and_the_rows_are_where_they_were_sent(
    make_capture: Make, packet_bytes: Read, tmp_path: Path
) -> None:
    capture = make_capture(*[packet_bytes("user_message/direct_destination")] * 2000)
    rows = tmp_path / "rows.jsonl"
    with rows.open("wb") as stdout:
        seen = _on_a_terminal(capture, stdout)
    assert b"made.pcap" in seen
    assert b'"id"' not in seen
    assert len(rows.read_text().splitlines()) == 2000


@pytest.mark.slow
def test_on_one_terminal_the_bar_makes_room_for_every_row(make_capture: Make, packet_bytes: Read) -> None:
    seen = _on_a_terminal(make_capture(*[packet_bytes("user_message/direct_destination")] * 300))
    # Each row is whole, whatever was cleared before it.
    found = re.findall(r'(\{"id":.*\})\r\n', seen.decode())
    assert [json.loads(one)["type"] for one in found] == ["user_message"] * 300


def test_the_summary_says_how_many_items_were_chosen(run: Run, capture: Path) -> None:
    assert "2 of 3 items shown" in run("decode", capture, "--filter", "type == user_message").err
    assert "1 of 3 items shown" in run("decode", capture, "--id", "2").err
    assert "shown" not in run("decode", capture).err


def test_a_filter_looks_into_the_body_of_a_message_that_came_over_http(
    run: Run, make_capture: Make, packet_bytes: Read
) -> None:
    path = make_capture(packet_bytes("user_message/golden_srmp_origin_2380"))
    assert run("messages", path, "--filter", "body").err.endswith("1 of 1 message shown\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["decode", "x", "--format", "jsonl", "--hex"],
        ["decode", "x", "--format", "jsonl", "--body-limit", "512"],
        ["packet", "x", "--format", "json", "--hex"],
    ],
)
def test_an_option_that_changes_nothing_is_refused(run: Run, arguments: list[str]) -> None:
    is_refused(run(*arguments), "changes nothing in --format json")


def test_a_zone_says_what_the_times_of_a_filter_mean_in_every_format(run: Run, capture: Path) -> None:
    arguments = ("--format", "jsonl", "--timezone", "Europe/Berlin", "--filter")
    assert len(rows(run("decode", capture, *arguments, "time == 23:13").out)) == 3
    assert rows(run("decode", capture, *arguments, "time == 22:13").out) == []


def test_a_packet_that_is_not_known_is_a_row_and_no_damage(
    run: Run, make_capture: Make, packet_bytes: Read
) -> None:
    data = bytearray(packet_bytes("establish_connection/refused"))
    # InternalHeader.Flags: PT 9 is no kind of packet.
    data[18] = 9
    status, out, err = run("decode", make_capture(bytes(data)), "--format", "jsonl")
    assert [row["type"] for row in rows(out)] == ["unknown_packet"]
    assert status == 0
    assert "damaged" not in err


_QUEUE = "DIRECT=OS:srv01\\private$\\orders"
_HEADERS = (
    b"<ArrayOfHeaderInfo><HeaderInfo><Key>NServiceBus.MessageId</Key><Value>8f1c-2c0e</Value></HeaderInfo>"
    b"<HeaderInfo><Key>Tenant</Key><Value>north\n\xe2\x80\xae</Value></HeaderInfo></ArrayOfHeaderInfo>"
)
_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def _tree(run: Run, path: Path, *arguments: object) -> list[str]:
    """The lines of a tree from the extension, or the body, on; guides and offsets are left out."""
    status, out, _ = run("decode", path, "--quiet", *arguments)
    assert status == 0
    lines = [re.sub("^ *[0-9]* {2}[│├└─ ]*", "", line).rstrip() for line in out.splitlines()]
    starts = (at for at, line in enumerate(lines) if line.startswith(("extension_data", "message_body")))
    return [line for line in lines[next(starts) :] if line]


def _words(lines: list[str]) -> list[str]:
    return [" ".join(line.split()) for line in lines]


def test_xml_is_laid_out_below_its_body(run: Run, make_capture: Make) -> None:
    path = make_capture(encode(build_message(_QUEUE, b"<order><id>17</id><lines><line/></lines></order>")))
    lines = _tree(run, path)
    assert _words(lines[:1]) == ["message_body 48 bytes UTF-8 XML"]
    assert lines[1:] == ["<order>", "<id>17</id>", "<lines>", "<line/>", "</lines>", "</order>"]


def test_json_is_laid_out_within_the_body_limit(run: Run, make_capture: Make) -> None:
    path = make_capture(encode(build_message(_QUEUE, b'{"id":17,"lines":[1,2]}')))
    assert _tree(run, path)[1:] == ["{", '"id": 17,', '"lines": [', "1,", "2", "]", "}"]
    assert _tree(run, path, "--body-limit", 14)[1:] == [
        "{",
        '"id": 17,',
        "… 31 more characters; --body-limit 0 shows all",
    ]


def test_headers_of_a_library_stand_with_the_body_and_not_as_bytes(run: Run, make_capture: Make) -> None:
    path = make_capture(encode(build_message(_QUEUE, b"<order/>", extension=_HEADERS)))
    assert _words(_tree(run, path)) == [
        f"extension_data {len(_HEADERS)} bytes headers of NServiceBus",
        "message_body 8 bytes UTF-8 XML, NServiceBus",
        "header NServiceBus.MessageId: 8f1c-2c0e",
        "header Tenant: north\\n\\u202e",
        "text",
        "<order/>",
    ]


def test_headers_without_a_body_are_shown_as_text(run: Run, make_capture: Make) -> None:
    path = make_capture(encode(build_message(_QUEUE, b"", extension=_HEADERS)))
    lines = _words(_tree(run, path, "--body-limit", 0))
    assert "<Key>NServiceBus.MessageId</Key>" in lines


def test_an_extension_that_is_text_is_shown_as_text(run: Run, make_capture: Make) -> None:
    path = make_capture(encode(build_message(_QUEUE, b"<a/>", extension=b"not a list of headers")))
    assert _words(_tree(run, path))[:2] == ["extension_data 21 bytes UTF-8 text", "not a list of headers"]


def test_a_binary_formatter_body_says_what_it_holds(run: Run, make_capture: Make) -> None:
    text = (_FIXTURES / "bodies" / "binary_formatter_call.hex").read_text(encoding="utf-8")
    body = bytes.fromhex(" ".join(line.partition("#")[0] for line in text.splitlines()))
    lines = _words(_tree(run, make_capture(encode(build_message(_QUEUE, body)))))
    assert lines[0] == "message_body 373 bytes .NET BinaryFormatter"
    assert "method DOJRemotingMetadata.MyServer.SendAddress" in lines
    assert (
        "class DOJRemotingMetadata.Address { Street: String, City: String, State: String, Zip: String }"
    ) in lines
    assert "string Redmond" in lines
    assert lines[lines.index("bytes") + 1].startswith("00 01 00 00")


def test_a_framed_body_says_where_it_went(run: Run, make_capture: Make) -> None:
    body = b"\0\1\0\1\3\2\x0enet.msmq://srv\3\7\6\4V\2\x0b\1\x07"
    lines = _words(_tree(run, make_capture(encode(build_message(_QUEUE, body)))))
    assert lines[:6] == [
        f"message_body {len(body)} bytes .NET message framing, WCF",
        "mode simplex",
        "via net.msmq://srv",
        "encoding SOAP 1.2, binary XML",
        "envelope 4 bytes",
        "bytes",
    ]


def test_an_encrypted_body_says_how_it_is_encrypted_and_no_text(run: Run, make_capture: Make) -> None:
    message = build_message(_QUEUE, b"<cipher/>")
    properties = message.message_properties_header
    assert properties is not None
    key = bytes.fromhex("01020000 10660000 00a40000") + bytes(128)
    security = SecurityHeader(security_data=SecurityData(encryption_key=key))
    message = msgspec.structs.replace(
        message,
        message_properties_header=msgspec.structs.replace(
            properties, privacy_level=5, encryption_algorithm=0x6610
        ),
        security_header=security.with_bits(eb=1, ai=1, de=1, st=0),
    )
    path = make_capture(encode(fit(message)))
    assert _words(_tree(run, path)) == [
        "message_body 9 bytes encrypted",
        "privacy_level AES (0x5)",
        "encryption_algorithm AES_256 (0x6610)",
        "provider Microsoft Enhanced RSA and AES Cryptographic Provider",
        "encryption_key 140 bytes",
        "key_algorithm AES_256 (0x6610)",
    ]
    assert "3c 63 69 70 68 65 72 2f 3e" in run("decode", path, "--hex").out


def test_names_that_a_sender_chose_look_like_no_fields(run: Run, make_capture: Make) -> None:
    body = json.dumps(
        {
            "messageType": ["urn:message:a"],
            "message": {},
            "headers": {"encryption_key": "none", "x" * 300: "\x1b[2J"},
        }
    )
    lines = _words(_tree(run, make_capture(encode(build_message(_QUEUE, body.encode())))))
    assert lines[0].endswith("UTF-8 JSON, MassTransit")
    assert "header encryption_key: none" in lines
    assert f"header {'x' * 300}: \\x1b[2J" in lines


def test_many_details_are_counted(run: Run, make_capture: Make) -> None:
    pairs = b"".join(b"<HeaderInfo><Key>k%d</Key><Value/></HeaderInfo>" % n for n in range(60))
    extension = b"<ArrayOfHeaderInfo>" + pairs + b"</ArrayOfHeaderInfo>"
    path = make_capture(encode(build_message(_QUEUE, b"<a/>", extension=extension)))
    lines = _words(_tree(run, path))
    assert sum(line.startswith("header ") for line in lines) == 40
    assert "... 20 more; --hex shows all" in lines


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_details_fit_the_terminal(
    run: Run, make_capture: Make, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    extension = _HEADERS.replace(b"8f1c-2c0e", b"long " * 90)
    body = b"<order>" + b"<line>text of a line</line>" * 9 + b"</order>"
    path = make_capture(encode(build_message(_QUEUE, body, extension=extension)))
    monkeypatch.setattr("msmq_wire.cli.render.screen.Screen._width", lambda screen: columns)
    lines = run("decode", path, "--quiet").out.splitlines()
    assert max(map(len, lines)) <= columns
    assert sum("<line>" in line for line in lines) == 9


def test_redacted_bodies_leave_neither_details_nor_text(run: Run, make_capture: Make) -> None:
    path = make_capture(encode(build_message(_QUEUE, b"<order/>", extension=_HEADERS)))
    out = run("decode", path, "--redact", "bodies", "--body-limit", "0").out
    assert "message_body" in out
    assert all(secret not in out for secret in ("order/", "8f1c", "north", "NServiceBus", "Tenant"))


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ((), True),
        (("--id", "1"), False),
        (("-v",), False),
        (("--hex",), False),
        (("--format", "tree"), False),
    ],
)
def test_a_packet_has_one_line_on_a_terminal_and_all_fields_where_they_are_asked_for(
    run: Run, capture: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], *, lines: bool
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    out = run("decode", capture, "--color", "never", *arguments).out
    assert (" flags " not in out) is lines
    assert (len(out.splitlines()) == 4) is lines
