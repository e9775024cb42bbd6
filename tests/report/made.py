"""Archives with runs whose every figure is written down: for tests that recompute a report by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evoengineer.archive import Archive
from evoengineer.experiment.journal import RunJournal
from evoengineer.judge.verdict import Outcome, Timing, Verdict
from evoengineer.propose.parse import Parsed
from evoengineer.propose.protocol import Estimate, Reply, Usage
from evoengineer.search.records import Kind, Plan, Prompt, Settled


@dataclass(frozen=True)
class Made:
    """One trial: a time, or the outcome that it came to."""

    time_us: float | None = None
    outcome: Outcome = Outcome.VALID
    tokens: int = 100
    parents: tuple[int, ...] = (0,)
    source: str = ""
    name: str = ""
    thought: str = ""


def add_run(
    path: Path,
    id: str,
    trials: Sequence[Made],
    *,
    problem: str = "suite/family/toy",
    method: str = "free",
    model: str = "toy-model",
    device: str = "sim:rtx4090",
    seed: int = 0,
    baseline_us: float = 100.0,
    light_us: float | None = 10.0,
    pytorch_us: float | None = None,
    settings: dict[str, Any] | None = None,
    finished: bool = True,
) -> None:
    """A run with a baseline and these trials, as the search would have written it."""

    def judged(outcome: Outcome, time_us: float | None) -> Verdict:
        timing = None
        if outcome is Outcome.VALID:
            assert time_us is not None
            speedup = baseline_us / time_us
            timing = Timing(
                device, device.startswith("sim"), time_us, (time_us, time_us), baseline_us, speedup, (speedup, speedup),
                pytorch_us=pytorch_us, speed_of_light_us=light_us, profile=f"a profile of {time_us}",
            )  # fmt: skip
        return Verdict(
            outcome,
            f"made {outcome}",
            "evidence",
            timing=timing,
            problem=problem,
            seconds={"build": 1.5, "run": 0.5},
        )

    with Archive(path) as archive:
        record = archive.create_run(
            id=id, problem=problem, method=method, proposer=model, device=device, seed=seed, trials=len(trials),
            settings=settings or {}, task={}, environment={},
        )  # fmt: skip
        journal = RunJournal(archive, record)
        journal.open_session()
        best = baseline_us
        journal.baseline(
            f"// baseline of {problem}\n__global__ void k() {{}}\n", judged(Outcome.VALID, baseline_us)
        )
        for number, trial in enumerate(trials, 1):
            source = trial.source or f"// kernel {number} of {id}\n__global__ void k() {{}}\n"
            name, thought = trial.name or f"kernel {number}", trial.thought or f"thought {number}"
            verdict = judged(trial.outcome, trial.time_us)
            prompt = Prompt("system text", f"prompt {number} of {id}", f"{id}-{number}", "1")
            plan = Plan(number, number - 1, "free", ("I1",), trial.parents, (), (), 0, prompt, 0)
            journal.planned(plan, Estimate(0, 0))
            journal.replied(
                number,
                Reply(f"reply {number}", model, Usage(trial.tokens, 0, 0, 1000)),
                Parsed(source, name, thought),
            )
            journal.judged(number, verdict)
            improved = trial.time_us is not None and trial.time_us < best
            best = min(best, trial.time_us or best)
            settled = Settled(
                number, Kind.TRIAL, number, source, name, thought, verdict,
                tokens=trial.tokens, nano_usd=1000, improved=improved,
            )  # fmt: skip
            journal.settled(plan, settled, f"build {number}", None)
        journal.flush()
        if finished:
            journal.ended("finished", "trials", "all trials are done")
