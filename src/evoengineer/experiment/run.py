"""A run from its settings: opens problem, proposer, judge and archive, and works through it.

Shared by `evolve`, `resume` and `bench`. Owns what a run's record holds besides the search: the task's facts
and the environment.
"""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoengineer import __version__
from evoengineer.archive.store import Archive, RunRecord, new_run_name
from evoengineer.card.name import DeviceName
from evoengineer.errors import UsageError
from evoengineer.experiment.journal import RunJournal
from evoengineer.search.budget import Budget
from evoengineer.search.endings import LoopOptions, Result
from evoengineer.search.loop import Loop
from evoengineer.search.methods import Method, find_method
from evoengineer.search.settings import Settings
from evoengineer.search.state import SearchState
from evoengineer.search.task import Task, describe_card, describe_value

if TYPE_CHECKING:
    from evoengineer.judge.protocol import Judge
    from evoengineer.problem.catalog import Description
    from evoengineer.propose.protocol import Proposer
    from evoengineer.search.progress import Observer


def resolved_method(settings: Settings) -> tuple[Method, str]:
    method, fingerprint = find_method(settings.method)
    switched = method.with_switches(
        repair=settings.repair, knowledge=settings.knowledge, lookahead=settings.lookahead
    )
    return switched, fingerprint


def open_proposer(settings: Settings) -> Proposer:
    from evoengineer.propose.recording import Match, Recorder, Replay

    proposer: Proposer
    if settings.replay is not None:
        proposer = Replay(Path(settings.replay), Match(settings.match))
    elif settings.model is not None:
        proposer = _open_endpoint(settings)
    else:
        from evoengineer.propose.rewriter import Rewriter

        proposer = Rewriter()
    return proposer if settings.record is None else Recorder(proposer, Path(settings.record))


def _open_endpoint(settings: Settings) -> Proposer:
    from evoengineer.propose.endpoint import Endpoint, EndpointOptions, check_cost_cap
    from evoengineer.propose.prices import find_model
    from evoengineer.propose.retry import RetryPolicy

    assert settings.model is not None
    model = find_model(settings.model, Path(settings.prices) if settings.prices else None)
    check_cost_cap(model, settings.max_cost)
    return Endpoint(
        model,
        EndpointOptions(
            base_url=settings.base_url,
            temperature=settings.temperature,
            max_tokens=settings.max_tokens,
            reasoning_effort=settings.reasoning_effort,
            timeout_seconds=settings.timeout,
            concurrency=settings.concurrency,
            retry=RetryPolicy(attempts=settings.attempts),
        ),
    )


def proposer_name(settings: Settings) -> str:
    return settings.model or ("replay" if settings.replay else "rewriter")


def describe(settings: Settings) -> Description:
    from evoengineer.problem.catalog import find_problem

    return find_problem(settings.problem, Path(settings.baseline) if settings.baseline else None)


def open_judge(settings: Settings) -> Judge:
    from evoengineer.judge import JudgeOptions
    from evoengineer.judge import open_judge as open_pool

    options = JudgeOptions(
        device=DeviceName.parse(settings.device),
        run_seed=settings.judge_seed,
        workers=settings.judge_workers,
        unsafe=settings.unsafe,
    )
    return open_pool(describe(settings), options)


def gather_task(settings: Settings) -> Task:
    """I1's facts, from the problem's description and the card's profile."""
    from evoengineer.toolchain.compilers import find_toolchain

    description = describe(settings)
    problem = description.problem
    version = ".".join(str(part) for part in find_toolchain().version[:2])
    bounds = ", ".join(f"{bound:g} for {dtype}" for dtype, bound in problem.tolerance.relative.items())
    return Task(
        name=problem.name,
        title=problem.title,
        reference=problem.reference_source,
        arguments=tuple(describe_value(value) for value in description.arguments),
        outputs=tuple(describe_value(value) for value in description.outputs),
        cases=tuple(case.name for case in problem.check_cases),
        device=settings.device,
        card=describe_card(settings.device),
        cuda=version,
        tolerance=f"Results are compared with a float64 reference; largest relative error: {bounds}.",
        baseline=problem.baseline.read_text(encoding="utf-8") if problem.baseline else "",
        simulated=DeviceName.parse(settings.device).simulated,
    )


def create_run(archive: Archive, settings: Settings, name: str | None) -> RunRecord:
    """Write a new run into the archive; nothing is called or judged yet."""
    method, fingerprint = resolved_method(settings)
    task = gather_task(settings)
    return archive.create_run(
        id=name or new_run_name(task.name, settings.method),
        problem=task.name,
        method=method.name,
        proposer=proposer_name(settings),
        device=settings.device,
        seed=settings.seed,
        trials=settings.trials,
        settings={**settings.to_json(), "method_fingerprint": fingerprint},
        task=task.to_json(),
        environment=environment(task),
    )


def settings_of(run: RunRecord) -> Settings:
    """The settings that a run was started with."""
    known = {each.name for each in fields(Settings)}
    return Settings(**{name: value for name, value in run.settings.items() if name in known})


def changed(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Settings for a resumed run; only those may change that no prompt depends on."""
    for each in fields(Settings):
        if each.name in changes and not each.metadata["resume"]:
            raise UsageError(f"--{each.name.replace('_', '-')} cannot be changed when a run is resumed")
    return replace(settings, **changes)


def work_through(
    archive: Archive,
    run: RunRecord,
    settings: Settings,
    *,
    proposer: Proposer,
    judge: Judge,
    observer: Observer | None = None,
    total: Budget | None = None,
    on_loop: Callable[[Loop], None] | None = None,
) -> Result:
    """Take a run from wherever it stands to its end. The caller holds the run's lock."""
    method, fingerprint = resolved_method(settings)
    if fingerprint != run.settings.get("method_fingerprint", ""):
        raise UsageError(
            f"run {run.id}: the method's file {settings.method} has changed since the run began; start a new run"
        )
    budget = Budget(
        trials=settings.trials,
        tokens=settings.max_tokens_total,
        usd=settings.max_cost,
        seconds=settings.max_seconds,
        total=total,
    )
    loop = Loop(
        run=run.id,
        state=SearchState(method, Task.from_json(run.task), run.seed),
        journal=RunJournal(archive, run),
        proposer=proposer,
        judge=judge,
        budget=budget,
        options=LoopOptions(
            workers=settings.concurrency, stall_trials=settings.stop_after, target_speedup=settings.target
        ),
        observer=observer,
        ended=run.ending,
    )
    if on_loop is not None:
        on_loop(loop)
    return loop.run()


def environment(task: Task) -> dict[str, Any]:
    """Versions, card and commit, for whoever wants to repeat the run."""
    return {
        "evoengineer": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "cuda": task.cuda,
        "card": list(task.card),
    }


def _commit() -> str:
    """Of the package's own checkout; empty for an installed one."""
    folder = Path(__file__).resolve().parent
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            check=False,
            timeout=5,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
