"""URLs as they may be printed: without what lets somebody in.

The rule kept here: the query of a URL and what stands before its ``@`` may be a secret, whatever they are
called, so error lines and logs never have them.
"""

from __future__ import annotations

import re

_URL = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{1,19}:/[^\s'\"<>]*")
_QUERY = re.compile(r"[?#]")
_NAMED = re.compile(
    r"(\b(?:sig|signature|token|access_token|secret|password|pwd|x-amz-[a-z-]{1,30})(?:=|%3d))[^\s&;'\"<>]+",
    re.IGNORECASE,
)
_HIDDEN = "***"
_GLOBS = ("file", "s3", "s3a")
"""Schemes whose paths may have a question mark that begins no query."""
_CONTAINERS = ("abfs", "abfss", "wasb", "wasbs")
"""Schemes that name a container before the ``@``."""


def printable(text: str) -> str:
    """A text without the secrets of the URLs in it, and of what is called like one."""
    if ":/" in text:
        text = _URL.sub(lambda found: printable_url(found[0]), text)
    return _NAMED.sub(rf"\1{_HIDDEN}", text) if "=" in text or "%3" in text else text


def printable_url(url: str) -> str:
    """A URL without its query and its credentials; a path as it is."""
    found = _URL.match(url)
    if found is None:
        return url
    scheme, _, rest = url.partition(":")
    strokes = len(rest) - len(rest.lstrip("/"))
    start, rest, scheme = f"{scheme}:{rest[:strokes]}", rest[strokes:], scheme.lower()
    user, sign, behind = rest.rpartition("@")
    # A password may hold any of the characters that end a host.
    if sign and (":" in user or ("/" not in user and scheme not in _CONTAINERS)):
        rest = f"{_HIDDEN}@{behind}"
    query = _QUERY.search(rest)
    if query and ("=" in rest[query.end() :] or scheme not in _GLOBS):
        rest = rest[: query.end()] + _HIDDEN
    return start + rest
