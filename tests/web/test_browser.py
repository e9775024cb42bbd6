"""The dashboard in a real Chromium: start, watch, stop, resume, compare; hostile text; phone, keyboard, themes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.web.browser import WAIT_MS, browser, serving
from tests.web.conftest import HOSTILE

from evoengineer.archive import Archive
from evoengineer.archive.reading import summary

pytest.importorskip("playwright.sync_api")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as opened:
        yield opened


class Looker:
    """A page that notes everything that goes wrong on it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.foreign: list[str] = []
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._hear)
        page.on("dialog", lambda dialog: self.complaints.append("dialog"))
        page.on("request", lambda request: self._note(request.url))

    def _hear(self, line: Any) -> None:
        """A server that ends before the page is closed is none of the page's faults."""
        if line.type == "error" and "ERR_CONNECTION_REFUSED" not in line.text:
            self.complaints.append(line.text)

    def _note(self, address: str) -> None:
        if not address.startswith(("http://127.0.0.1:", "data:")):
            self.foreign.append(address)


@pytest.fixture
def looker(chromium: Any) -> Iterator[Looker]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    made = Looker(context.new_page())
    made.page.set_default_timeout(60_000)
    yield made
    context.close()
    assert made.complaints == []
    assert made.foreign == []


def start(page: Any, address: str, trials: int) -> str:
    """Start a run by the form; the run's name."""
    page.goto(f"{address}/new")
    for name, value in (("problem", "vector_add"), ("method", "free"), ("model", "rewriter")):
        page.select_option(f"select[name={name}]", value)
    page.fill("input[name=trials]", str(trials))
    page.click("#start")
    page.wait_for_url(re.compile(r"/run\?id=vector_add-free-"))
    return str(page.url.split("id=")[1])


def test_a_run_from_the_page_to_its_best_kernel(looker: Looker, tmp_path: Path) -> None:
    archive, page = tmp_path / "archive.db", looker.page
    with serving(archive) as address:
        name = start(page, address, trials=2)
        page.wait_for_selector(
            ".tile b:text-is('finished')", timeout=WAIT_MS
        )  # nobody reloads: the page is told
        with Archive(archive, read_only=True) as opened:
            found = summary(opened, name)
        assert found.trials == 2
        page.wait_for_selector("text=2 / 2")
        page.wait_for_selector("main[data-drawn='3']")  # the baseline and two trials are drawn
        page.click("#best")
        page.wait_for_selector(f"h1:has-text('Proposal {found.best_number}')")
        assert "__global__" in page.inner_text(".code >> nth=0")
        assert page.locator(".code .hll").count() > 0  # the hottest lines
        assert "simulated on sim:rtx4090" in page.inner_text("main")


def trials_of(archive: Path, name: str) -> int:
    with Archive(archive, read_only=True) as opened:
        return summary(opened, name).trials


def test_stop_and_resume(looker: Looker, tmp_path: Path) -> None:
    """More trials than there is time for: it is stopped wherever it is, goes on, and is stopped again."""
    archive, page = tmp_path / "archive.db", looker.page
    with serving(archive) as address:
        name = start(page, address, trials=200)
        page.wait_for_selector("#stop", timeout=WAIT_MS)
        page.click("#stop")
        page.wait_for_selector("#resume", timeout=WAIT_MS)
        with Archive(archive, read_only=True) as opened:
            assert summary(opened, name).run.status != "finished"
        before = trials_of(archive, name)
        page.click("#resume")
        page.wait_for_selector("#stop", timeout=WAIT_MS)
        until = time.monotonic() + WAIT_MS / 1000
        while trials_of(archive, name) <= before:
            assert time.monotonic() < until, "the resumed run does not go on"
            page.wait_for_timeout(500)
        page.click("#stop")
        page.wait_for_selector("#resume", timeout=WAIT_MS)


