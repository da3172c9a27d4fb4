"""Which sections of the specifications are covered, by what, and which are not.

The rule kept here: nobody writes down what covers a section. Declarations name their section: structures,
enumerations, interfaces, elements of SRMP, kinds of bodies, rows of the processing rules, rules of findings;
where none does, modules that name it do. ``sections.txt`` has the titles of the documents, and nothing else.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from enum import Enum
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import msmq_wire
from docs.generators.calls import structures_of_calls
from docs.generators.markers import code, table
from docs.generators.srmp import elements
from docs.generators.structures import structures_of
from msmq_wire.detection import RULES
from msmq_wire.records.bodies.body_decoder import KINDS
from msmq_wire.replay.rule_table import PARTS, all_rows
from msmq_wire.rpc import constants, types
from msmq_wire.rpc.com.queue_interfaces import COM_INTERFACES
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.ndr import NdrStruct
from msmq_wire.spec import SpecRef
from msmq_wire.srmp.xml.fields import xml_fields
from msmq_wire.wire.names.queue_format_types import QueueFormatType, QueueSuffixType
from msmq_wire.wire.registry import ENUMERATIONS, STRUCTURES, defined_in

__all__ = ["block"]

_TITLES = Path(__file__).with_name("sections.txt")
_CITED = re.compile(r"\[(M[SC]-[A-Z]+)\] ([0-9][0-9.]*(?:(?:, | to | and )[0-9][0-9.]*)*)")
_READERS = ("wire", "rpc", "srmp", "sealing", "routing", "records")
"""Packages that read what the documents define."""


def block() -> str:
    """For every document a table of the sections that are covered, and those that are not."""
    titles = _titles()
    covering: dict[str, dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    names: dict[SpecRef, str] = {}
    for ref, name, link in _declared():
        section = _place(ref, titles.get(ref.document, {}), own=bool(name))
        covering[ref.document][section][link] = None
        names.setdefault(SpecRef(ref.document, section), name)
    parts = []
    for document in dict.fromkeys((*titles, *covering)):
        known, covered = titles.get(document, {}), covering[document]
        for section in known:
            readers = _sources().get(SpecRef(document, section), {})
            if section not in covered and section.startswith("2") and readers:
                covered[section] = readers
        rows = [
            (one, known.get(one) or names[SpecRef(document, one)], ", ".join(covered[one]))
            for one in sorted(covered, key=_numbers)
        ]
        head = ("Section", "What it defines", "Covered by")
        parts.append(f"## {code(f'[{document}]')}\n\n{table(head, rows)}")
        left = [one for one in known if not (_within(one, covered) or _within(one, known, own=False))]
        if left:
            parts.append(f"Nothing names: {', '.join(f'{one} {known[one]}' for one in left)}.")
    return "\n\n".join(parts)


@cache
def _titles() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for line in _TITLES.read_text(encoding="utf-8").splitlines():
        document, section, title = line.split(" ", 2)
        found[document][section] = title
    return found


def _numbers(section: str) -> list[int]:
    return [int(number) for number in section.split(".")]


def _within(section: str, others: Any, *, own: bool = True) -> bool:
    """Whether a section, or one below it, is among others."""
    return (own and section in others) or any(other.startswith(f"{section}.") for other in others)


def _place(ref: SpecRef, known: dict[str, str], *, own: bool) -> str:
    """The row for what is about a section: that of the nearest title; its ``own`` where it has a name."""
    parts = ref.section.split(".")
    sections = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    nearest = next((one for one in sections if one in known), sections[max(0, len(sections) - 3)])
    return sections[0] if own else nearest


def _declared() -> Iterator[tuple[SpecRef, str, str]]:
    """Section, name ("" for what is about a part of a document), and link of all that names its section."""
    for stem, cls in STRUCTURES.items():
        yield cls.SPEC, cls.__name__, f"[{stem}](structures/{stem}.md)"
        for inner in structures_of(cls)[1:]:
            if inner.SPEC != cls.SPEC:
                yield inner.SPEC, inner.__name__, f"[{inner.stem()}](structures/{stem}.md#{inner.stem()})"
    of_calls = structures_of_calls()
    for cls in of_calls:
        yield cls.SPEC, cls.__name__, f"[{cls.__name__}](rpc-methods.md#{cls.stem()})"
    for cls in _other_types():
        if cls not in of_calls:
            yield cls.SPEC, cls.__name__, code(f"{cls.__module__}.{cls.__name__}")
    for interface in INTERFACES.values():
        yield interface.spec, "", f"[{interface.name}](rpc-methods.md#{interface.name.lower()})"
    for interface in COM_INTERFACES.values():
        document, section = interface.spec.document, interface.spec.section
        yield SpecRef(document, ".".join(section.split(".")[:3])), interface.name, "[queue objects](com.md)"
    declared: tuple[Any, ...] = (
        *ENUMERATIONS.values(),
        *defined_in(constants),
        QueueFormatType,
        QueueSuffixType,
    )
    for members in declared:
        if isinstance(members, type) and issubclass(members, Enum):
            for ref in _cited(members.__doc__ or ""):
                yield ref, "", f"[{members.__name__}](enumerations.md#{members.__name__.lower()})"
    for kind in KINDS:
        for ref in _cited(kind.recognised):
            yield ref, "", f"[{kind.kinds[0]}](bodies.md)"
    for element in elements():
        yield element.SPEC, element.TAG, "[SRMP](srmp.md)"
        for field in xml_fields(element).values():
            if field.section:
                yield SpecRef(element.SPEC.document, field.section), field.tag, "[SRMP](srmp.md)"
    for part, rows in groupby(all_rows().values(), lambda row: row.part):
        for row in rows:
            yield row.spec, "", f"[rules: {PARTS[part].partition(',')[0]}](spec-coverage/{part}.md)"
    for rule in RULES.values():
        for ref in rule.spec:
            # What a structure must be has its own page.
            if ref.section.startswith("3"):
                yield ref, "", f"[{rule.id}](findings/{rule.stem}.md)"


def _other_types() -> Iterator[type[NdrStruct]]:
    """Structures of calls that no parameter holds: they stand in other values."""
    for module in iter_modules(types.__path__, f"{types.__name__}."):
        for cls in vars(import_module(module.name)).values():
            own = isinstance(cls, type) and cls.__module__ == module.name
            if own and issubclass(cls, NdrStruct) and STRUCTURES.get(cls.stem()) is not cls:
                yield cls


def _cited(text: str) -> Iterator[SpecRef]:
    """The sections that a text names: ``[MS-MQMQ] 2.1.2 to 2.1.6``, ``[MS-MQCN] 2.2.4 and 2.2.6``."""
    for document, listed in _CITED.findall(text):
        before: list[int] = []
        for word, section in re.findall(r"(to )?([0-9][0-9.]*)", listed):
            last = _numbers(section.rstrip("."))
            if word and before[:-1] == last[:-1]:
                for number in range(before[-1] + 1, last[-1]):
                    yield SpecRef(document, ".".join(map(str, (*last[:-1], number))))
            yield SpecRef(document, ".".join(map(str, last)))
            before = last


@cache
def _sources() -> dict[SpecRef, dict[str, None]]:
    """The modules whose source names a section: what reads its texts or runs its algorithm."""
    root = Path(msmq_wire.__file__).parent
    found: dict[SpecRef, dict[str, None]] = defaultdict(dict)
    for path in sorted(one for package in _READERS for one in (root / package).rglob("*.py")):
        name = ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")
        for ref in _cited(path.read_text(encoding="utf-8")):
            found[ref][code(name)] = None
    return found
