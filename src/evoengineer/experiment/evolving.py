"""The verbs of a run in Python: evolve, resume, load_run, list_runs. The command line makes the same objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evoengineer.archive.reading import Trial, summaries
from evoengineer.archive.store import Archive, default_archive
from evoengineer.errors import EvoEngineerError, check_names
from evoengineer.experiment.run import Run
from evoengineer.problem.catalog import address_of
from evoengineer.problem.model import Problem
from evoengineer.search.progress import Progress, Silent
from evoengineer.search.records import Kind, Plan, Settled
from evoengineer.search.settings import NAMES, Settings, read_file, resolve

OnTrial = Callable[[Trial], object]


def evolve(
    problem: str | Path | Problem | None = None,
    *,
    method: str | None = None,
    model: str | None = None,
    trials: int | None = None,
    device: str | None = None,
    seed: int | None = None,
    config: str | Path | None = None,
    name: str | None = None,
    archive: str | Path | None = None,
    on_trial: OnTrial | None = None,
    **settings: Any,
) -> Run:
    """Search for a faster kernel, to the end of the budget.

    What is not given comes from the `config` file (a run.toml), then from the defaults: method `full`, 45 trials, the
    built-in rewriter instead of a model. `settings` are any others of a run.toml, by the same names. `on_trial` is
    called with each trial once it is settled. `name` is the run's, `archive` the file that keeps it.
    """
    given: dict[str, Any] = {
        "method": method,
        "model": model,
        "trials": trials,
        "device": device,
        "seed": seed,
    }
    if problem is not None:
        given["problem"], given["baseline"] = address_of(problem)
    made = new_settings({**given, **settings}, config)
    run = Run.create(made, archive_file(archive), name)
    return _worked(run, {}, on_trial)


def resume(
    run: str | Run, *, archive: str | Path | None = None, on_trial: OnTrial | None = None, **settings: Any
) -> Run:
    """Continue a run that was interrupted, or extend one that is finished (`trials=…`)."""
    found = run if isinstance(run, Run) else load_run(run, archive=archive)
    check_names("resume()", settings, NAMES)
    return _worked(found, settings, on_trial)


def load_run(id: str, *, archive: str | Path | None = None) -> Run:
    """A run by its name or the beginning of it."""
    path = archive_file(archive)
    with Archive(path, read_only=True) as opened:
        return Run(opened.run(id).id, path)


def list_runs(*, archive: str | Path | None = None, problem: str | None = None) -> list[Run]:
    """The runs of an archive, the newest last."""
    path = archive_file(archive)
    with Archive(path, read_only=True) as opened:
        return [Run(each.run.id, path) for each in summaries(opened) if problem in (None, each.run.problem)]


def new_settings(given: Mapping[str, Any], config: str | Path | None = None) -> Settings:
    """What was given wins over the file, the file over the defaults; None is not given."""
    check_names("settings", given, NAMES)
    file = read_file(Path(config)) if config is not None else {}
    where = f"settings {config}: " if config is not None else ""
    return resolve({name: value for name, value in given.items() if value is not None}, file, where)


def archive_file(given: str | Path | None) -> Path:
    """The archive that was chosen, or the user's own."""
    return default_archive() if given is None else Path(given)


def _worked(run: Run, changes: Mapping[str, Any], on_trial: OnTrial | None) -> Run:
    result = run.work(changes, observer=None if on_trial is None else _Caller(on_trial))
    if result.ending.gave_up:
        raise EvoEngineerError(f"run {run.id} stopped: {result.reason}")
    return run


class _Caller(Silent):
    """Watches a run for somebody who wants its trials only."""

    def __init__(self, on_trial: OnTrial) -> None:
        self._on_trial = on_trial

    def settled(self, plan: Plan | None, settled: Settled, progress: Progress) -> None:
        if plan is None or settled.kind is not Kind.TRIAL:
            return
        assert settled.verdict is not None
        assert settled.trial is not None
        self._on_trial(
            Trial(
                number=settled.trial,
                proposal=settled.number,
                operator=plan.operator,
                parents=plan.parents,
                name=settled.name,
                thought=settled.thought,
                source=settled.source,
                verdict=settled.verdict,
                improved=settled.improved,
                tokens=settled.tokens,
                nano_usd=settled.nano_usd,
            )
        )
