"""`RuleIndex`: the rules of a judge by what they check. A rule that waits is imported when that comes.

The rule kept here: all lists have the order of the rules that were given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msmq_wire.detection.registry import BROKEN, waits_for
from msmq_wire.detection.rule import Over, Rule


class RuleIndex:
    """The rules of a judge; those that are not ``wanted`` are left out.

    ``explaining`` are the ids of rules over records that other rules stand behind, or that explain others.
    ``retired`` are the ids of rules that are asked of no record any more.
    """

    def __init__(self, rules: Mapping[str, Rule], wanted: Callable[[Rule], bool] | None = None) -> None:
        self._rules = rules
        self._wanted = wanted
        self._order = {id_: place for place, id_ in enumerate(rules)}
        self._waiting: dict[str, list[str]] = {}
        self.retired: set[str] = set()
        self._all: list[Rule] = []
        for id_ in rules:
            for what in waits_for(id_):
                self._waiting.setdefault(what, []).append(id_)
        self._add(id_ for id_ in rules if not waits_for(id_))

    def _add(self, ids: Iterable[str]) -> None:
        known = {rule.id for rule in self._all}
        found = (self._rules[id_] for id_ in ids if id_ not in known)
        self._all += (rule for rule in found if self._wanted is None or self._wanted(rule))
        self._all.sort(key=lambda rule: self._order[rule.id])
        self._arrange()

    def _arrange(self) -> None:
        self._over: dict[str, list[Rule]] = {}
        for rule in self._all:
            self._over.setdefault(rule.over, []).append(rule)
        over_records = self._over.get("record", ())
        self.explaining = {id_ for rule in over_records for id_ in rule.behind}
        self.explaining |= {rule.id for rule in over_records if rule.explains or rule.explains_later}
        over_records = [rule for rule in over_records if rule.id not in self.retired]
        self._of_any = [rule for rule in over_records if not rule.types and not rule.codes]
        self._by_type: dict[str, list[Rule]] = {}
        self._by_code: dict[str, list[Rule]] = {}
        for rule in over_records:
            for code in rule.codes:
                self._by_code.setdefault(code, []).append(rule)
            for type_ in () if rule.codes else rule.types:
                self._by_type.setdefault(type_, []).append(rule)

    def _arrived(self, what: str) -> None:
        """Import the rules that wait for something, which has come."""
        if what in self._waiting:
            self._add(self._waiting.pop(what))

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._all)

    def has(self, over: Over) -> bool:
        """Whether any rule checks these, or waits for them."""
        return over in self._waiting or over in self._over

    def over(self, over: Over) -> list[Rule]:
        """The rules that check something else than records, now that there is one."""
        self._arrived(over)
        return self._over.get(over, [])

    def of_type(self, type_: str) -> list[Rule]:
        """The rules over records that check whole packets of a type."""
        self._arrived(type_)
        return [*self._of_any, *self._by_type.get(type_, ())]

    def of_codes(self, type_: str, codes: Sequence[str]) -> list[Rule]:
        """The rules over records of a type with anomalies or errors of these codes."""
        if not codes:
            return []
        self._arrived(BROKEN)
        found = {rule.id: rule for code in codes for rule in self._by_code.get(code, ())}
        return [rule for rule in found.values() if not rule.types or type_ in rule.types]

    def retire(self, rule: Rule) -> None:
        """Ask a rule of no record any more."""
        self.retired.add(rule.id)
        self._arrange()
