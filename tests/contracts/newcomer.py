"""What a newcomer would add, one dummy of each kind, and what the program says of them.

`DUMMIES` has the files of each kind as CONTRIBUTING.md names them; `main` runs in a copy of the tree that has
the dummies, and prints what it saw as JSON. `tests.contracts.test_newcomer` compares.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

import msgspec

from docs.generate import ROOT, generated
from fixtures.build_findings_calls_rpc import REMOTE_READ, Rpc, answered, asked
from fixtures.build_findings_wire import SCENES
from fixtures.build_findings_wire_packets import message, session
from fixtures.build_frames import pcap
from fixtures.build_scene import Scene, properties
from msmq_wire.cli.app import main as run
from msmq_wire.engines.codec import encode
from msmq_wire.engines.fit import fit
from msmq_wire.engines.message_builder import build_message

__all__ = ["DUMMIES", "apply"]

Edit = Callable[[str], str]
"""From the text of a file, empty for a new one, to what a newcomer makes of it."""


def apply(root: Path) -> None:
    """Add every dummy to a copy of the tree."""
    for files in DUMMIES.values():
        for name, edit in files.items():
            path = root / name
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            path.write_text(edit(text), encoding="utf-8")


def _written(text: str) -> Edit:
    return lambda old: text.lstrip("\n")


def _replaced(*pairs: tuple[str, str]) -> Edit:
    def edit(text: str) -> str:
        for old, new in pairs:
            assert text.count(old) == 1, (text.count(old), old)
            text = text.replace(old, new)
        return text

    return edit


def _before(*pairs: tuple[str, str]) -> Edit:
    return _replaced(*((old, new + old) for old, new in pairs))


_HEADER = """
'''DummyHeader, [MS-MQMQ] 2.2.20.9, which nobody wrote.'''

from typing import Annotated, ClassVar

from construct import Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.musts import Must, Musts


class DummyHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    '''What a newcomer adds.'''

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.20.9")
    dummies: Annotated[int, Int32ul, "How many dummies there are."] = 1

    MUSTS: ClassVar[Musts] = (
        Must("dummies", this.dummies >= 1, at="dummies", message="Dummies must not be 0"),
    )
"""
_HEADER_TEST = """
'''DummyHeader, [MS-MQMQ] 2.2.20.9.'''

from __future__ import annotations

from msmq_wire.wire.headers.dummy_header import DummyHeader
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex("07000000"),
    value=DummyHeader(dummies=7),
    broken=[({0: "00"}, [("dummies", "dummies", 0, 4)])],
    refused=[({}, 3, ("missing-bytes", "dummies", 0))],
)
"""
_RULE = """
'''FRM-DUMMY: a message that begins with a dummy.'''

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.packet_fields import field
from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this


def _check(record: Record, context: Context) -> Iterator[Detection]:
    label = field(record, "message_properties_header.label")
    if label is not None and label.text == "dummy":
        yield Detection(message="it is a dummy", evidence=(evidence_of(record),))


RULE = Rule(
    id="FRM-DUMMY",
    title="A message for a dummy",
    severity="info",
    spec=(SpecRef("MS-MQMQ", "2.2.19.3"),),
    meaning="The label says that it is one.",
    action="Look for whoever adds dummies.",
    types=("user_message",),
    when=(this.message_properties_header.label_length == 6,),
    check=_check,
)
"""
_SCENES = """
SCENES = {
    **SCENES,
    "FRM-DUMMY/hit_label": (
        "a message that is labelled as a dummy",
        lambda: session(message(reported=properties("dummy", BODY))),
    ),
    "FRM-DUMMY/miss_label": ("a message with another label", lambda: session(WHOLE)),
}


