"""The page in a browser: searching, sorting, opening, keys, anchors, and what axe-core says of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.cli.app import main
from msmq_wire.engines.codec import encode
from msmq_wire.engines.message_builder import build_message
from tests.chromium import Chromium, Tab
from tests.needs import AXE, need
from tests.report.pages import message_record, page_text
from tests.report.test_page import hostile_page

pytestmark = [pytest.mark.check, pytest.mark.browser, pytest.mark.xdist_group("browser")]

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_CAPTURES = {
    "attack": _FIXTURES / "digest" / "attack_in_traffic.pcap",
    "reads": _FIXTURES / "rpc_captures" / "rpc_faults_and_fragments.pcap",
}
_ROWS = "[...document.querySelectorAll('#message-rows > tr:not(.opened)')]"
_STATUS = "document.getElementById('message-status').textContent"
_OPENED = "document.querySelectorAll('.opened').length"
_FOCUS = "document.activeElement"


def _page_of_many() -> str:
    def data(number: int) -> bytes:
        text = f"<order id={number}/>".encode("utf-16-le")
        return encode(
            build_message(r"DIRECT=OS:msg01\private$\orders", text, label=f"parcel-{number:03}", body_type=31)
        )

    return page_text(message_record(data(number), number) for number in range(1, 251))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    with Chromium() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of an attack, of remote reads, of 250 messages, of hostile texts and of nothing."""
    folder = tmp_path_factory.mktemp("pages")
    for name, capture in _CAPTURES.items():
        assert main(["report", str(capture), "-o", str(folder / f"{name}.html"), "--quiet"]) == 0
    for name, text in (("many", _page_of_many()), ("hostile", hostile_page()), ("nothing", page_text(()))):
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {path.stem: path for path in folder.glob("*.html")}


def _column(tab: Tab, number: int) -> list[str]:
    return list(tab.run(f"{_ROWS}.map((row) => row.cells[{number}].textContent)"))


def _search(tab: Tab, words: str, found: int) -> None:
    """Type words into the search field and wait until so many are found."""
    tab.run("document.getElementById('message-search').focus()")
    tab.press(*words)
    tab.until(f"{_STATUS}.endsWith('of {found} found in 250 messages')")


def test_every_word_of_a_search_is_in_each_row_that_is_found(
    chromium: Chromium, pages: dict[str, Path]
) -> None:
    tab = chromium.open(pages["many"])
    assert tab.run(_STATUS) == "1 to 100 of 250 messages"
    _search(tab, "PARCEL-02", 10)
    assert _column(tab, 5) == [f"parcel-{number:03}" for number in range(20, 30)]
    # A word of the body, which a row opens to.
    _search(tab, " id=25/>", 1)
    assert _column(tab, 5) == ["parcel-025"]


def test_an_outcome_shows_the_messages_that_ended_so(chromium: Chromium, pages: dict[str, Path]) -> None:
    tab = chromium.open(pages["attack"])
    field = "document.getElementById('message-outcome')"
    options = tab.run(f"[...{field}.options].map((one) => one.textContent)")
    assert options[0] == "any"
    assert len(options) > 2
    word, _, number = options[1].partition(" (")
    tab.run(f"{field}.selectedIndex = 1; {field}.dispatchEvent(new Event('change'))")
    assert f"of {number.rstrip(')')} found in " in tab.run(_STATUS)
    assert {one.partition(" (")[0] for one in _column(tab, 8)} == {word}


def test_a_head_sorts_by_its_column_and_then_the_other_way(
    chromium: Chromium, pages: dict[str, Path]
) -> None:
    tab = chromium.open(pages["many"])
    head = "document.querySelectorAll('#messages-table thead button')[5]"
    for order, first in (("ascending", "parcel-001"), ("descending", "parcel-250")):
        tab.run(f"{head}.click()")
        assert tab.run(f"{head}.parentElement.getAttribute('aria-sort')") == order
        assert _column(tab, 5)[0] == first


def test_a_row_opens_to_headers_body_and_life_with_keys_alone(
    chromium: Chromium, pages: dict[str, Path]
) -> None:
    tab = chromium.open(pages["attack"])
    tab.run("document.getElementById('message-search').focus()")
    # Past the outcomes and the table, which scrolls, and its ten heads.
    for _ in range(13):
        tab.press("Tab")
    assert tab.run(f"{_FOCUS}.getAttribute('aria-expanded')") == "false"
    name = tab.run(f"{_FOCUS}.textContent")
    tab.press("Enter")
    assert tab.run(f"{_FOCUS}.getAttribute('aria-expanded')") == "true"
    text = tab.run(f"{_FOCUS}.closest('tr').nextElementSibling.textContent")
    for words in ("Priority", "<order id=", "Body", "What became of it", "session acknowledgment ("):
        assert words in text
    assert tab.run(f"{_FOCUS}.textContent") == name
    tab.press(" ")
    assert tab.run(_OPENED) == 0


