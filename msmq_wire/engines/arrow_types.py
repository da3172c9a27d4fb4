"""The Arrow type of an annotation: `arrow_type`."""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText


def arrow_type(
    hint: Any, struct: Callable[[type[msgspec.Struct]], Any], *, nullable: bool
) -> tuple[Any, bool]:
    """The Arrow type of an annotation, and whether a value may be None.

    ``struct`` has the type of a class, ``nullable`` says whether the items of lists may be null. What may be
    of several types is a text; a tuple of several types is a struct whose members are ``_1``, ``_2``...
    """

    def type_of(hint: Any) -> Any:
        return arrow_type(hint, struct, nullable=nullable)[0]

    origin, args = get_origin(hint), get_args(hint)
    inner = [one for one in args if one not in (NoneType, Ellipsis)]
    if origin is Annotated:
        return arrow_type(args[0], struct, nullable=nullable)
    if origin is Literal:
        return arrow_type(type(args[0]), struct, nullable=nullable)
    if origin in (Union, UnionType):
        kinds = {type_of(one) for one in inner}
        return (kinds.pop() if len(kinds) == 1 else pa.string()), True
    if origin is tuple:
        kinds = {type_of(one) for one in inner}
        if len(kinds) == 1:
            return pa.list_(pa.field("item", kinds.pop(), nullable=nullable)), False
        return pa.struct([pa.field(f"_{place}", type_of(one)) for place, one in enumerate(inner, 1)]), False
    if hint is Any or not isinstance(hint, type):
        return pa.string(), True
    if issubclass(hint, msgspec.Struct):
        return struct(hint), False
    if issubclass(hint, GUID | WcharText | str):
        return pa.string(), False
    if issubclass(hint, bytes):
        return pa.binary(), False
    return (pa.bool_() if hint is bool else pa.float64() if hint is float else pa.int64()), False