"""
_END_OF_VALUES = ']\n"""The columns of a row with their values'
_END_OF_COLUMNS = """)  # fmt: skip
\"\"\"The columns in their order"""
_COLUMN = """    MessageColumn(
        "dummy", "number", "Number of the dummy.",
        packet="user_header.message_id", buffer="properties.identifier.uniquifier",
    ),
"""
_BODY = """
'''Bodies that begin as a dummy does.'''

from __future__ import annotations

from msmq_wire.records.bodies.body import Body, BodyKinds

KINDS = (BodyKinds(("dummy",), "the word that it begins with", "that it is one"),)
BEGINS = (b"DUMMY!",)


def dummy_body(data: bytes) -> Body | None:
    '''The body of a dummy; None for any other.'''
    return Body(kind="dummy", confidence="likely", title="dummy body") if data.startswith(BEGINS) else None
"""
_BODY_TEST = """
'''Bodies of dummies.'''

from __future__ import annotations

from msmq_wire.records.bodies import open_body


def test_a_dummy_is_named_by_its_first_word() -> None:
    assert open_body(b"DUMMY! 1", 0).kind == "dummy"
    assert open_body(b"DUMMY 1", 0).kind == "text"
"""
_REQUEST = '''class DummyRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A dummy to purge."""

    ph_context: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The open queue."] = ContextHandle()
    dw_dummy: Annotated[int, DWORD, "The number of the dummy."] = 0


'''
_METHOD = """        16: method("R_Dummy", "3.1.4.16", DummyRequest, StatusResponse, Role.PURGE),
"""
_STUBS = """        Method(
            16,
            "R_Dummy",
            (*_HANDLE, ("dwDummy", U32)),
            STATUS,
            (request("dummy", {"ph_context": HANDLE, "dw_dummy": 7}), response("purged", OK)),
        ),
"""
_ROW = """### R_Dummy (opnum 16, [MS-MQRR] 3.1.4.16)

| Rule | When | The server | Reply | Check | Untested |
| --- | --- | --- | --- | --- | --- |
| MQRR-3.1.4.16-1 | dwDummy is above 100 | does nothing | a failure HRESULT | `large-dummy` | no such method |

"""
_BREACH = """

def test_a_large_dummy_is_refused() -> None:
    story = Story().call("R_OpenQueue", {"dw_access": 1}, pph_context=_A)
    story.call("R_Dummy", {"ph_context": _A, "dw_dummy": 101})
    assert ("action", "MQRR-3.1.4.16-1", True) in story.found()
"""
_LINKED = """

def test_an_ipv4_packet_is_found_behind_the_header_of_a_dummy() -> None:
    assert read(148, b"DMMY" + IP4) == FOUR
"""

DUMMIES: Mapping[str, Mapping[str, Edit]] = {
    "A field of a header": {
        "msmq_wire/wire/headers/debug_header.py": _replaced(
            ("import Int16ul\n", "import Int8ul, Int16ul\n"),
            (
                '    reserved: Annotated[int, Int16ul, "Ignored."] = 0\n',
                '    dummy: Annotated[int, Int8ul, "Number of the dummy."] = 0\n'
                '    reserved: Annotated[int, Int8ul, "Ignored."] = 0\n',
            ),
        ),
        "tests/wire/headers/test_debug_header.py": _replaced(
            ('"a5 5a "  # Reserved', '"a5 "  # Dummy\n        "5a "  # Reserved'),
            ("reserved=0x5AA5,", "dummy=0xA5, reserved=0x5A,"),
            ('("missing-bytes", "reserved", 2)', '("missing-bytes", "reserved", 3)'),
        ),
    },
    "A header": {
        "msmq_wire/wire/headers/dummy_header.py": _written(_HEADER),
        "msmq_wire/wire/packets/user_message.py": _before(
            (
                "from msmq_wire.wire.headers.message_properties_header import",
                "from msmq_wire.wire.headers.dummy_header import DummyHeader\n",
            ),
            (
                "    srmp_envelope_header: Annotated[\n",
                "    dummy_header: Annotated[\n"
                "        DummyHeader | None,\n"
                "        Opt(this.debug_header.flags & 0x8000 != 0, Node(DummyHeader)),\n"
                '        "If X15 of DebugHeader.",\n'
                "    ] = None\n",
            ),
        ),
        "msmq_wire/__init__.py": _before(
            ('    "EncodeError": ', '    "DummyHeader": "msmq_wire.wire.headers.dummy_header",\n'),
        ),
        "tests/wire/headers/test_dummy_header.py": _written(_HEADER_TEST),
    },
    "A method of an RPC interface": {
        "msmq_wire/rpc/interfaces/remote_read.py": _before(
            ("class OpenQueueRequest(", _REQUEST),
            ("        15: method(\n", _METHOD),
        ),
        "fixtures/build_rpc_remote_read.py": _before(("        Method(15, ", _STUBS)),
    },
    "A rule of findings": {
        "msmq_wire/detection/rules/frm_dummy.py": _written(_RULE),
        "fixtures/build_findings_wire.py": _before(('if __name__ == "__main__":\n', _SCENES)),
    },
    "A row of the processing rules": {
        "msmq_wire/replay/rules/remote_read.md": _before(("### R_EndTransactionalReceive (", _ROW)),
        "msmq_wire/replay/rules/requests.py": _before(
            (
                '    Refusal("query-type"',
                '    Refusal("large-dummy", "a dwDummy above 100", above("dw_dummy", 100)),\n',
            )
        ),
        "tests/replay/test_rules.py": lambda text: text + _BREACH,
    },
    "A column of messages": {
        "msmq_wire/records/message.py": _before((_END_OF_COLUMNS, _COLUMN)),
        "tests/records/test_message.py": _before((_END_OF_VALUES, '    ("dummy", 7, 5, None),\n')),
    },
    "A kind of message body": {
        "msmq_wire/records/bodies/dummy.py": _written(_BODY),
        "msmq_wire/records/bodies/body_decoder.py": _replaced(
            ("    compressed,\n    encrypted,\n", "    compressed,\n    dummy,\n    encrypted,\n"),
            ("    *compressed.KINDS,\n", "    *compressed.KINDS,\n    *dummy.KINDS,\n"),
            (
                "    (text.BEGINS, _by_mark),\n",
                "    (text.BEGINS, _by_mark),\n    (dummy.BEGINS, dummy.dummy_body),\n",
            ),
        ),
        "tests/records/bodies/test_dummy.py": _written(_BODY_TEST),
    },
    "A link type": {
        "msmq_wire/capture/link.py": _replaced(
            (
                '    276: ("Linux cooked capture, version 2", _cooked_v2),\n',
                '    148: ("dummy", lambda frame, at, end, stop: ip(frame, at + 4, end, stop)),\n'
                '    276: ("Linux cooked capture, version 2", _cooked_v2),\n',
            )
        ),
        "tests/capture/test_link.py": lambda text: text + _LINKED,
    },
}
"""Edits by the heading in CONTRIBUTING.md and the path of the file."""


