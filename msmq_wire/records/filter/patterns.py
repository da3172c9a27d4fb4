"""Regular expressions of filters, by RE2: time is linear in the text, whatever the pattern."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msmq_wire.errors import MsmqWireError

_LONGEST: Final = 1000
_MEMORY: Final = 1 << 20


def searcher(pattern: str) -> Callable[[str], bool]:
    """A function that looks for a pattern anywhere in a text, ignoring case, as Wireshark's ``matches`` does.

    Raises MsmqWireError for a pattern that RE2 does not take, and without RE2.
    """
    if len(pattern) > _LONGEST:
        raise MsmqWireError(f"a pattern has at most {_LONGEST} characters, this one has {len(pattern)}")
    try:
        import re2  # type: ignore[import-untyped]  # it comes without types
    except ImportError:
        raise MsmqWireError('matches needs google-re2: pip install "msmq-wire[cli]"') from None
    options = re2.Options()
    options.case_sensitive = options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY
    try:
        search = re2.compile(pattern.encode(), options).search
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise MsmqWireError(f"{pattern!r} is no pattern: {text}") from None
    except UnicodeEncodeError:
        raise MsmqWireError(f"{pattern!r} is no text") from None
    # Half a character stands for itself in texts, and matches nothing.
    return lambda text: search(text.encode("utf-8", "surrogatepass")) is not None
