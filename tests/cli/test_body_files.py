"""Bodies as files and their index: names, what was there before, and a thousand of them."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire import build_message, encode
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.writer import write_pcap
from msmq_wire.cli.body_files import BodyFiles, file_name_part
from msmq_wire.errors import CaptureError
from msmq_wire.records.bodies import EncryptedBody
from msmq_wire.records.message_body import MessageBody, message_body
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage, SrmpPart
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.srmp.elements.envelope import SrmpEnvelope, SrmpHeader
from msmq_wire.srmp.elements.msmq import Msmq
from msmq_wire.wire.headers.security_header import SecurityData, SecurityHeader
from tests.cli.conftest import is_refused

Run = Callable[..., Any]
Make = Callable[..., Path]

QUEUE = "DIRECT=OS:srv01\\private$\\orders"
KEYS = [
    "id",
    "file",
    "queue",
    "label",
    "time",
    "frames",
    "capture",
    "kind",
    "confidence",
    "size",
    "cut",
    "sha256",
]


def index_of(folder: Path, name: str = "index.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_bytes().splitlines()]


def row(id_: int, label: str = "") -> dict[str, Any]:
    return {"id": id_, "queue": QUEUE, "label": label, "time": None, "frames": [id_]}


def written(folder: Path, label: str) -> list[str]:
    """Names of the files that one body with a label makes, the index left out."""
    with BodyFiles(str(folder)) as files:
        files.write(row(1, label), MessageBody(data=b"<a/>", size=4, label=label))
    return sorted(path.name for path in folder.iterdir() if path.name != "index.jsonl")


def test_an_index_has_a_line_for_each_body(run: Run, make_capture: Make, tmp_path: Path) -> None:
    path = make_capture(
        encode(build_message(QUEUE, b"<order/>", label="first")),
        encode(build_message(QUEUE, b"")),
        encode(build_message(QUEUE, b"\x89PNG\r\n\x1a\n" + bytes(20))),
    )
    assert run("messages", path, "--bodies", tmp_path / "b").status == 0
    first, second = index_of(tmp_path / "b")
    assert list(first) == KEYS
    assert first == {
        "id": 2,
        "file": "2-first.xml",
        "queue": QUEUE,
        "label": "first",
        "time": "2023-11-14T22:13:20.500000000Z",
        "frames": [1],
        "capture": str(path),
        "kind": "xml",
        "confidence": "certain",
        "size": 8,
        "cut": False,
        "sha256": hashlib.sha256(b"<order/>").hexdigest(),
    }
    assert (second["id"], second["file"], second["size"]) == (4, "4.png", 28)


@pytest.mark.parametrize("name", ["index.jsonl", "1.txt"])
@pytest.mark.parametrize("force", [False, True])
def test_no_link_in_a_folder_is_followed(tmp_path: Path, name: str, force: bool) -> None:
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    with (
        BodyFiles(str(tmp_path), force=force) as files,
        pytest.raises(CaptureError, match=rf"cannot write .*{name}: it is a link to"),
    ):
        files.write(row(1), MessageBody(data=b"x", size=1))
    assert (tmp_path / name).is_symlink()
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("behind", ["", "/"])
def test_a_link_to_a_folder_is_none(run: Run, make_capture: Make, tmp_path: Path, behind: str) -> None:
    path = make_capture(encode(build_message(QUEUE, b"<a/>", label="x")))
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    is_refused(run("messages", path, "--bodies", f"{tmp_path}/link{behind}", "--force"), "is a link to")
    assert list((tmp_path / "folder").iterdir()) == []


def test_a_second_run_is_refused_without_force(run: Run, make_capture: Make, tmp_path: Path) -> None:
    path = make_capture(encode(build_message(QUEUE, b"<a/>", label="x")))
    folder = tmp_path / "b"
    assert run("messages", path, "--bodies", folder).status == 0
    (folder / "2-x.xml").write_bytes(b"mine")
    is_refused(
        run("messages", path, "--bodies", folder), f"{folder}/index.jsonl is there: --force writes over it"
    )
    assert (folder / "2-x.xml").read_bytes() == b"mine"
    assert run("messages", path, "--bodies", folder, "--force").status == 0
    assert sorted(file.name for file in folder.iterdir()) == ["2-x.xml", "index.jsonl"]
    assert (folder / "2-x.xml").read_bytes() == b"<a/>"
    assert [line["file"] for line in index_of(folder)] == ["2-x.xml"]


def test_a_body_that_is_there_is_refused_without_force_and_the_rows_come_all_the_same(
    run: Run, make_capture: Make, tmp_path: Path
) -> None:
    path = make_capture(encode(build_message(QUEUE, b"<a/>", label="x")))
    folder = tmp_path / "b"
    folder.mkdir()
    (folder / "2-x.xml").write_bytes(b"mine")
    status, out, err = run("messages", path, "--bodies", folder, "-q")
    assert (status, len(out.splitlines()), err.count("\n")) == (2, 2, 1)
    assert f"cannot write {folder}/2-x.xml: it is there: --force writes over it" in err
    assert (folder / "2-x.xml").read_bytes() == b"mine"
    assert run("messages", path, "--bodies", folder, "-q", "--force").status == 0
    assert (folder / "2-x.xml").read_bytes() == b"<a/>"


def test_force_is_for_bodies(run: Run, capture: Path) -> None:
    status, _, err = run("messages", capture, "--force")
    assert (status, "--force changes nothing without --bodies" in err) == (2, True)


def test_the_index_is_whole_after_each_body(tmp_path: Path) -> None:
    with BodyFiles(str(tmp_path)) as files:
        for number in range(1, 4):
            files.write(row(number), MessageBody(data=b"x", size=1))
            lines = (tmp_path / "index.jsonl").read_bytes()
            assert lines.endswith(b"}\n")
            assert len(index_of(tmp_path)) == number


def test_without_bodies_there_is_no_index(tmp_path: Path) -> None:
    with BodyFiles(str(tmp_path)):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_cut_body_is_marked_and_counts_what_was_written(tmp_path: Path) -> None:
    with BodyFiles(str(tmp_path)) as files:
        files.write(row(7), MessageBody(data=b"half", size=10, label="x"))
    line = index_of(tmp_path)[0]
    assert (line["file"], line["size"], line["cut"]) == ("7-x.cut.txt", 4, True)
    assert (files.written, files.cut) == (1, 1)


def test_labels_in_the_index_are_escaped_and_come_back(tmp_path: Path) -> None:
    label = "a\n\u202eb\ud800\x00\u2028"
    with BodyFiles(str(tmp_path)) as files:
        files.write(row(1, label), MessageBody(data=b"x", size=1, label=label))
    data = (tmp_path / "index.jsonl").read_bytes()
    assert data.isascii()
    assert data.count(b"\n") == 1
    assert index_of(tmp_path)[0]["label"] == label


@pytest.mark.parametrize(
    ("label", "name"),
    [
        pytest.param("..\\..\\x", "1-x.xml", id="traversal"),
        pytest.param("../../../../etc/passwd", "1-etc_passwd.xml", id="traversal of POSIX"),
        pytest.param("/etc/passwd", "1-etc_passwd.xml", id="absolute"),
        pytest.param("C:\\Windows\\x.exe", "1-C_Windows_x_exe.xml", id="drive"),
        pytest.param("\\\\host\\share\\x", "1-host_share_x.xml", id="UNC"),
        pytest.param("a:b", "1-a_b.xml", id="alternate data stream"),
        # With the id in front these name no device.
        pytest.param("CON", "1-CON.xml", id="CON"),
        pytest.param("nul", "1-nul.xml", id="NUL device"),
        pytest.param("COM1", "1-COM1.xml", id="COM1"),
        pytest.param("aux.txt", "1-aux_txt.xml", id="AUX"),
        pytest.param("", "1.xml", id="empty"),
        pytest.param("...", "1.xml", id="dots"),
        pytest.param(" . ", "1.xml", id="dots and blanks"),
        pytest.param("name. . ", "1-name.xml", id="dots at the end"),
        pytest.param("x" * 500, f"1-{'x' * 60}.xml", id="long"),
        pytest.param("x" * 59 + "-y", f"1-{'x' * 59}.xml", id="cut at a hyphen"),
        pytest.param("invoice\u202efdp.exe", "1-invoicefdp_exe.xml", id="right to left"),
        pytest.param("a\x00b", "1-a_b.xml", id="NUL character"),
        pytest.param("a\nb\x1b[31m", "1-a_b_31m.xml", id="controls"),
        pytest.param("Bestellung \xdcber 5 \u20ac", "1-Bestellung_Uber_5.xml", id="non-ASCII"),
        pytest.param("\u6ce8\u6587", "1.xml", id="no ASCII"),
        pytest.param("\u2025/\uff0e\uff0e/x", "1-x.xml", id="dots by compatibility"),
        pytest.param("\ud800", "1.xml", id="lone surrogate"),
        pytest.param("-rf ~ $(id) *", "1-rf_id.xml", id="shell"),
    ],
)
def test_a_label_steers_no_path(tmp_path: Path, label: str, name: str) -> None:
    folder = tmp_path / "a" / "b"
    assert written(folder, label) == [name]
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(["a", "b", name, "index.jsonl"])


@pytest.mark.slow
@given(st.text(max_size=100), st.integers(1, 10**12))
def test_a_name_is_an_id_and_plain_letters(label: str, id_: int) -> None:
    part = file_name_part(label)
    name = f"{id_}-{part}" if part else str(id_)
    assert name.encode("ascii").replace(b"-", b"").replace(b"_", b"").isalnum()
    assert len(name) <= 75


def test_an_index_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    with BodyFiles(str(folder)) as files:
        folder.rmdir()
        with pytest.raises(CaptureError, match="cannot write"):
            files.write(row(1), MessageBody(data=b"x", size=1))


def test_a_file_of_an_encrypted_body_claims_no_form(tmp_path: Path) -> None:
    with BodyFiles(str(tmp_path)) as files:
        files.write(row(1), MessageBody(data=b"<a/>", size=4, encrypted=EncryptedBody(privacy_level=5)))
    line = index_of(tmp_path)[0]
    assert (line["file"], line["kind"]) == ("1.bin", "encrypted")


def _frame(number: int, packet: bytes, seq: int) -> Frame:
    addresses = b"\xc0\0\2\1\xc0\0\2\2"
    tcp = struct.pack(">HHIIBBHHH", 1025, 1801, seq, 1, 0x50, 0x18, 8192, 0, 0) + packet
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), number, 0, 64, 6, 0) + addresses
    data = bytes(12) + b"\x08\0" + ip + tcp
    time = 1_700_000_000_000_000_000 + number
    return Frame(number=number, time=time, link_type=1, data=data, length=len(data), position=0)


@pytest.mark.slow
def test_a_thousand_messages_make_a_thousand_files_and_lines(run: Run, tmp_path: Path) -> None:
    bodies = [f'<order id="{number}"/>'.encode() for number in range(1, 1001)]
    labels = [("..\\" * (number % 3)) + f"order {number}" for number in range(1, 1001)]
    frames, seq = [], 100
    for number, (body, label) in enumerate(zip(bodies, labels, strict=True), 1):
        packet = encode(build_message(QUEUE, body, label=label))
        frames.append(_frame(number, packet, seq))
        seq += len(packet)
    write_pcap(tmp_path / "many.pcap", frames)
    folder = tmp_path / "b"
    status, out, err = run("messages", tmp_path / "many.pcap", "--bodies", folder, "--format", "csv")
    assert status == 0
    assert len(out.splitlines()) == 1001
    assert "1000 files written" in err
    lines = index_of(folder)
    # The first id is that of the step with which the connection is met.
    assert [line["id"] for line in lines] == list(range(2, 1002))
    assert [line["label"] for line in lines] == labels
    names = {line["file"] for line in lines}
    assert len(names) == 1000
    assert {path.name for path in folder.iterdir()} == names | {"index.jsonl"}
    for line, body in zip(lines, bodies, strict=True):
        assert (folder / line["file"]).read_bytes() == body
        assert line["sha256"] == hashlib.sha256(body).hexdigest()


def _srmp(**values: Any) -> Record:
    fields: dict[str, Any] = {
        "kind": "message",
        "queue": None,
        "label": "over HTTP",
        "message_id": None,
        "method": "POST",
        "target": "/msmq/q",
        "http_version": "1.1",
        "headers": (),
        "envelope": None,
        "body": b"<a/>",
        "extension": None,
        "parts": (),
    }
    return Record(id=1, type="srmp_message", packet=SrmpMessage(**(fields | values)))


def test_the_body_of_a_message_over_http_has_type_and_extension() -> None:
    envelope = SrmpEnvelope(header=SrmpHeader(msmq=Msmq(body_type=8)))
    body = message_body(_srmp(envelope=envelope, extension=b"ext"))
    assert body == MessageBody(
        data=b"<a/>", size=4, path="body", label="over HTTP", body_type=8, extension=b"ext"
    )


@pytest.mark.parametrize("body_type", [None, "eight"])
def test_a_body_type_that_is_no_number_counts_as_none(body_type: str | None) -> None:
    body = message_body(_srmp(envelope=SrmpEnvelope(header=SrmpHeader(msmq=Msmq(body_type=body_type)))))
    assert body is not None
    assert body.body_type is None
    assert body.content.kind == "xml"


@pytest.mark.parametrize(
    ("complete", "claimed", "size"),
    [(False, 100, 100), (False, None, 4), (False, 1, 4), (True, 100, 4)],
)
def test_a_cut_message_over_http_claims_the_size_of_its_part(
    complete: bool, claimed: int | None, size: int
) -> None:
    part = SrmpPart(role="body", content_type="", content_id="", content_length=claimed, offset=0, length=4)
    body = message_body(_srmp(parts=(part,), complete=complete))
    assert body is not None
    assert body.size == size
    assert body.cut == (size > 4)
    assert body.whole == complete


def test_a_message_over_http_without_a_body_has_none() -> None:
    assert message_body(_srmp(body=None)) is None
    assert message_body(_srmp(body=b"")) is None


def test_the_body_of_a_transfer_buffer_carries_its_extension() -> None:
    message = MessageProperties(body=b"<a/>", extension=b"ext", body_type=8, body_encrypted=True)
    packet = TransferBuffer(queue=None, properties=message)
    body = message_body(Record(id=1, type="transfer_buffer", packet=packet))
    assert body is not None
    assert (body.extension, body.encrypted) == (b"ext", EncryptedBody(in_transfer=True))


def test_the_body_of_a_packet_carries_extension_and_cipher() -> None:
    security = SecurityHeader(security_data=SecurityData(encryption_key=bytes(8))).with_bits(eb=1, ai=1)
    packet = build_message(QUEUE, b"<a/>", extension=b"ext")
    packet = msgspec.structs.replace(packet, security_header=security)
    body = message_body(Record(id=1, type="user_message", packet=packet))
    assert body is not None
    assert body.extension == b"ext"
    assert body.encrypted is not None
    assert body.encrypted.key == bytes(8)
    assert body.content.kind == "encrypted"


def test_what_was_not_reached_of_a_packet_is_no_body() -> None:
    packet = build_message(QUEUE, b"<a/>")
    assert packet.message_properties_header is not None
    cut = msgspec.structs.replace(
        packet.message_properties_header,
        message_size=msgspec.UNSET,
        extension_data=msgspec.UNSET,
        message_body=msgspec.UNSET,
    )
    partial = msgspec.structs.replace(packet, message_properties_header=cut)
    assert message_body(Record(id=1, type="user_message", packet=partial)) is None
    assert message_body(Record(id=1, type="gap")) is None
