"""Trying the judge: the corpus of hostile and honest kernels (`judge/corpus.py`), each judged as a candidate is."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from evoengineer.judge.corpus import RAISED, Result, Specimen
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.pool import JudgePool
from evoengineer.judge.verdict import Verdict
from evoengineer.judge.worker import Workers
from evoengineer.problem.catalog import find_problems

_LEAK = "@LEAK@"
_NOTHING_LEAKED = "0"


@dataclass
class Gauntlet:
    """Judges specimens, each in the judge that candidates meet. Use it as a context manager.

    Verdicts that the judge has kept are used, as in a search: attacks on its memory must find it. So the run
    seed is a new one unless `options` name one.
    """

    options: JudgeOptions
    _pools: dict[str, JudgePool] = field(default_factory=dict)
    _workers: Workers | None = None
    _verdicts: dict[str, Future[Verdict]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if self.options.run_seed is None:
            self.options = replace(self.options, run_seed=secrets.randbits(48))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pool in self._pools.values():
            pool.close()
        if self._workers is not None:
            self._workers.close()

    def run(self, chosen: Sequence[Specimen], corpus: Sequence[Specimen]) -> Iterator[Result]:
        """Results in the order of `chosen`, as they are done. `corpus` has the controls."""
        controls = {each.name: each for each in corpus if not each.hostile}
        self._open(dict.fromkeys(each.problem for each in chosen))
        with ThreadPoolExecutor(self.options.worker_count, "integrity") as threads:
            yield from threads.map(lambda each: self._try(each, controls), chosen)

    def _open(self, problems: Iterable[str]) -> None:
        """All problems share the workers; PyTorch is asked for all descriptions at once."""
        if self._workers is None:
            self._workers = Workers(self.options)
        new = [name for name in problems if name not in self._pools]
        for name, description in zip(new, find_problems(new) if new else (), strict=True):
            self._pools[name] = JudgePool(description, self.options, self._workers)

    def _try(self, specimen: Specimen, controls: Mapping[str, Specimen]) -> Result:
        try:
            verdict = self._verdict(specimen)
            honest_us = None
            if specimen.costs is not None and verdict.timing is not None:
                honest = self._verdict(controls[specimen.honest])
                honest_us = honest.timing.time_us if honest.timing else None
        except Exception as error:  # what a candidate brings about must be a verdict: this is the finding
            return Result(specimen, RAISED, f"{type(error).__name__}: {error}".splitlines()[0])
        said = f"{verdict.summary}\n{verdict.evidence}\n{verdict.details}"
        return Result(
            specimen,
            str(verdict.outcome),
            " ".join(verdict.summary.split()),
            verdict.timing.time_us if verdict.timing else None,
            honest_us,
            bool(specimen.unsaid) and specimen.unsaid in said,
        )

    def _verdict(self, specimen: Specimen) -> Verdict:
        """Each is judged once, controls also when an attack is compared with them."""
        with self._lock:
            mine = specimen.name not in self._verdicts
            known = self._verdicts.setdefault(specimen.name, Future())
        if mine:
            try:
                known.set_result(self._judge(specimen))
            except BaseException as error:
                known.set_exception(error)
        return known.result()

    def _judge(self, specimen: Specimen) -> Verdict:
        pool = self._pools[specimen.problem]
        source = specimen.source
        if specimen.first:
            first = pool.judge(specimen.first).result()
            source = source.replace(_LEAK, _leaked(first, specimen.leak))
            pool.build(source).result()  # as a search does, which looks for known machine code
        return pool.judge(source).result()


def _leaked(verdict: Verdict, pattern: str) -> str:
    found = re.search(pattern, f"{verdict.summary}\n{verdict.evidence}") if pattern else None
    return found[1] if found else _NOTHING_LEAKED
