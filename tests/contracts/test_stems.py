"""One stem per structure, everywhere: class, schema, fixtures, strategy, docs page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from msmq_wire import strategies
from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.spec import SpecRef
from msmq_wire.wire.registry import HEADERS, PACKETS, STRUCTURES, TYPES
from tests.effort import cuts, examples, in_batches
from tests.fixture_files import HEX_FILES

_ROOT = Path(__file__).resolve().parents[2]
_STEMS = sorted(STRUCTURES)

# Modules that declare no structure of their name.
_SEVERAL = {"acknowledgment", "base", "enumerations", "identification"}

# A text without a length of its own fills the bytes it is given.
_NO_LENGTH = {"wchar_text"}

# What may be missing at the end of the bytes, because nothing in the structure says that it is there:
# padding the text does not mention, parts that are known by their identifier, trailing headers behind
# PacketSize.
_OPTIONAL_TAILS = {
    "soap_header": {"padding"},
    "compound_message_header": {"padding"},
    "mqf_signature_header": {"padding"},
    "multi_queue_format_header": {"administration", "response", "signature"},
    "message_packet": {
        "extension_header",
        "subqueue_header",
        "dead_letter_header",
        "extended_address_header",
    },
}


def test_the_registry_holds_every_module_that_declares_a_structure_and_no_other() -> None:
    folder = _ROOT / "msmq_wire" / "wire"
    found = {
        path.stem for kind in ("types", "headers", "packets") for path in (folder / kind).glob("[!_]*.py")
    }
    assert found == {*STRUCTURES, *_SEVERAL}
    assert set(STRUCTURES) == {*TYPES, *HEADERS, *PACKETS}


@pytest.mark.parametrize("stem", _STEMS)
def test_a_stem_has_a_class_a_schema_and_a_section(stem: str) -> None:
    cls = STRUCTURES[stem]
    assert cls.stem() == stem
    assert isinstance(cls.SPEC, SpecRef)
    assert cls.schema() is cls.schema()


@pytest.mark.parametrize("stem", _STEMS)
def test_a_stem_names_its_module_and_its_test(stem: str) -> None:
    folder = "types" if stem in TYPES else "headers" if stem in HEADERS else "packets"
    assert STRUCTURES[stem].__module__ == f"msmq_wire.wire.{folder}.{stem}"
    assert (_ROOT / "tests" / "wire" / folder / f"test_{stem}.py").is_file()


@pytest.mark.parametrize("stem", _STEMS)
def test_a_stem_has_a_fixture(stem: str, fixtures: Path) -> None:
    assert sorted((fixtures / "packets" / stem).glob("*.hex"))


def test_a_fixture_folder_is_a_stem(fixtures: Path) -> None:
    assert {path.name for path in (fixtures / "packets").iterdir()} == set(STRUCTURES)


def test_the_pages_are_those_of_the_stems_that_were_promised() -> None:
    pages = {path.stem for path in (_ROOT / "docs" / "structures").glob("*.md")}
    assert pages - {"index"} == set(STRUCTURES)


@settings(max_examples=examples(10), suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.parametrize("stem", _STEMS)
def test_a_strategy_makes_values_that_survive_the_wire(stem: str, data: st.DataObject) -> None:
    value = data.draw(strategies.structure(stem))
    assert isinstance(value, STRUCTURES[stem])
    assert decode(encode(value), stem) == value


@pytest.mark.slow
@in_batches(HEX_FILES, name="hex_file", every=1)
def test_a_fixture_is_refused_at_every_cut(hex_file: Path, load: Callable[[Path], bytes]) -> None:
    stem = hex_file.parent.name
    data = load(hex_file)
    whole = inspect(data, stem)
    if whole.error is not None or stem in _NO_LENGTH:
        return
    optional = _OPTIONAL_TAILS.get(stem, set())
    for cut in cuts(whole.consumed):
        result = inspect(data[:cut], stem)
        if result.error is not None:
            assert result.error.code == "missing-bytes", (cut, str(result.error))
            continue
        fields = whole.packet.__struct_fields__
        lost = {name for name in fields if getattr(result.packet, name) != getattr(whole.packet, name)}
        assert lost, cut
        assert lost <= optional, (cut, lost)


@pytest.mark.slow
@in_batches(HEX_FILES, name="hex_file", every=1)
def test_a_cut_structure_yields_everything_before_the_cut(
    hex_file: Path, load: Callable[[Path], bytes]
) -> None:
    stem = hex_file.parent.name
    data = load(hex_file)
    whole = inspect(data, stem)
    if whole.error is not None:
        return
    for cut in cuts(whole.consumed):
        result = inspect(data[:cut], stem)
        if result.error is not None:
            # A field of fixed size is whole or missing, one of variable size may be cut.
            assert result.error.offset <= result.consumed <= cut, (cut, str(result.error))


@pytest.mark.slow
def test_a_cut_adds_no_anomaly(fixtures: Path, load: Callable[[Path], bytes]) -> None:
    added = set()
    for path in (fixtures / "packets").glob("*/*.hex"):
        stem = path.parent.name
        data = load(path)
        whole = inspect(data, stem)
        known = {anomaly.code for anomaly in whole.anomalies}
        for cut in cuts(0 if whole.error else whole.consumed):
            result = inspect(data[:cut], stem)
            if result.error is not None:
                added |= {anomaly.code for anomaly in result.anomalies} - known
    # Alone, with no PacketSize around it, a SoapHeader that ends in its padding is not known to be cut.
    assert added <= {"soap_header.body-section-id"}
