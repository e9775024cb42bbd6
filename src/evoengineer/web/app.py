"""The routes of the dashboard, and what each page shows. Names of runs are query parameters: they may hold anything."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)  # fmt: skip
from starlette.routing import Route
from starlette.types import ASGIApp

from evoengineer.archive import browsing, reading
from evoengineer.archive.reading import RunSummary
from evoengineer.archive.store import Archive
from evoengineer.card.name import DeviceName
from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.judge.verdict import Outcome
from evoengineer.report.facts import read_facts
from evoengineer.report.highlight import highlighted, highlighted_difference, hot_lines
from evoengineer.report.numbers import count
from evoengineer.report.tables import percent, times
from evoengineer.report.text import cost, duration
from evoengineer.report.writing import ASSETS, ECHARTS, json_text
from evoengineer.web.events import changes, stamp
from evoengineer.web.guard import Guard
from evoengineer.web.work import Work

FOLDER = Path(__file__).parent
RUNS_ON_A_PAGE = 100
_STATIC = {
    "style.css": ASSETS / "style.css",
    "charts.js": ASSETS / "charts.js",
    "echarts.js": ECHARTS,
    "app.js": FOLDER / "static" / "app.js",
}


class Dashboard:
    """The pages over one archive."""

    def __init__(self, archive: Path, guard: Guard) -> None:
        self._path = archive
        self._guard = guard
        self._work = Work(archive)
        self._counted: tuple[object, list[RunSummary]] | None = None
        self.ending: Callable[[], bool] = lambda: False  # whether open streams should come to an end

    def app(self) -> ASGIApp:
        """The application, guarded. Templates are compiled now, not when the first page is asked for."""
        for name in _templates().list_templates():
            _templates().get_template(name)
        routes = [
            Route("/", self._page(self.runs)),
            Route("/run", self._page(self.run)),
            Route("/run/points", self._page(self.points)),
            Route("/trial", self._page(self.trial)),
            Route("/compare", self._page(self.compare)),
            Route("/new", self._page(self.new)),
            Route("/start", self._action(self.start), methods=["POST"]),
            Route("/stop", self._action(self.stop), methods=["POST"]),
            Route("/resume", self._action(self.resume), methods=["POST"]),
            Route("/events", self.events),
            Route("/static/{name}", static),
        ]
        handlers: Any = {EvoEngineerError: self._failed, HTTPException: self._failed}
        return self._guard.wrap(Starlette(routes=routes, exception_handlers=handlers))

    # -- pages ----------------------------------------------------------------------------------------------------

    def runs(self, request: Request) -> Response:
        """All runs, the newest first, filtered."""
        asked = request.query_params
        text, wanted = asked.get("q", "").lower(), asked.get("status", "")
        rows = []
        if self._path.is_file() and self._path.stat().st_size:
            with Archive(self._path, read_only=True) as archive:
                for each in reversed(self._summaries(archive)):
                    run = each.run
                    names = (run.id, run.problem, run.method, run.proposer, run.device)
                    if text and not any(text in name.lower() for name in names):
                        continue
                    status = reading.status(archive, run)
                    if wanted in ("", status):
                        rows.append((each, status))
        page = _page_number(asked.get("page"), -(-len(rows) // RUNS_ON_A_PAGE))
        shown = rows[(page - 1) * RUNS_ON_A_PAGE : page * RUNS_ON_A_PAGE]
        return self._html(
            "runs.html", request, rows=shown, total=len(rows), page=page, pages=max(1, -(-len(rows) // RUNS_ON_A_PAGE)),
            statuses=("running", "finished", "stopped", "interrupted"),
        )  # fmt: skip

    def run(self, request: Request) -> Response:
        """One run: totals, charts (their data comes from `points`), and a part of its proposals."""
        name, asked = request.query_params.get("id", ""), request.query_params
        under_way = self._work.under_way(name)
        try:
            with Archive(self._path, read_only=True) as archive:
                summary = reading.summary(archive, name)
                if summary.run.id != name:
                    return RedirectResponse(str(request.url.replace_query_params(id=summary.run.id)), 303)
                status = reading.status(archive, summary.run)
                part = browsing.proposals_part(
                    archive, name, outcome=asked.get("outcome", ""), text=asked.get("q", ""),
                    sort=asked.get("sort", "number"), page=_page_number(asked.get("page")),
                )  # fmt: skip
        except UsageError:
            if not (under_way or self._work.last_words(name)):
                raise
            return self._html(
                "starting.html", request, name=name, under_way=under_way, words=self._work.last_words(name)
            )
        return self._html(
            "run.html", request, summary=summary, run=summary.run, status=status, part=part,
            tiles=_tiles(summary, status),
            outcomes=[str(outcome) for outcome in Outcome], under_way=under_way or status == "running",
            words="" if under_way else self._work.last_words(name),
        )  # fmt: skip

    def points(self, request: Request) -> Response:
        """What charts of a run draw, from a proposal on."""
        after = request.query_params.get("after", "-1")
        with Archive(self._path, read_only=True) as archive:
            run = archive.run(request.query_params.get("id", ""))
            number = int(after) if after.removeprefix("-").isdigit() and len(after) < 12 else -1
            return JSONResponse(browsing.points(archive, run.id, number))

    def trial(self, request: Request) -> Response:
        """One proposal in full."""
        run, number = request.query_params.get("run", ""), _number(request.query_params.get("n"))
        with Archive(self._path, read_only=True) as archive:
            record = archive.run(run)
            found = browsing.proposal(archive, record.id, number)
            system, prompt, reply = reading.exchange(archive, record.id, number)
            verdict = reading.verdict(archive, record.id, number)
            parents = [browsing.proposal(archive, record.id, parent) for parent in found.parents]
            baseline = browsing.proposal(archive, record.id, 0) if number else None
        timing = verdict.timing if verdict else None
        hot = hot_lines(timing.launches) if timing else {}
        against = {f"parent {each.number}": each for each in parents if each.number}
        if baseline is not None:
            against["the baseline"] = baseline
        return self._html(
            "trial.html", request, run=record, found=found, system=system, prompt=prompt, reply=reply or "",
            verdict=verdict, timing=timing, hot=hot, source=_markup(highlighted(found.source, hot)),
            differences=[
                (name, _markup(highlighted_difference(each.source, found.source, name, f"proposal {number}")))
                for name, each in against.items()
            ],
        )  # fmt: skip

    def compare(self, request: Request) -> Response:
        """Two kernels (`a`, `an`, `b`, `bn`: run and number), or runs (`run`, several times)."""
        asked = request.query_params
        if asked.get("a"):
            return self._compare_kernels(request)
        with Archive(self._path, read_only=True) as archive:
            known = [archive.run(name).id for name in dict.fromkeys(asked.getlist("run")[:20])]
            facts = read_facts(archive, known) if known else []
        curves = {
            "kind": "lines", "x": "trial", "y": "speedup",
            "series": [{"name": run.id, "values": run.curve} for run in facts],
        }  # fmt: skip
        return self._html(
            "compare_runs.html",
            request,
            facts=facts,
            curves=json_text(curves),
            groups=count(facts).groups if facts else (),
        )

    def _compare_kernels(self, request: Request) -> Response:
        asked = request.query_params
        sides = []
        with Archive(self._path, read_only=True) as archive:
            for run, number in ((asked["a"], asked.get("an")), (asked.get("b", ""), asked.get("bn"))):
                record = archive.run(run)
                found = browsing.proposal(archive, record.id, _number(number))
                verdict = reading.verdict(archive, record.id, found.number)
                hot = hot_lines(verdict.timing.launches) if verdict and verdict.timing else {}
                sides.append({
                    "run": record, "found": found, "verdict": verdict, "timing": verdict.timing if verdict else None,
                    "source": _markup(highlighted(found.source, hot)),
                })  # fmt: skip
        old, new = sides[0]["found"], sides[1]["found"]
        difference = highlighted_difference(
            old.source, new.source, f"{asked['a']} {old.number}", f"{asked.get('b', '')} {new.number}"
        )
        return self._html("compare_kernels.html", request, sides=sides, difference=_markup(difference))

    def new(self, request: Request) -> Response:
        """The form that starts a run."""
        return self._html("new.html", request, choices=self._work.choices())

    def _summaries(self, archive: Archive) -> list[RunSummary]:
        """Of all runs, counted again only when the archive has changed."""
        now = stamp(self._path)
        if self._counted is None or self._counted[0] != now:
            self._counted = now, reading.summaries(archive)
        return self._counted[1]

    # -- actions --------------------------------------------------------------------------------------------------

    def start(self, fields: dict[str, str]) -> str:
        return self._work.start(fields)

    def stop(self, fields: dict[str, str]) -> str:
        self._work.stop(fields.get("id", ""))
        return fields.get("id", "")

    def resume(self, fields: dict[str, str]) -> str:
        self._work.resume(fields.get("id", ""), fields.get("trials", ""))
        return fields.get("id", "")

    async def events(self, request: Request) -> Response:
        """The stream that says when to ask again."""
        headers = {"x-accel-buffering": "no"}
        return StreamingResponse(
            changes(self._path, self.ending), media_type="text/event-stream", headers=headers
        )

    # -- around them ----------------------------------------------------------------------------------------------

    def _page(self, page: Callable[[Request], Response]) -> Callable[[Request], Any]:
        """In a thread: the archive is read synchronously. The time it took is in the answer's head."""

        def timed(request: Request) -> Response:
            begin, busy = time.perf_counter(), time.thread_time()
            response = page(request)
            wall, processor = time.perf_counter() - begin, time.thread_time() - busy
            response.headers["server-timing"] = f"page;dur={1e3 * wall:.1f}, cpu;dur={1e3 * processor:.1f}"
            return response

        async def handler(request: Request) -> Response:
            return await run_in_threadpool(timed, request)

        return handler

    def _action(self, action: Callable[[dict[str, str]], str]) -> Callable[[Request], Any]:
        """A form that changes something leads back to the run's page."""

        async def handler(request: Request) -> Response:
            run = await run_in_threadpool(action, await self._guard.form(request))
            return RedirectResponse(_run_address(run), 303)

        return handler

    async def _failed(self, request: Request, error: Exception) -> Response:
        code = error.status_code if isinstance(error, HTTPException) else 400
        text = error.detail if isinstance(error, HTTPException) else str(error)
        return self._html("failed.html", request, status_code=code, text=text)

    def _html(self, template: str, request: Request, status_code: int = 200, **values: Any) -> HTMLResponse:
        page = (
            _templates()
            .get_template(template)
            .render(
                **values,
                asked=request.query_params,
                secret=self._guard.forgery_secret,
                archive=self._path.name,
            )
        )
        return HTMLResponse(page, status_code)


