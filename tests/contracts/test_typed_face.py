"""What type checkers read of `msmq_wire`: a program that uses it passes, and one with a typo does not."""

from __future__ import annotations

import importlib.util
import inspect
import os
import pydoc
import re
import subprocess
import sys
from enum import IntEnum
from pathlib import Path
from typing import get_args

import pytest

import msmq_wire as mw
from msmq_wire.records.composed import RECORD_TYPES
from msmq_wire.wire.registry import ENUMERATIONS, STRUCTURES

_ROOT = Path(__file__).resolve().parents[2]
_IMPORTS = ("import msmq_wire as mw", "from msmq_wire import strategies")
_FACE = _ROOT / "tests" / "contracts" / "typed_face.py"
_WRONG = {
    'mw.decode(b"", as_="ping").cooky': '"Ping" has no attribute "cooky"',
    'mw.decode(b"", as_="ping").cookie.text': '"int" has no attribute "text"',
    'mw.decode(b"", as_="pnig").cookie': "has no attribute",
    'mw.decode(b"").cookie': 'of "Ping | EstablishConnection',
    'mw.decode(b"", kind="ping")': "No overload variant",
    'mw.decode("text", as_="ping")': "No overload variant",
    'mw.inspect(b"", as_="ping").pakcet': '"InspectResult[Ping | None]" has no attribute "pakcet"',
    'mw.inspect(b"", as_="ping").packet.cookie': 'Item "None" of "Ping | None" has no attribute "cookie"',
    'mw.encode("text")': 'Argument 1 to "encode" has incompatible type "str"',
    'mw.build_message("q", priorty=3)': "priorty",
    'mw.build_message("q").mesage_properties_header': '"UserMessage" has no attribute',
    'mw.build_message("q", acknowledge=["px"])': "List item 0 has incompatible type",
    "mw.fit(mw.Ping()).base_header": '"Ping" has no attribute "base_header"',
    'next(mw.read_capture("f", type="ping")).packet.user_header': '"Ping" has no attribute "user_header"',
    'next(mw.read_capture("f", type="gap")).packet.cookie': '"None" has no attribute "cookie"',
    'next(mw.read_capture("f")).frame': "has no attribute",
    'next(mw.read_capture("f", typ="ping"))': "No overload variant",
    "mw.MessageClass.MQMSG_CLAS_NORMAL": 'has no attribute "MQMSG_CLAS_NORMAL"',
    'mw.Verifier().check(mw.build_message("q")).verdikt': "verdikt",
    'next(mw.messages("f")).lable': '"Message" has no attribute "lable"',
    'next(mw.messages("f")).record.packet.cookie': "has no attribute",
    'mw.messages("f", memory="40M")': 'Argument "memory" to "messages" has incompatible type "str"',
    "mw.messages(5)": 'Argument 1 to "messages" has incompatible type "int"',
    'next(mw.calls("f")).mehtod': '"Call" has no attribute "mehtod"',
    'mw.calls("f", ports=1801)': 'Argument "ports" to "calls" has incompatible type "int"',
    'mw.findings("f", level="hihg")': 'Argument "level" to "findings" has incompatible type',
    'next(mw.findings("f")).evidence[0].frame': '"Evidence" has no attribute "frame"',
    'mw.diagnose("f").causes[0].axtion': '"DigestLine" has no attribute "axtion"',
    'mw.why("f", 4711)': 'Argument 2 to "why" has incompatible type "int"',
    'mw.why("f", "x").steps[0].wat': '"ExplainedStep" has no attribute "wat"',
    'mw.table("f", "message")': 'Argument 2 to "table" has incompatible type',
    'mw.table("f", "calls").shcema': '"CaptureTable" has no attribute "shcema"',
    'mw.table("f", "calls").schema.nmaes': '"ArrowSchema" has no attribute "nmaes"',
    'mw.table("f", "calls").reader().read_al()': '"ArrowReader" has no attribute "read_al"',
    'next(mw.messages("f")).record.pakcet': '"Record[Ping | EstablishConnection',
    'strategies.structure("ping").example().cooky': '"Ping" has no attribute "cooky"',
    "strategies.packets().example().cookie": "has no attribute",
    "mw.tree(None)": 'Argument 1 to "tree" has incompatible type "None"',
    "mw.UserMesage": 'Module has no attribute "UserMesage"',
}
"""Expressions with a mistake, and what is said of each."""
_WITH_UNSEAL = {
    *("BodyOpener", "BodySealer", "Certificate", "MessageSigner", "Opening", "Secrets", "SignatureCheck"),
    *("TrustedCertificates", "Verifier", "negotiator", "read_certificates", "read_identity"),
    *("read_private_key", "read_private_keys", "read_public_key"),
}
"""Names that need the extra ``unseal``."""


