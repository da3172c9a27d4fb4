"""What an error says about an argument: by hand, for every kind of mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from msmq_wire.arguments import misfit, nearest, none_of, out_of_range, shown, texts, unknown_name, wrong_type

_KNOWN = ("user_message", "user_header", "srmp_envelope_header", "ping")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("usermessage", "user_message"),
        ("UserMessage", "user_message"),
        ("user-mesage", "user_message"),
        ("SRMPEnvelopeHeader", "srmp_envelope_header"),
        ("PING", "ping"),
        ("pong", "ping"),
        ("tcp", ""),
        ("", ""),
        ("x" * 1_000_000, ""),
        (None, ""),
        (Path("ping"), ""),
    ],
)
def test_the_nearest_name_is_found_whatever_its_case_and_underscores(name: object, near: str) -> None:
    assert nearest(name, _KNOWN) == near


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("usermessage", "no structure is called 'usermessage': did you mean 'user_message'?"),
        ("else", "no structure is called 'else'"),
        (7, "no structure is called 7"),
        ("x" * 100, f"no structure is called '{'x' * 59}..."),
    ],
)
def test_an_unknown_name_is_told_in_one_line(name: object, text: str) -> None:
    assert unknown_name("structure", name, _KNOWN) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, ""),
        (7, ""),
        (8, "priority is 8: it is 0 to 7"),
        (-1, "priority is -1: it is 0 to 7"),
    ],
)
def test_a_number_out_of_range_is_told_with_its_range(value: int, text: str) -> None:
    assert out_of_range("priority", value, 7) == text


@pytest.mark.parametrize(("value", "kind"), [("3", "str"), (3.0, "float"), (None, "NoneType"), ([3], "list")])
def test_what_is_no_integer_is_a_wrong_type(value: object, kind: str) -> None:
    with pytest.raises(TypeError) as caught:
        out_of_range("priority", value, 7)
    assert str(caught.value) == f"priority must be an integer, not {kind}"


@pytest.mark.parametrize(
    ("value", "signed", "text"),
    [
        (300, False, "300 is not in 0 to 255"),
        (-1, False, "-1 is not in 0 to 255"),
        (128, True, "128 is not in -128 to 127"),
        (10**99, False, f"1{'0' * 59}... is not in 0 to 255"),
        ("1", False, "a str where a number belongs"),
        (1.0, True, "a float where a number belongs"),
        (None, False, "a NoneType where a number belongs"),
    ],
)
def test_what_is_no_integer_of_a_field_is_told_with_its_range(value: object, signed: bool, text: str) -> None:
    assert misfit(value, 1, signed=signed) == text


def test_a_wrong_type_may_have_a_hint() -> None:
    assert wrong_type("label", "text", b"x") == "label must be text, not bytes"
    assert wrong_type("label", "text", b"x", "decode it") == "label must be text, not bytes: decode it"


def test_a_long_value_is_cut() -> None:
    assert shown("short") == "'short'"
    assert shown(b"\0" * 100) == "b'" + r"\x00" * 14 + r"\x" + "..."


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("pnig", "'pnig' is none of ping, user_message: did you mean 'ping'?"),
        ("tcp", "'tcp' is none of ping, user_message"),
        (None, "None is none of ping, user_message"),
    ],
)
def test_a_choice_that_is_none_is_told_with_all_and_the_nearest(value: object, text: str) -> None:
    assert none_of(value, ("ping", "user_message")) == text


@pytest.mark.parametrize(
    ("value", "found"), [("a,b", ("a,b",)), (["a", "b"], ("a", "b")), ((), ()), ("", ("",))]
)
def test_one_text_or_several_are_a_tuple(value: object, found: tuple[str, ...]) -> None:
    assert texts("rules", value) == found


@pytest.mark.parametrize(
    ("value", "kind"), [(5, "int"), (b"a", "bytes"), (["a", 5], "list"), (None, "NoneType")]
)
def test_what_is_no_text_is_told_by_its_name(value: object, kind: str) -> None:
    with pytest.raises(TypeError) as caught:
        texts("rules", value)
    assert str(caught.value) == f"rules must be text or a list of texts, not {kind}"
