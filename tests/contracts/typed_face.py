"""What a user of the Python face writes; type checkers read it, nobody runs it."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis.strategies import SearchStrategy

import msmq_wire as mw
from msmq_wire import strategies


def cookies(data: bytes) -> tuple[int, mw.GUID]:
    ping = mw.decode(data, as_="ping")
    return ping.cookie, ping.qm_guid


def message_number(packet: mw.Packet) -> int | None:
    match packet:
        case mw.UserMessage() | mw.MessagePacket():
            return packet.user_header.message_id
        case mw.Ping():
            return packet.cookie
    return None


def number(data: bytes) -> int | None:
    return message_number(mw.decode(data))


def labels(path: str) -> Iterator[tuple[str, mw.MessageClass | None, str]]:
    record: mw.Record[mw.UserMessage]
    for record in mw.read_capture(path, type="user_message"):
        properties = record.packet.message_properties_header
        if properties is not None and properties.message_class == mw.MessageClass.MQMSG_CLASS_NORMAL:
            yield properties.label.text, mw.MessageClass.MQMSG_CLASS_NORMAL, record.src or ""


def methods(path: str) -> list[str]:
    return [record.packet.method or "" for record in mw.read_capture(path, type="rpc_call")]


def kinds(path: str) -> dict[int, mw.RecordPacket]:
    with mw.CaptureReader(path) as reader:
        found = {record.id: record.packet for record in reader}
        print(reader.summary.frames, reader.summary.skipped.most_common(1))
    return found


def label(record: mw.Record) -> str | None:
    packet: mw.RecordPacket = record.packet
    match packet:
        case mw.SrmpMessage():
            return packet.label
        case mw.UserMessage(message_properties_header=mw.MessagePropertiesHeader() as properties):
            return properties.label.text
    return record.reason


def first(path: str) -> tuple[mw.Record, mw.Record]:
    record: mw.Record = next(mw.read_capture(path, type="ping"))
    match record:
        case mw.Record(type="ping", packet=mw.Ping() as ping):
            print(ping.cookie, label(next(mw.messages(path)).record))
    return record, mw.Record(id=record.id, type="gap")


def inspected(data: bytes) -> mw.InspectResult:
    result: mw.InspectResult = mw.inspect(data)
    packet: mw.Packet | mw.InternalPacket | None = result.packet
    print(packet, mw.inspect(data, as_="ping") == result)
    return result


def drawn() -> tuple[SearchStrategy[mw.Packet], SearchStrategy[mw.Ping], SearchStrategy[mw.GUID]]:
    valid: list[SearchStrategy[mw.UserMessage]] = [
        strategies.structure("user_message"),
        strategies.acknowledgments(),
        strategies.captures().map(lambda drawn: drawn.messages[0]),
    ]
    several: list[SearchStrategy[list[bytes]]] = [
        strategies.chunks(b"data"),
        strategies.sections().map(lambda drawn: [drawn[0], *(one.data for one in drawn[1])]),
        strategies.stubs("R_OpenQueue").map(lambda drawn: [drawn.data, repr(drawn.value).encode()]),
    ]
    bytes_: list[SearchStrategy[bytes]] = [
        strategies.mutated("ping"),
        strategies.pdus(),
        strategies.srmp_requests(),
    ]
    print(valid, several, bytes_)
    return strategies.packets(), strategies.edge("ping"), strategies.structure("guid")


def worst(data: bytes) -> str:
    result = mw.inspect(data, as_="user_message")
    if result.error is not None:
        error = result.error
        return f"{error.code} {error.message} {error.path} {error.offset} {error.spec} {error.partial}"
    for anomaly in result.anomalies:
        print(anomaly.code, anomaly.offset, anomaly.spec.document)
    packet = result.packet
    return "" if packet is None else str(packet.user_header.format_name("destination_queue"))


def any_structure(data: bytes, stem: str) -> bytes:
    return mw.encode(mw.decode(data, stem)) + (mw.inspect(data, stem).remainder)


def message() -> mw.UserMessage:
    wanted: list[mw.Acknowledgment] = ["pa"]
    transaction = mw.TransactionHeader()
    built = mw.build_message(r"DIRECT=OS:h\q", b"x", acknowledge=wanted, transaction=transaction)
    return mw.fit(built.with_bits())


def rejoined(data: bytes) -> mw.JoinedPacket:
    sections = mw.split_sections(data, max_body_size=4, max_compound_message_size=0)
    if sections[0].section_buffer_type == mw.SectionType.stFullPacket:
        print(sections[0].section_size, sections[0].data)
    joined = mw.join_sections(sections)
    print(joined.data, joined.missing, joined.complete, joined.problems)
    return joined


def host(text: str) -> str:
    name = mw.FormatName.parse(text)
    return name.host if name.kind == mw.QueueFormatType.DIRECT else name.guid


def opened(packet: mw.UserMessage, key: bytes) -> bytes | None:
    opening = mw.BodyOpener([mw.read_private_key(key)]).open(packet)
    check = mw.Verifier().check(packet, opened=opening)
    if check is not None and check.verdict == "verified" and check.certificate is not None:
        print(check.certificate.subject)
    return None if opening is None else opening.body


def numbers(path: str) -> Iterator[tuple[int, str | None, bytes | None]]:
    found: mw.CaptureIterator[mw.Message] = mw.messages(path, filter=["label ~ order"], memory=1 << 30)
    for message in found:
        print(message.sent_at, message.outcome, message.record.packet, mw.tree(message.record))
        yield message.id, message.label, message.body
    print(found.errors, found.notices, found.frames)
    for call in mw.calls(path, ports={8085: "http"}):
        print(call.method, call.latency, call.packet.request)


def evidence(path: str) -> list[mw.Evidence]:
    return [found.evidence[0] for found in mw.findings(path, level="high", rules=["LEN-ENV"])]


def causes(path: str) -> list[mw.DigestLine]:
    diagnosis: mw.DiagnosisResult = mw.diagnose(path)
    print(diagnosis.answers[0].question, diagnosis.errors)
    return [cause for cause in diagnosis.causes if cause.first_time is not None]


def steps(path: str) -> Iterator[mw.ExplainedStep]:
    answer: mw.WhyAnswer = mw.why(path, "order 4711")
    message: mw.ExplainedMessage = answer.message
    print(answer.outcome, message.sentence, message.evidence[0].frames)
    yield from answer.steps


def columns(path: str) -> list[str]:
    table: mw.CaptureTable = mw.table(path, "messages", columns=["id", "label"], all=True)
    print(mw.table(path, "findings", level="high", rules="LEN-ENV"))
    for rows in table.reader():
        print(rows.num_rows, rows.to_pylist())
    print(table.schema.field("label").type, table.errors, table.notices)
    return table.schema.names


def mistake(path: str) -> str:
    try:
        return repr(mw.messages(path, filter="lable ~ order"))
    except mw.ArgumentError as error:
        return str(error)


def unsealed(path: str, password: str) -> Iterator[mw.Record[mw.RpcCall]]:
    secrets = mw.Secrets.of([password])
    yield from mw.read_capture(path, negotiator=mw.negotiator(secrets), type="rpc_call")
