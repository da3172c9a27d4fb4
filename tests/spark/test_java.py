"""Whether Spark can start: what is said of a Java that is missing, old or broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from msmq_wire.spark.java import java_problem


def tells(stub: Path, command: str) -> None:
    stub.write_text(f"#!/bin/sh\n{command}\n")
    stub.chmod(0o755)


def test_without_java_that_is_said(stub: Path) -> None:
    assert not stub.exists()
    assert java_problem() == "Java 17 is needed: there is no java on PATH and JAVA_HOME is not set"


@pytest.mark.parametrize(
    ("reported", "version"),
    [
        ('openjdk version "1.8.0_392"', "8"),
        ('java version "11.0.21" 2023-10-17 LTS', "11"),
        ('openjdk version "16" 2021-03-16', "16"),
    ],
)
def test_an_old_java_is_named(stub: Path, reported: str, version: str) -> None:
    tells(stub, f"echo '{reported}' >&2")
    assert java_problem() == f"Java 17 is needed: {stub} is Java {version}"


@pytest.mark.parametrize(
    "reported",
    ['openjdk version "17.0.9" 2023-10-17', 'java version "21"', 'openjdk version "18-ea" 2022-03-22'],
)
@pytest.mark.parametrize("to", ["1", "2"])
def test_a_java_that_is_new_enough_is_no_problem(stub: Path, reported: str, to: str) -> None:
    tells(stub, f"echo 'Picked up JAVA_TOOL_OPTIONS' >&2; echo '{reported}' >&{to}")
    assert java_problem() is None


@pytest.mark.parametrize("command", ["echo nonsense", "exit 1", r"printf '\377\376 version \374' >&2"])
def test_a_java_that_tells_no_version_is_named(stub: Path, command: str) -> None:
    tells(stub, command)
    assert java_problem() == f"Java 17 is needed: {stub} does not tell its version"


def test_a_java_that_does_not_run_is_named(stub: Path) -> None:
    stub.write_bytes(b"\x7fELF, but not really")
    stub.chmod(0o755)
    assert java_problem() == f"Java 17 is needed: {stub} does not run: Exec format error"


def test_the_java_of_java_home_counts(stub: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tells(stub, "echo 'version \"17\"'")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    java = tmp_path / "jdk" / "bin" / "java"
    assert java_problem() == f"Java 17 is needed: {java} does not run: No such file or directory"
    java.parent.mkdir(parents=True)
    tells(java, "echo 'version \"1.8.0\"'")
    assert java_problem() == f"Java 17 is needed: {java} is Java 8"
