"""Every rule of the documents stands in one row, with a check or a reason, and a test or a reason."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from docs.generators.spec_coverage import TESTED, rules_with_tests
from docs.generators.structures import structures_of
from msmq_wire import replay
from msmq_wire.detection.registry import RULES
from msmq_wire.replay.rule_table import FOUND, JUDGED, PARTS, REASONS, all_rows, find, parse, rows
from msmq_wire.wire.registry import STRUCTURES
from tests.needs import need, needs_of_module
from tests.replay.broken import broken_rules
from tests.rules import marked_rules

_TESTS = Path(__file__).parents[1]
_REPLAY = Path(replay.__file__).parent
_ROW = "| MQRR-3.1.4.1-{} | always | answers | - | {} | {} |"


def test_there_are_parts_with_rows() -> None:
    assert sum(len(rows(part)) for part in PARTS) > 2500
    assert all(rows(part) for part in PARTS)


def test_an_id_names_one_row() -> None:
    assert len(all_rows()) == sum(len(rows(part)) for part in PARTS)


def test_the_rows_of_a_section_are_in_order() -> None:
    numbers: dict[str, list[int]] = {}
    for id_ in all_rows():
        section, _, number = id_.rpartition("-")
        numbers.setdefault(section, []).append(int(number))
    assert {section: found for section, found in numbers.items() if found != sorted(found)} == {}


def test_every_row_says_something_in_each_cell() -> None:
    assert [row.id for row in all_rows().values() if not (row.when and row.does and row.reply)] == []


def test_a_row_of_who_is_judged_has_a_check_or_a_reason() -> None:
    found = [row for part in (*JUDGED, *FOUND) for row in rows(part) if row.binds != "client"]
    assert [row.id for row in found if bool(row.checks) is bool(row.reason)] == []


def test_every_check_of_a_row_is_asked_for() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in _REPLAY.rglob("*.py"))
    # Behind a colon stands the action or the member that a check is about: the code puts it there.
    judged = [row for part in JUDGED for row in rows(part)]
    names = {check.rpartition(" ")[2].partition(":")[0] for row in judged for check in row.checks}
    assert sorted(name for name in names if f'"{name}"' not in source and f'"{name}:' not in source) == []


def test_a_check_of_the_binary_protocol_is_a_rule_of_findings_or_an_anomaly() -> None:
    checks = {check for part in FOUND for row in rows(part) for check in row.checks}
    structures = {structure for cls in STRUCTURES.values() for structure in structures_of(cls)}
    anomalies = {f"{structure.stem()}.{must.code}" for structure in structures for must in structure.MUSTS}
    assert sorted(checks - set(RULES) - anomalies) == []


def test_nobody_checks_what_a_client_does() -> None:
    assert [row.id for row in all_rows().values() if row.binds == "client" and row.checks] == []


def test_every_reason_is_given() -> None:
    assert {row.reason for row in all_rows().values()} - {""} == set(REASONS)


@pytest.mark.slow
def test_a_row_has_a_test_of_the_model_or_a_reason() -> None:
    tested = rules_with_tests(*TESTED)
    assert sorted(tested - set(all_rows())) == []
    assert [row.id for row in all_rows().values() if (row.id in tested) is bool(row.untested)] == []
    assert [row.id for row in all_rows().values() if row.untested and len(row.untested) < 10] == []


@pytest.mark.slow
@pytest.mark.parametrize("folder", TESTED)
def test_the_numbers_in_the_source_of_tests_are_those_of_their_marks(folder: str) -> None:
    marked: set[str] = set()
    for path in sorted((_TESTS / folder).rglob("test_*.py")):
        need(*needs_of_module(path))
        name = path.relative_to(_TESTS.parent).with_suffix("")
        marked |= set(marked_rules(importlib.import_module(".".join(name.parts))))
    assert marked == rules_with_tests(folder)


def test_a_breach_is_told_where_a_test_breaks_the_rule_and_nowhere_else() -> None:
    reported = {row.id for part in JUDGED for row in rows(part) if row.checks}
    assert sorted(reported ^ broken_rules()) == []


def test_a_row_knows_its_section_its_method_and_whom_it_binds() -> None:
    row = all_rows()["MQRR-3.1.4.7-33"]
    assert str(row.rule) == row.id
    assert str(row.spec) == "[MS-MQRR] 3.1.4.7"
    assert row.method is not None
    assert row.method.name == "R_StartReceive"
    assert row.binds == "server"
    assert all_rows()["CMQRR-3.1.4.7-1"].binds == "client"
    assert all_rows()["MQBR-3.1.5.1-4"].binds == "queue manager"
    assert all_rows()["MQQB-3.1.5.6-4"].binds == "queue manager"


def test_a_check_is_that_of_its_method_of_another_one_or_of_all() -> None:
    text = "\n".join(
        (
            "### R_GetServerPort",
            _ROW.format(1, "`port`, `R_OpenQueue port`", "-"),
            _ROW.format(2, "process", "no"),
        )
    )
    first, second = parse("remote_read", text)
    assert (first.checks, first.reason, first.untested) == (("port", "R_OpenQueue port"), "", "")
    assert (second.checks, second.reason, second.untested) == ((), "process", "no")
    assert find("no such check", "R_OpenQueue") is None


_CONTRADICTIONS = {
    "com-no-message": "C72",
    "cut-in-padding": "C13",
    "encryption-algorithm": "K4",
    "hash-algorithm-of-applications": "C70",
    "no-transaction": "K3",
    "packet-size": "K7",
    "privacy-level-of-applications": "K4",
    "privacy-without-cipher": "C69",
    "signature-without-hash": "C69",
    "time-to-reach-queue": "C23",
    "value-to-create": "K2",
    "value-to-set": "K2",
    "without-lookup-id:MQ_LOOKUP_RECEIVE_PREV": "C11",
}


def test_checks_that_documents_contradict_name_the_row_of_the_page() -> None:
    declared = [item for row in all_rows().values() for item in row.contradictions.items()]
    assert {check.rpartition(" ")[2]: id_ for check, id_ in declared} == _CONTRADICTIONS
    page = (_TESTS.parent / "docs" / "deviations.md").read_text(encoding="utf-8")
    assert [id_ for _, id_ in declared if f"\n| {id_} | " not in page] == []


def test_a_check_of_a_row_is_contradicted_and_not_its_neighbours() -> None:
    (row,) = parse("remote_read", _ROW.format(1, "`port`, `other port` (K4), `R_OpenQueue port` (C23)", "-"))
    assert row.checks == ("port", "other port", "R_OpenQueue port")
    assert row.contradictions == {"other port": "K4", "R_OpenQueue port": "C23"}
    level = find("privacy-level", "rpc_ACSendMessageEx")
    of_applications = find("privacy-level-of-applications", "rpc_ACSendMessageEx")
    assert level is not None
    assert of_applications is not None
    assert (level.id, level.contradiction) == ("MQMP-2.2.3.2-69", "")
    assert (of_applications.id, of_applications.contradiction) == ("MQMP-2.2.3.2-69", "K4")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (_ROW.format(1, "because", "-"), "neither a check in a code span nor a reason"),
        ("| MQRR-3.1.4.1-1 | always | answers | - |", "a row has 6 cells"),
    ],
)
def test_a_row_that_is_none_is_refused(line: str, what: str) -> None:
    with pytest.raises(ValueError, match=re.escape(what)):
        list(parse("remote_read", line))