def static(request: Request) -> Response:
    """Only files that are named here."""
    file = _STATIC.get(request.path_params["name"])
    if file is None:
        return PlainTextResponse("no such file\n", 404)
    return FileResponse(file, headers={"cache-control": "max-age=300"})


@cache
def _templates() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {"times": times, "percent": percent, "cost": cost, "duration": duration}
    made.filters |= {"when": lambda at: time.strftime("%Y-%m-%d %H:%M", time.localtime(at))}
    made.globals |= {"run_address": _run_address, "trial_address": _trial_address}
    return made


def _run_address(run: str) -> str:
    return f"/run?{urlencode({'id': run})}"


def _trial_address(run: str, number: int) -> str:
    return f"/trial?{urlencode({'run': run, 'n': number})}"


def _tiles(summary: RunSummary, status: str) -> list[tuple[str, str]]:
    """(figure, what it is)."""
    run = summary.run
    simulated = " simulated" if DeviceName.parse(run.device).simulated else ""
    left = "-"
    if status == "running" and summary.trials:
        left = duration(summary.seconds / summary.trials * max(0, run.trials - summary.trials))
    return [
        (status, run.reason or "status"),
        (f"{summary.trials} / {run.trials}", "trials"),
        (times(summary.best_speedup), "best speedup over the baseline"),
        ("-" if summary.best_us is None else f"{summary.best_us:.2f} us", f"best time{simulated}"),
        (percent(summary.valid / summary.trials if summary.trials else None), "functional validity"),
        (percent(summary.compiled / summary.trials if summary.trials else None), "compile validity"),
        (f"{summary.tokens:,}", "tokens"),
        (cost(summary.nano_usd), "cost"),
        (duration(summary.seconds), "time worked"),
        (left, "estimated time left"),
    ]


def _page_number(text: str | None, most: int = 1_000_000) -> int:
    return min(max(1, int(text)), max(1, most)) if text and text.isdigit() and len(text) < 9 else 1


def _number(text: str | None) -> int:
    if not text or not text.isdigit() or len(text) > 9:
        raise UsageError("which proposal? Its number is missing.")
    return int(text)


def _markup(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)
