"""The ForensicArtifacts definitions are read by the package of their own project."""

from __future__ import annotations

from pathlib import Path

import pytest
from artifacts import definitions, reader, registry  # type: ignore[import-untyped]  # it has no annotations

from msmq_dissect.msmq import KEY, STORAGE

pytestmark = pytest.mark.needs("artifacts")

_FILE = Path(__file__).resolve().parents[3] / "dissectors" / "responders" / "msmq.yaml"


def test_the_definitions_are_read_and_name_public_documents() -> None:
    read = {one.name: one for one in reader.YamlArtifactsReader().ReadFile(str(_FILE))}
    assert list(read) == [
        "WindowsMSMQStorageFiles",
        "WindowsMSMQQueueFiles",
        "WindowsMSMQRegistryKeys",
        "WindowsMSMQ",
    ]
    assert all(one.supported_os == [definitions.SUPPORTED_OS_WINDOWS] for one in read.values())
    assert all(url.startswith("https://learn.microsoft.com/") for one in read.values() for url in one.urls)
    [everything] = read["WindowsMSMQ"].sources
    assert set(everything.names) == set(read) - {"WindowsMSMQ"}


def test_the_group_names_nothing_that_is_not_defined() -> None:
    known = registry.ArtifactDefinitionsRegistry()
    known.ReadFromFile(reader.YamlArtifactsReader(), str(_FILE))
    assert known.GetUndefinedArtifacts() == set()


def test_the_places_are_those_that_the_plugin_searches() -> None:
    read = {one.name: one.sources[0] for one in reader.YamlArtifactsReader().ReadFile(str(_FILE))}
    [files] = read["WindowsMSMQStorageFiles"].paths
    assert (
        files.lower()
        == STORAGE.replace("sysvol/windows", "%%environ_systemroot%%").replace("/", "\\") + "\\*"
    )
    assert KEY in read["WindowsMSMQRegistryKeys"].keys