def test_the_first_key_leads_past_the_links(chromium: Chromium, pages: dict[str, Path]) -> None:
    tab = chromium.open(pages["attack"])
    tab.press("Tab", "Enter")
    assert tab.run(f"{_FOCUS}.id") == "main"


def test_pages_of_the_table_are_turned_by_buttons(chromium: Chromium, pages: dict[str, Path]) -> None:
    tab = chromium.open(pages["many"])
    tab.run("document.getElementById('message-next').click()")
    tab.run("document.getElementById('message-next').click()")
    assert tab.run(_STATUS) == "201 to 250 of 250 messages"
    assert tab.run("document.getElementById('message-next').disabled")
    tab.run("document.getElementById('message-previous').click()")
    assert _column(tab, 0)[0] == "101"


def test_an_anchor_opens_its_message_on_whichever_page_of_the_table(
    chromium: Chromium, pages: dict[str, Path]
) -> None:
    tab = chromium.open(pages["many"], "#message-150")
    assert tab.run(_STATUS).startswith("101 to 200 of")
    assert "parcel-150" in tab.run("document.querySelector('.opened').textContent")
    _search(tab, "parcel-03", 10)
    tab.run("void (location.hash = '#message-7')")
    tab.until("document.getElementById('message-7-opened') !== null")
    assert tab.run(f"{_FOCUS}.closest('tr').id") == "message-7"


def test_links_lead_from_the_digest_to_the_bytes_and_the_message(
    chromium: Chromium, pages: dict[str, Path]
) -> None:
    tab = chromium.open(pages["attack"])
    tab.run("document.querySelectorAll('details').forEach((one) => { one.open = false; })")
    tab.run("document.querySelector('#summary a[href^=\"#finding-\"]').click()")
    tab.until("document.querySelector('details:target')?.open")
    assert "0f 00 00 80" in tab.run("document.querySelector('details:target pre').textContent")
    tab.run("document.querySelector('details:target a[href^=\"#message-\"]').click()")
    tab.until(f"{_OPENED} === 1")
    assert "LEN-ENV" in tab.run("document.querySelector('.opened').textContent")


def test_all_but_notes_is_unfolded_where_it_is_printed_and_folded_again(
    chromium: Chromium, pages: dict[str, Path]
) -> None:
    tab = chromium.open(pages["attack"])
    closed = "document.querySelectorAll('details:not([open])').length"
    notes = tab.run("document.querySelectorAll('.quiet, .quiet details').length")
    before = tab.run(closed)
    assert before > notes > 0
    tab.run("dispatchEvent(new Event('beforeprint'))")
    assert tab.run(closed) == notes
    tab.run("dispatchEvent(new Event('afterprint'))")
    assert tab.run(closed) == before


def test_the_browser_tells_what_a_page_loads_and_axe_what_shuts_people_out(
    chromium: Chromium, tmp_path: Path
) -> None:
    page = tmp_path / "bad.html"
    page.write_text("<!DOCTYPE html><html><body><img src=x><input></body></html>", encoding="utf-8")
    tab = chromium.open(page)
    assert any("loads" in one for one in tab.problems())
    assert {name for name, *_ in _faults(tab)} >= {"image-alt", "label"}


@pytest.mark.parametrize("width", [360, 1400, 1920])
@pytest.mark.parametrize("name", ["attack", "reads", "many", "hostile", "nothing"])
def test_no_page_is_wider_than_its_screen_and_none_loads_or_complains(
    chromium: Chromium, pages: dict[str, Path], name: str, width: int
) -> None:
    tab = chromium.open(pages[name], width=width)
    if name != "nothing":
        tab.run(f"{_ROWS}.slice(0, 30).forEach((row) => row.querySelector('button')?.click())")
    assert tab.run("document.documentElement.scrollWidth") <= width
    assert tab.problems() == []
    assert not tab.run("'alerted' in window || document.querySelectorAll('img, iframe, object').length > 0")


@pytest.mark.parametrize(
    ("width", "dark"), [(1400, False), (1400, True), (390, False)], ids=["light", "dark", "phone"]
)
@pytest.mark.parametrize("name", ["attack", "reads", "many", "hostile", "nothing"])
def test_axe_finds_no_serious_fault(
    chromium: Chromium, pages: dict[str, Path], name: str, width: int, dark: bool
) -> None:
    tab = chromium.open(pages[name], width=width, dark=dark)
    if name != "nothing":
        tab.run(f"{_ROWS}.slice(0, 3).forEach((row) => row.querySelector('button')?.click())")
    tab.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert _faults(tab) == []


def _faults(tab: Tab) -> list[tuple[str, Any, str]]:
    """What axe-core calls serious or critical: the rule, where, and what it says."""
    need("axe-core")
    tab.run(AXE.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = tab.run("axe.run().then((result) => result.violations)")
    return [
        (one["id"], node["target"], node["failureSummary"])
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"][:3]
    ]
