"""The rules: a module for each, which has it as ``RULE``."""

from __future__ import annotations

import importlib
import pkgutil

from msmq_wire.findings.rule import Rule

__all__ = ["rule_of", "stems"]


def stems() -> list[str]:
    """The names of the modules."""
    return [module.name for module in pkgutil.iter_modules(__path__)]


def rule_of(stem: str) -> Rule:
    """The rule of a module."""
    rule: Rule = importlib.import_module(f"{__name__}.{stem}").RULE
    return rule