def test_kernels_and_runs_are_compared(looker: Looker, archive: Path) -> None:
    page = looker.page
    with serving(archive) as address:
        page.goto(f"{address}/trial?run=good&n=3")
        page.fill("input[name=bn]", "4")
        page.click("button:has-text('Compare')")
        page.wait_for_selector("h1:has-text('Two kernels')")
        assert "a profile of 50" in page.inner_text("main")
        assert "a profile of 60" in page.inner_text("main")
        assert page.locator(".code .gd").count() > 0
        page.goto(address)
        page.check("input[value='good']")
        page.check("input[value='b/s/f/toy/full/m/0']")
        page.click("button:has-text('Compare the marked runs')")
        page.wait_for_selector("h1:has-text('Runs compared')")
        assert page.locator(".chart canvas").count() == 1


def test_a_click_on_the_lineage_opens_a_trial(looker: Looker, archive: Path) -> None:
    page = looker.page
    with serving(archive) as address:
        page.goto(f"{address}/run?id=good")
        page.wait_for_selector("main[data-drawn='5']")
        where = page.evaluate(
            """() => { const holder = document.getElementById("lineage"); holder.scrollIntoView();
               const [x, y] = charts.get(holder).convertToPixel({ gridIndex: 0 }, [3, 2.0]);
               const box = holder.getBoundingClientRect(); return [box.x + x, box.y + y]; }"""
        )
        page.mouse.click(*where)
        page.wait_for_selector("h1:has-text('Proposal 3')")


def test_markup_and_scripts_show_as_text(looker: Looker, archive: Path) -> None:
    page = looker.page
    with serving(archive) as address:
        page.goto(address)
        page.click("a:has-text('onerror') >> nth=0")
        page.wait_for_selector("main[data-drawn='2']")
        page.hover("#lineage")
        assert HOSTILE.split("{{")[0] in page.inner_text("h1")
        page.click("#best")
        page.wait_for_selector("#thought")
        assert page.inner_text("#thought") == HOSTILE
        assert HOSTILE in page.inner_text(".code >> nth=0")
        page.goto(f"{address}/?q=fooled")
        page.check("input[name=run]")
        page.click("button:has-text('Compare the marked runs')")
        page.wait_for_selector(".chart canvas")
        assert page.evaluate("window.fooled") is None
        assert page.locator("main img").count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_phone_keyboard_and_theme(looker: Looker, archive: Path, theme: str) -> None:
    page = looker.page
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme=theme)
    with serving(archive) as address:
        for path in ("/", "/new", "/run?id=good", "/trial?run=good&n=3", "/compare?a=good&an=3&b=good&bn=4"):
            page.goto(address + path)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        page.goto(address)
        light = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert light is (theme == "light")
        page.click("#theme")
        assert (
            page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        ) is not light
        page.keyboard.press("/")
        page.keyboard.type("good")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=1 runs")
        page.goto(f"{address}/trial?run=good&n=1")
        page.keyboard.press("n")
        page.wait_for_selector("h1:has-text('Proposal 2')")
        page.keyboard.press("p")
        page.wait_for_selector("h1:has-text('Proposal 1')")


def test_a_page_learns_of_a_new_run(looker: Looker, archive: Path) -> None:
    from tests.report.made import Made, add_run

    page = looker.page
    with serving(archive) as address:
        page.goto(address)
        page.wait_for_selector("text=3 runs")
        time.sleep(1)  # the page's stream of events is open
        add_run(archive, "latest", [Made(50)])
        page.wait_for_selector("text=latest", timeout=WAIT_MS)


def test_the_report_draws_itself_from_a_file(looker: Looker, archive: Path, tmp_path: Path) -> None:
    from evoengineer.cli import main

    assert main(["report", "--archive", str(archive), "--out", str(tmp_path / "out")]) == 0
    page = looker.page
    page.goto((tmp_path / "out" / "report.html").as_uri())
    page.wait_for_selector(".chart canvas >> nth=2")
    assert page.evaluate("window.fooled") is None
    assert page.locator("img").count() == 0
    looker.foreign.clear()  # the file itself
