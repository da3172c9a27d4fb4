"""What is wrong with an argument, in one line: the same words wherever the mistake is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index

_SHOWN = 60
"""Characters of a wrong value that are shown, and compared."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> str:
    """``no structure is called 'usermessage': did you mean 'user_message'?``, or without a guess."""
    text = f"no {kind} is called {shown(name)}"
    near = nearest(name, known)
    return f"{text}: did you mean {near!r}?" if near else text


def nearest(name: object, known: Iterable[str]) -> str:
    """The known name that looks most like a name, whatever its case, underscores and hyphens; or ``""``."""
    if not isinstance(name, str):
        return ""
    # Only somebody who mistyped a name waits for it.
    from difflib import get_close_matches

    plain = {_plain(one): one for one in known}
    near = get_close_matches(_plain(name[:_SHOWN]), plain, n=1, cutoff=0.7)
    return plain[near[0]] if near else ""


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def out_of_range(name: str, value: object, most: int) -> str:
    """What is wrong with a number from 0 to ``most``, ``""`` if nothing; TypeError if it is no integer."""
    try:
        number = index(value)  # type: ignore[arg-type]  # the error is what is asked for
    except TypeError:
        raise TypeError(wrong_type(name, "an integer", value)) from None
    return "" if 0 <= number <= most else f"{name} is {shown(value)}: it is 0 to {most}"


def misfit(value: object, size: int, *, signed: bool = False) -> str:
    """Why a value is no integer of ``size`` bytes: ``300 is not in 0 to 255``."""
    if not hasattr(value, "__index__"):
        return f"a {type(value).__name__} where a number belongs"
    values = 1 << 8 * size
    first = -(values >> 1) if signed else 0
    return f"{shown(value)} is not in {first} to {first + values - 1}"


def wrong_type(name: str, expected: str, value: object, hint: str = "") -> str:
    """``label must be text, not bytes``; a hint says what to write instead."""
    return f"{name} must be {expected}, not {type(value).__name__}{hint and f': {hint}'}"


def check_text(name: str, value: object) -> None:
    """Raises TypeError for what is no text."""
    if not isinstance(value, str):
        raise TypeError(wrong_type(name, "text", value))


def texts(name: str, value: object) -> tuple[str, ...]:
    """One text or several as a tuple. Raises TypeError for anything else."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Sequence) or not all(isinstance(one, str) for one in value):
        raise TypeError(wrong_type(name, "text or a list of texts", value))
    return tuple(value)


def none_of(value: object, known: Iterable[str]) -> str:
    """``'message' is none of messages, calls: did you mean 'messages'?``, or without a guess."""
    names = tuple(known)
    near = nearest(value, names)
    return f"{shown(value)} is none of {', '.join(names)}{near and f': did you mean {near!r}?'}"


def shown(value: object) -> str:
    """A wrong value as an error shows it: its first characters where it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