def main() -> None:
    """Print what the program shows of every dummy, and the pages about them, as JSON."""
    path = Path("given").resolve()

    def shown(data: bytes, *arguments: str) -> str:
        path.write_bytes(data)
        printed = io.StringIO()
        with redirect_stdout(printed):
            run([arguments[0], str(path), *arguments[1:]])
        return printed.getvalue()

    def captured(scene: Scene, *arguments: str) -> str:
        return shown(pcap(scene.frames, scene.link_type), *arguments)

    fields, headers = (
        import_module(f"tests.wire.headers.test_{stem}") for stem in ("debug_header", "dummy_header")
    )
    debug = msgspec.structs.replace(fields.CASES.value, flags=0x8001)
    plain = build_message("DIRECT=OS:msg01\\q", b"x")
    packet = fit(msgspec.structs.replace(plain, debug_header=debug, dummy_header=headers.CASES.value))
    call = Rpc(REMOTE_READ)
    call.call(16, asked(REMOTE_READ, 16, "dummy"), answered(REMOTE_READ, 16, "purged"))
    refused = Rpc(REMOTE_READ)
    refused.call(16, asked(REMOTE_READ, 16, "dummy", dw_dummy=101), answered(REMOTE_READ, 16, "purged"))
    linked = session(message(reported=properties("linked", b"x")))
    linked.link_type = 148
    linked.frames = [
        one._replace(data=b"DMMY" + one.data[14:], length=one.length - 10) for one in linked.frames
    ]
    dummies = message(reported=properties("a", b"x"))
    ways = ("--format", "csv"), ("--format", "jsonl"), ("--columns", "id,dummy"), ("--filter", "dummy == 8")
    seen = {
        "A column of messages": "".join(captured(session(dummies), "messages", *more) for more in ways),
        "A field of a header": shown(fields.CASES.data, "packet", "--as", "debug_header"),
        "A header": shown(encode(packet), "packet"),
        "A method of an RPC interface": captured(call.close(), "calls"),
        "A rule of findings": captured(SCENES["FRM-DUMMY/hit_label"][1](), "findings", "--level", "info"),
        "what misses it": captured(SCENES["FRM-DUMMY/miss_label"][1](), "findings", "--level", "info"),
        "A row of the processing rules": captured(refused.close(), "replay"),
        "A kind of message body": captured(session(message(reported=properties("a", b"DUMMY! 1"))), "decode"),
        "A link type": captured(linked, "messages"),
    }
    pages = {page.relative_to(ROOT).as_posix(): text for page, text in generated().items()}
    print(json.dumps({"seen": seen, "pages": pages}))


if __name__ == "__main__":
    main()
