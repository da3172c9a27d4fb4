"""Writes the generated parts of the documentation; with ``--check`` says what is out of date.

Structure pages, methods of calls, elements of SRMP, enumerations, anomaly codes, rules, the coverage table,
columns of messages, their attributes in Python, Arrow tables, what Spark reads and fills, generated code, the
command reference, manual pages, the JSON Schemas and the signatures for type checkers are made from the
declarations and the program itself. Text outside the markers is written by hand and kept.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# ruff: noqa: E402  (the checkout has to be importable before these)
from docs.generators import (
    anomalies,
    arrow_tables,
    attributes,
    bodies,
    call_constants,
    calls,
    columns,
    com,
    commands,
    coverage,
    engines,
    enumerations,
    filters,
    findings,
    link_types,
    man_pages,
    python_names,
    replay_rules,
    schemas,
    spark_tables,
    spec_coverage,
    srmp,
    structures,
    suricata,
    type_stub,
    visibility,
)
from docs.generators.markers import filled, page

DOCS = ROOT / "docs"


def generated() -> dict[Path, str]:
    """Every file with a generated part, as it has to be."""
    files: dict[Path, str] = {}

    def fill(path: Path, title: str, blocks: dict[str, str]) -> None:
        text = path.read_text(encoding="utf-8") if path.exists() else page(title, blocks)
        files[path] = filled(text, blocks)

    files[ROOT / "msmq_wire" / "__init__.pyi"] = type_stub.text()
    files[ROOT / "msmq_wire" / "strategies" / "overloads.pyi"] = type_stub.strategies_text()
    for stem, (title, block) in structures.pages().items():
        fill(DOCS / "structures" / f"{stem}.md", title, {"structure": block})
    fill(DOCS / "structures" / "index.md", "Structures", {"index": structures.index()})
    menu = ROOT / "mkdocs.yml"
    files[menu] = filled(menu.read_text(encoding="utf-8"), {"structures": structures.navigation()}, "#")
    blocks = {
        "enumerations": enumerations.block(),
        "call-constants": call_constants.constants_block(),
        "statuses": call_constants.statuses_block(),
    }
    fill(DOCS / "enumerations.md", "Enumerations", blocks)
    fill(DOCS / "rpc.md", "Remote read and other calls", {"interfaces": calls.interfaces_block()})
    blocks = {"methods": calls.methods_block(), "structures": calls.structures_block()}
    fill(DOCS / "rpc-methods.md", "Methods of calls", blocks)
    blocks = {
        "interfaces": com.interfaces_block(),
        "methods": com.methods_block(),
        "objects": com.objects_block(),
    }
    fill(DOCS / "com.md", "Queue objects: calls over COM", blocks)
    fill(DOCS / "bodies.md", "Message bodies", {"kinds": bodies.kinds_block()})
    blocks = {"answers": srmp.answers_block(), "elements": srmp.elements_block()}
    fill(DOCS / "srmp.md", "SRMP: messages over HTTP", blocks)
    fill(DOCS / "anomalies.md", "Anomaly codes", {"anomalies": anomalies.block()})
    fill(DOCS / "findings.md", "Findings", {"index": findings.index()})
    title = "What a capture can and cannot tell"
    fill(DOCS / "what-a-capture-tells.md", title, {"needs": visibility.needs_block()})
    for stem, (title, block) in findings.pages().items():
        fill(DOCS / "findings" / f"{stem}.md", title, {"rule": block})
    fill(DOCS / "coverage.md", "Coverage", {"coverage": coverage.block(), "link-types": link_types.block()})
    fill(DOCS / "arrow.md", "Columns and Arrow tables", {"tables": arrow_tables.block()})
    fill(DOCS / "engines.md", "Engines", engines.blocks())
    fill(DOCS / "python-api.md", "Python API", python_names.blocks())
    fill(DOCS / "json.md", "JSON output", columns.blocks())
    fill(DOCS / "replay.md", "Replay", {"rules": replay_rules.block()})
    fill(DOCS / "spec-coverage.md", "Coverage of the rules", spec_coverage.blocks())
    for part, text in spec_coverage.pages().items():
        files[DOCS / "spec-coverage" / f"{part}.md"] = text
    fill(DOCS / "suricata.md", "Suricata", suricata.blocks())
    fill(DOCS / "command-line.md", "Command line", commands.blocks())
    fill(DOCS / "filter.md", "Filters", filters.blocks())
    fill(DOCS / "spark.md", "Spark", {"options": spark_tables.options_block()})
    fill(DOCS / "spark-tables.md", "Tables on Spark", {"tables": spark_tables.tables_block()})
    for name, text in man_pages.pages().items():
        files[DOCS / "man" / name] = text
    for name, text in schemas.files().items():
        files[DOCS / "schema" / name] = text
    for name, text in attributes.modules().items():
        files[ROOT / "msmq_wire" / "api" / f"{name}.py"] = text
    return files


def main(arguments: list[str]) -> int:
    """Write the files; with ``--check`` name those that differ instead, and return 1 if there are any."""
    if arguments not in ([], ["--check"]):
        print("usage: python docs/generate.py [--check]", file=sys.stderr)
        return 2
    files = generated()
    folders = tuple(DOCS / name for name in ("structures", "findings", "man", "schema", "spec-coverage"))
    stray = [path for folder in folders for path in sorted(folder.glob("*.*")) if path not in files]
    stale = [
        path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if arguments:
        for path in (*stale, *stray):
            why = "describes nothing" if path in stray else "is out of date: run python docs/generate.py"
            print(f"{path.relative_to(ROOT)} {why}", file=sys.stderr)
        return 1 if stale or stray else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