def _checked(path: Path, cache: Path) -> list[str]:
    options = ("--strict", "--disallow-any-expr", "--no-error-summary", "--hide-error-context")
    result = subprocess.run(
        [sys.executable, "-m", "mypy", *options, f"--cache-dir={cache}", "--config-file=", str(path)],
        cwd=path.parent,
        env={**os.environ, "MYPYPATH": str(_ROOT)},
        capture_output=True,
        text=True,
    )
    return [line for line in result.stdout.splitlines() if ": error: " in line and path.name in line]


@pytest.mark.slow
def test_a_program_has_no_any_and_each_mistake_in_one_is_an_error(tmp_path: Path) -> None:
    face = tmp_path / "face.py"
    face.write_bytes(_FACE.read_bytes())
    assert _checked(face, tmp_path / "cache") == []
    wrong = tmp_path / "wrong.py"
    wrong.write_text("\n".join((*_IMPORTS, "", *_WRONG)) + "\n", encoding="utf-8")
    found: dict[int, str] = {}
    for line in _checked(wrong, tmp_path / "cache"):
        at = re.search(r"wrong\.py:(\d+): error: (.*)", line)
        assert at is not None
        found[int(at[1])] = found.get(int(at[1]), "") + at[2]
    missed = {
        expression: found.get(number, "")
        for number, (expression, error) in enumerate(_WRONG.items(), len(_IMPORTS) + 2)
        if error not in found.get(number, "")
    }
    assert missed == {}


def test_every_structure_and_enumeration_is_exported() -> None:
    declared: list[type] = [*STRUCTURES.values(), *ENUMERATIONS.values()]
    assert [one.__name__ for one in declared if getattr(mw, one.__name__, None) is not one] == []
    assert {one.__name__ for one in declared} - set(mw.__all__) == set()
    assert issubclass(mw.MessageClass, IntEnum)


def test_every_name_is_there_and_in_no_listing_with_another() -> None:
    names = [one for one in dir(mw) if not (one.startswith("__") and one.endswith("__"))]
    assert [name for name in names if not hasattr(mw, name)] == []
    assert {*names} - {*mw.__all__} == _WITH_UNSEAL
    assert {*mw.__all__} < {*names}
    assert {"__version__", "__doc__"} <= {*dir(mw)}


def test_without_the_extra_its_names_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", {"cryptography": None}.get)
    assert {*mw.__all__} <= {*dir(mw)}
    assert not {*dir(mw)} & _WITH_UNSEAL


@pytest.mark.parametrize("name", mw.__all__)
def test_help_shows_every_name(name: str) -> None:
    value = getattr(mw, name)
    # Of a type that is made of others `help` shows what it is, not what it is called.
    shown = type(value).__name__ if get_args(value) else name
    assert shown in pydoc.plain(pydoc.render_doc(value))


def test_type_checkers_and_editors_find_every_name() -> None:
    text = (_ROOT / "msmq_wire" / "__init__.pyi").read_text(encoding="utf-8")
    found = re.findall(r"^(?:from \S+ import \w+ as|def|class) (\w+)", text, re.MULTILINE)
    assert {*found} == {*mw.__all__} | _WITH_UNSEAL


def test_a_type_of_record_has_a_signature_of_its_own() -> None:
    text = (_ROOT / "msmq_wire" / "__init__.pyi").read_text(encoding="utf-8")
    named = re.findall(r"Literal\[([^\]]+)\]", text.partition("def read_capture(")[2])
    assert sorted(re.findall(r'"(\w+)"', " ".join(named))) == sorted(RECORD_TYPES)
    assert "type" in inspect.signature(mw.read_capture).parameters


def test_what_needs_an_extra_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(vars(mw), "Verifier", raising=False)
    monkeypatch.setitem(sys.modules, "msmq_wire.sealing.verifying", None)
    with pytest.raises(mw.MissingExtraError, match=r"Verifier needs .*msmq-wire\[unseal\]"):
        _ = mw.Verifier
