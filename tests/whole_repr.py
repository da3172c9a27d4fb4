"""`whole_repr`: a value with everything in it; ``repr`` of a packet is one short line."""

from __future__ import annotations

from typing import Any


def whole_repr(value: Any) -> str:
    """The text of a value with all fields, however deep; two values are equal if their texts are."""
    if hasattr(value, "__struct_fields__"):
        fields = (f"{name}={whole_repr(getattr(value, name))}" for name in value.__struct_fields__)
        return f"{type(value).__name__}({', '.join(fields)})"
    if isinstance(value, dict):
        items = ", ".join(f"{whole_repr(key)}: {whole_repr(one)}" for key, one in value.items())
        return f"{{{items}}}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}({', '.join(map(whole_repr, value))})"
    if isinstance(value, bytes):
        return repr(bytes(value))
    return repr(value)


def differences(left: Any, right: Any, path: str = "") -> list[str]:
    """A line for each field in which two values differ."""
    if type(left) is type(right) and left != right:
        if hasattr(left, "__struct_fields__"):
            return [
                line
                for name in left.__struct_fields__
                for line in differences(getattr(left, name), getattr(right, name), f"{path}.{name}")
            ]
        if isinstance(left, tuple | list) and len(left) == len(right):
            return [
                line
                for place, (one, other) in enumerate(zip(left, right, strict=True))
                for line in differences(one, other, f"{path}[{place}]")
            ]
    return [] if left == right else [f"{path.lstrip('.')}: {whole_repr(left)} != {whole_repr(right)}"]
