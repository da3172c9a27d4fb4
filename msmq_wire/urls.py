"""Masks secrets in URLs before they are printed.

The rule kept here: the query of a URL and the user information before its ``@`` may be secrets. Errors and
logs never show them.
"""

from __future__ import annotations

import re

_URL = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{1,19}:/[^\s'\"<>]*")
_QUERY = re.compile(r"[?#]")
_SECRET_PARAMETER = re.compile(
    r"(\b(?:sig|signature|token|access_token|secret|password|pwd|x-amz-[a-z-]{1,30})(?:=|%3d))[^\s&;'\"<>]+",
    re.IGNORECASE,
)
_MASK = "***"
_GLOB_SCHEMES = ("file", "s3", "s3a", "gs", "gcs", "hdfs")
"""Schemes of paths with wildcards: a question mark can be one."""
_CONTAINER_SCHEMES = ("abfs", "abfss", "wasb", "wasbs")
"""Schemes with the name of a container, not of a user, before the ``@``."""


def mask_secrets(text: str) -> str:
    """Mask the secrets of all URLs in a text, and the values of parameters such as ``password=``."""
    if ":/" in text:
        text = _URL.sub(lambda found: mask_url_secrets(found[0]), text)
    return _SECRET_PARAMETER.sub(rf"\1{_MASK}", text) if "=" in text or "%3" in text else text


def mask_url_secrets(url: str) -> str:
    """Mask the query and the credentials of a URL; leave a path unchanged."""
    found = _URL.match(url)
    if found is None:
        return url
    scheme, _, rest = url.partition(":")
    slashes = len(rest) - len(rest.lstrip("/"))
    start, rest, scheme = f"{scheme}:{rest[:slashes]}", rest[slashes:], scheme.lower()
    user, sign, behind = rest.rpartition("@")
    # A password may hold any of the characters that end a host.
    if sign and (":" in user or ("/" not in user and scheme not in _CONTAINER_SCHEMES)):
        rest = f"{_MASK}@{behind}"
    query = _QUERY.search(rest)
    if query and ("=" in rest[query.end() :] or scheme not in _GLOB_SCHEMES):
        rest = rest[: query.end()] + _MASK
    return start + rest
