"""MUSTs as generated Python: which ones a value breaks, and in which field.

The rule kept here: the same anomalies as `reference.find_anomalies`, in the same order. What that function
evaluates for every structure, expression by expression, is one condition a structure here; only where it
fails is it looked at one by one. Partial values and missing ranges are left to the reference engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, get_args

import msgspec

from msmq_wire.engines import reference
from msmq_wire.engines.field_offsets import span, spans
from msmq_wire.engines.python_source import Code, Term, translate
from msmq_wire.engines.rows.engine import parse
from msmq_wire.errors import DecodeError
from msmq_wire.wire.fields import Field, WireStruct, fields
from msmq_wire.wire.musts import Anomaly, CodedMust, Must, View
from msmq_wire.wire.stream import Range

_judges: dict[Any, Any] = {}

_Structure = type[WireStruct]


def find_anomalies(
    packet: Any, missing: Sequence[Range] = (), error: DecodeError | None = None
) -> tuple[Anomaly, ...]:
    """What breaks a MUST in a structure; same results as `reference.find_anomalies`."""
    if missing or error is not None:
        return reference.find_anomalies(packet, missing, error)
    cls = packet.__class__
    judge = _judges.get(cls)
    if judge is None:
        if not issubclass(cls, WireStruct):
            return ()
        judge = _judges[cls] = _Judging(cls).code.compiled()
    broken = judge(packet)
    return _located(packet, broken[: reference.MAX_ANOMALIES]) if broken else ()


def source(cls: _Structure) -> str:
    """The function that is generated for a structure, as text."""
    return _Judging(cls).code.source


def _located(packet: WireStruct, broken: list[tuple[str, Anomaly]]) -> tuple[Anomaly, ...]:
    if any("[" in path for path, _ in broken):
        # One walk over a list for all of its elements.
        layout = spans(packet, frozenset(path for path, _ in broken))
        places = [(layout[path].offset, layout[path].length) for path, _ in broken]
    else:
        places = [span(packet, path) for path, _ in broken]
    return tuple(
        Anomaly(
            code=draft.code,
            message=draft.message,
            path=path,
            offset=offset,
            length=length,
            spec=draft.spec,
        )
        for (path, draft), (offset, length) in zip(broken, places, strict=True)
    )


@cache
def _judged(cls: _Structure) -> bool:
    """Whether there is anything to judge in a structure."""
    return bool(cls.MUSTS) or any(_judged(part) for field in fields(cls) for part in field.structures)


class _Place(msgspec.Struct):
    """A structure while its code is made: its class, the text of its value, its path as a template."""

    cls: _Structure
    text: str
    path: str
    outer: _Place | None = None


class _Judging:
    """Generates ``judge(_value)``, which returns what is broken: path and draft of the anomaly."""

    def __init__(self, cls: _Structure) -> None:
        self.code = Code(f"judge_{cls.stem()}", "_value", f"the MUSTs of {cls.__name__}")
        self._loops = 0
        self.code.line("_broken = []")
        self._structure(_Place(cls, "_value", ""))
        self.code.line("return _broken")

    def _structure(self, place: _Place) -> None:
        conditions: list[tuple[Must | CodedMust, str]] = []
        for must in place.cls.MUSTS:
            text = self._condition(must, place)
            if text is not None:
                conditions.append((must, text))
        if conditions:
            with self.code.block(f"if not ({' and '.join(text for _, text in conditions)}):"):
                for must, text in conditions:
                    self._report(must, text, place)
        for field in fields(place.cls):
            if not field.position:
                self._field(field, place)
        for name, (at, cls) in getattr(place.cls, "INSIDE", {}).items():
            if _judged(cls):
                find = self.code.constant(name, _inside(at, cls))
                inner = f"{place.text}__{name}"
                self.code.line(f"{inner} = {find}({place.text})")
                with self.code.block(f"if {inner} is not None:"):
                    self._structure(_Place(cls, inner, _joined(place.path, name), place))

    def _condition(self, must: Must | CodedMust, place: _Place) -> str | None:
        """The text of a condition; None when nothing it is about can be here."""
        if isinstance(must, Must):
            term = translate(
                must.expression,
                lambda path: self._resolve(path, place),
                lambda path: self._measure(path, place),
            )
            guards, text = term.guards, term.text
            if term.unknown:
                return None
        else:
            check = self.code.constant("check", must.check)
            terms = [self._resolve(tuple(path.split(".")), place) for path in must.of]
            if any(term.unknown for term in terms):
                return None
            guards = tuple(guard for term in terms for guard in term.guards)
            text = f"{check}({', '.join(term.text for term in terms)})"
            if not must.of:
                if place.outer is not None:
                    raise TypeError(f"{must!r} looks at a part as a whole")
                text = f"{check}({self.code.constant('View', View)}({place.text}))"
        absent = "".join(f"{guard} is None or " for guard in dict.fromkeys(guards))
        return f"({absent}{text})"

    def _report(self, must: Must | CodedMust, text: str, place: _Place) -> None:
        draft = Anomaly(
            code=f"{place.cls.stem()}.{must.code}",
            message=must.message,
            path="",
            offset=0,
            length=0,
            spec=must.spec or place.cls.SPEC,
        )
        path = _joined(place.path, must.at)
        shown = f"f{path!r}" if "{" in path else repr(path)
        self.code.line(f"if not {text}: _broken.append(({shown}, {self.code.constant('anomaly', draft)}))")

    def _field(self, field: Field, place: _Place) -> None:
        kinds = [kind for kind in field.structures if _judged(kind)]
        if not kinds:
            return
        value = f"{place.text}__{field.name}"
        path = _joined(place.path, field.name)
        self.code.line(f"{value} = {place.text}.{field.name}")
        if Ellipsis in get_args(field.value_type):
            self._loops += 1
            number = f"_i{self._loops}"
            with self.code.block(f"for {number}, {value}__item in enumerate({value}):"):
                self._structure(_Place(kinds[0], f"{value}__item", f"{path}[{{{number}}}]", place))
                self.code.line(f"if len(_broken) >= {reference.MAX_ANOMALIES}: return _broken")
            return
        if len(get_args(field.value_type) or (field.value_type,)) == 1:
            self._structure(_Place(kinds[0], value, path, place))
            return
        for kind in kinds:
            with self.code.block(f"if {value}.__class__ is {self.code.constant(kind.__name__, kind)}:"):
                self._structure(_Place(kind, value, path, place))

    def _resolve(self, path: tuple[str, ...], place: _Place) -> Term:
        owner: _Place | None = place
        names = list(path)
        while names[0] == "_" and owner is not None:
            owner = owner.outer
            names.pop(0)
        if owner is None:
            return Term("", unknown=True)
        cls, text, guards = owner.cls, owner.text, []
        for name in names:
            own = next((field for field in fields(cls) if field.name == name), None)
            if own is None:
                constant = getattr(cls, name, None)
                known = isinstance(constant, int)
                return Term(str(constant), value=constant) if known else Term("", unknown=True)
            text = f"{text}.{name}"
            if own.optional:
                guards.append(text)
            cls = next(iter(own.structures), cls)
        return Term(text, guards=tuple(guards))

    def _measure(self, path: tuple[str, ...], place: _Place) -> Term:
        term = self._resolve(path, place)
        return term if term.unknown else Term(f"len({term.text})", guards=term.guards)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _inside(at: str, cls: _Structure) -> Callable[[Any], Any]:
    """What finds the structure in the bytes of a field: None unless they have its size."""
    size = cls.schema().sizeof()
    names = at.split(".")

    def find(value: Any) -> Any:
        for name in names:
            value = getattr(value, name)
            if value is None:
                return None
        return parse(cls, value)[0] if len(value) == size else None

    return find
