"""The rules. A module has one rule, ``RULE``. A table has several that differ in data only, ``RULES``."""

from __future__ import annotations

import importlib
import pkgutil

from msmq_wire.detection.rule import Rule

__all__ = ["module_of", "modules", "rule_of", "rules_in", "stems"]

_TABLES = {
    "len_ext": "sizes",
    "len_mime": "sizes",
    "len_sec": "sizes",
    "len_soap": "sizes",
    "msg": "diagnosed",
    "net": "diagnosed",
    "qm": "diagnosed",
    "rpc_failed": "diagnosed",
    "rpc_rare": "diagnosed",
    "rpl": "replayed",
    "rte": "routes",
    "txn_again": "diagnosed",
}
"""The table module of a rule, or of a family of rules."""


def modules() -> list[str]:
    """The names of all modules."""
    return [one.name for one in pkgutil.iter_modules(__path__)]


def stems() -> list[str]:
    """The rules that have a module of their own."""
    return [name for name in modules() if name not in _TABLES.values()]


def module_of(stem: str) -> str:
    """The module that has a rule: its own, or a table."""
    return _TABLES.get(stem) or _TABLES.get(stem.partition("_")[0], stem)


def rules_in(module: str) -> tuple[Rule, ...]:
    """The rules of a module, which is imported."""
    loaded = importlib.import_module(f"{__name__}.{module}")
    rules: tuple[Rule, ...] = loaded.RULES if module in _TABLES.values() else (loaded.RULE,)
    return rules


def rule_of(stem: str) -> Rule:
    """A rule, whose module is imported."""
    return next(rule for rule in rules_in(module_of(stem)) if rule.stem == stem)
