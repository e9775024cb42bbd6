"""The loop: proposals and judging overlap, results are settled in the order in which they were planned.

The order of planning and settling is fixed, whatever the number of workers and however fast they are:

    plan 1 … plan W, settle 1, plan W+1, settle 2, plan W+2, …

with W the method's look-ahead. A proposal is thus planned from exactly the results of those W and more places
before it, and with a deterministic proposer and judge a run is repeatable bit for bit. A trial, and the most
that a call can cost, are reserved when a proposal is planned; what turns out not to be charged (a duplicate, a
call that failed) is given back when it is settled, and a further proposal takes its place.

Duplicates are recognised before they are judged when the earlier text is already known, and in any case when
they are settled. Every event is in the journal before it is acted on; a journal of a run that was killed is
taken up where it ends.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from typing import Any

from evoengineer.errors import EnvironmentFailure, EvoEngineerError
from evoengineer.judge.protocol import Built, Judge, Standing
from evoengineer.judge.verdict import Verdict
from evoengineer.propose.parse import Parsed
from evoengineer.propose.protocol import (
    Asked,
    Attempt,
    Exhausted,
    Proposer,
    ProposerError,
    Reply,
    Request,
    Stopped,
)
from evoengineer.search.budget import Budget
from evoengineer.search.endings import Ending, LoopOptions, Result, budget_reason, early_end
from evoengineer.search.journal import Journal
from evoengineer.search.progress import Observer, Progress, Silent
from evoengineer.search.reading import read_reply
from evoengineer.search.records import BASELINE_NUMBER, Kind, Plan, Restored, Settled
from evoengineer.search.state import SearchState, member_of
from evoengineer.search.tuning import tune
from evoengineer.search.work import Work, kernel_id

_TICK_SECONDS = 0.5


class Loop:
    """One run, from wherever its journal ends to the end of its budget. `run` may be called once."""

    def __init__(
        self,
        *,
        run: str,
        state: SearchState,
        journal: Journal,
        proposer: Proposer,
        judge: Judge,
        budget: Budget,
        options: LoopOptions | None = None,
        observer: Observer | None = None,
        ended: str = "",
        standing: Callable[[], Standing] | None = None,
    ) -> None:
        """`ended`: how the last session of the run ended; empty for a new run and one that was killed. `standing`
        tells who judges, on a cluster."""
        self.run_id = run
        # A run that gave up on its proposer gives it another chance; whatever else was decided is decided again.
        self._forgives = ended in (Ending.REPEATS, Ending.PROPOSER)
        self.state, self.journal, self.proposer, self.judge = state, journal, proposer, judge
        self.budget = budget
        self.options = options or LoopOptions()
        self.observer: Observer = observer or Silent()
        self._standing = standing
        self.progress = Progress(limit=budget.trials.limit)
        self._work: dict[int, Work] = {}  # planned, not settled
        self._to_call: list[Work] = []  # planned just now
        self._next_plan = 1
        self._next_settle = 1
        self._kernels: dict[str, int] = {}  # first settled proposal by text
        self._builds: dict[str, int] = {}  # … and by machine code
        self._inbox: queue.SimpleQueue[tuple[str, int, Any]] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._give_up = threading.Event()  # the time is up: what is under way is left to `resume`, too
        self._ending: tuple[Ending, str] | None = None
        self._closed = False  # nothing more is planned
        self._interrupted = False
        self._pool = ThreadPoolExecutor(self.options.workers, thread_name_prefix="proposer")

    def interrupt(self) -> None:
        """Finish cleanly: no new calls; what was paid for is judged and kept. Safe in a signal handler."""
        self._interrupted = True
        self._inbox.put(("interrupted", 0, None))  # to wake the loop

    @property
    def out_of_time(self) -> bool:
        """Whether what was under way was left alone, since the time is up."""
        return self._give_up.is_set()

    def run(self) -> Result:
        """Work until the budget or an ending stops it."""
        try:
            self._restore()
            self._seed()
            self._work_through()
            self._tune()
        except Exception:
            self._salvage()
            raise
        except BaseException:
            self._stop.set()
            self._pool.shutdown(wait=False, cancel_futures=True)
            raise
        self._pool.shutdown(wait=not self._give_up.is_set(), cancel_futures=True)
        if self._give_up.is_set():
            self._collect()
        ending, reason = self._ending or (Ending.FINISHED, "all trials are done")
        self._note_time()
        self.journal.ended(ending.status, str(ending), reason)
        return Result(ending, reason, self.progress)

    def _tune(self) -> None:
        """Turn the knobs of promising kernels, unless the run was halted."""
        best = self.state.best
        if self.options.tune == 0 or best is None or self._stop.is_set():
            return
        try:
            tuned = tune(
                self.state.fastest,
                self.options.tune,
                self.state.seed,
                self.judge,
                self.journal,
                known=(each.source for each in self.state.tried),
                stopped=lambda: self._interrupted or self.budget.out_of_time(),
                on_tuned=lambda each: self.observer.tuned(each, self.progress),
            )
        except EnvironmentFailure as error:
            self._halt(Ending.ENVIRONMENT, f"{error}; `resume` continues")
            return
        if tuned is not None and tuned.time_us < best.time_us:
            self.progress.best = tuned
        if self._interrupted:
            self._halt(Ending.INTERRUPTED, "interrupted; `resume` continues")

    def _salvage(self) -> None:
        """Something of ours or of the user's failed. Answers under way are paid for: they are kept for `resume`."""
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
        with suppress(Exception):  # the first error is the one to report
            self._collect()

    def _collect(self) -> None:
        """Keep the answers that have arrived and were not looked at."""
        while True:
            try:
                event, number, value = self._inbox.get(timeout=0)
            except queue.Empty:
                break
            if event == "replied" and self._work[number].reply is None:
                self._keep(self._work[number], value)
            elif event == "attempted":
                self.journal.attempted(value)
        self.journal.flush(paid=True)

    def _work_through(self) -> None:
        while True:
            if self._interrupted and not self._stop.is_set():
                self._halt(Ending.INTERRUPTED, "interrupted; `resume` continues")
            self._advance()
            if not self._waiting():
                return
            try:
                event, number, value = self._inbox.get(timeout=self._longest_wait())
            except queue.Empty:
                event, number, value = "tick", 0, None
            self._handle(event, number, value)
            self._watch_time()
            self._note_time()
            self.observer.tick(self.progress)

    def _advance(self) -> None:
        """Settle and plan as far as the fixed order allows; make the calls once that is in the journal."""
        while True:
            if self._plan_next():
                continue
            work = self._work.get(self._next_settle)
            if work is None or not work.complete:
                break
            if work.skipped and work.verdict is None and self._first(work) is None:
                work.skipped = False  # what it seemed to repeat came to nothing: it stands for itself
                self._examine(work)
                break
            self._settle(work)
        self.journal.flush()
        for work in self._to_call:
            self._call(work)
        self._to_call.clear()

    def _waiting(self) -> bool:
        """Whether something under way will still report."""
        if self._give_up.is_set():
            return False
        if not self._stop.is_set():
            return bool(self._work)
        return any(
            not work.complete
            and not work.stuck
            and (work.reply is not None or (work.future is not None and not work.future.cancelled()))
            for work in self._work.values()
        )

    # -- starting -----------------------------------------------------------------------------------------

    def _restore(self) -> None:
        """Fold the journal into the state; take up what was under way."""
        settled: dict[int, tuple[Restored, Settled]] = {}
        plans: list[Restored] = []
        for restored in self.journal.restore():
            if restored.plan.number == BASELINE_NUMBER:
                assert restored.settled is not None
                self._seeded(restored.settled)
                continue
            plans.append(restored)
            if restored.settled is not None:
                settled[restored.plan.number] = (restored, restored.settled)
        trials = 0
        for restored in plans:
            while self.state.settled_count < restored.plan.after:
                trials += self._refold(*settled[self._next_settle])
            self.state.planned(restored.plan)
            self._next_plan = restored.plan.number + 1
            if restored.settled is None:
                self.budget.hold(restored.estimate)
                self._take_up(restored)
        while self._next_settle in settled:
            trials += self._refold(*settled[self._next_settle])
        self.budget.use(
            trials=trials,
            tokens=self.progress.tokens,
            nano_usd=self.progress.nano_usd,
            seconds=self.journal.elapsed_seconds(),
        )
        if self._forgives:
            self.progress.forgive()
        self.journal.open_session()
        for work in self._work.values():
            self._start(work)

    def _refold(self, restored: Restored, settled: Settled) -> int:
        """A settled proposal again; the number of trials that it was charged."""
        self.state.settled(restored.plan, settled)
        self._note(restored.plan, settled, kernel_id(settled.source), restored.build)
        self._next_settle += 1
        if not self._forgives:
            self._check_ends()
        return int(settled.kind is Kind.TRIAL)

    def _take_up(self, restored: Restored) -> None:
        work = Work(restored.plan, restored.estimate)
        work.tokens, work.nano_usd = restored.failed_tokens, restored.failed_nano_usd
        self._work[restored.plan.number] = work
        if restored.reply is not None:
            work.reply = restored.reply
            work.parsed = self._read(work, restored.reply)
            work.kernel = kernel_id(work.parsed.code)
            work.verdict = restored.verdict
            work.build = restored.verdict.build if restored.verdict else ""

    def _start(self, work: Work) -> None:
        if work.reply is None:
            self._call(work)
        elif not work.complete:
            self._examine(work)

    def _seed(self) -> None:
        """Judge the baseline, free of charge."""
        source = self.state.task.baseline
        if not source or kernel_id(source) in self._kernels:
            return
        judging = self.judge.judge(source)
        while not wait((judging,), self._longest_wait()).done:
            self._watch_time()
            if self._give_up.is_set() or self._interrupted:
                self._closed = True  # there is nothing to plan from yet
                return
        verdict = judging.result()
        if verdict.timing is None:
            raise EvoEngineerError(
                f"the baseline kernel of {self.state.task.name} is not valid ({verdict.outcome}): {verdict.summary}"
            )
        seeded = self.journal.baseline(source, verdict)
        self.journal.flush()
        self._seeded(seeded)

    def _seeded(self, settled: Settled) -> None:
        self.state.seeded(settled)
        self._kernels[kernel_id(settled.source)] = BASELINE_NUMBER
        if settled.verdict is not None and settled.verdict.build:
            self._builds[settled.verdict.build] = BASELINE_NUMBER
        self.progress.improved(self.state.best)
        self.observer.settled(None, settled, self.progress)
        if self.options.enough_light is not None:  # a baseline can be near enough
            self._check_ends()

    # -- planning -----------------------------------------------------------------------------------------

    def _plan_next(self) -> bool:
        """Plan one proposal if look-ahead, budget and early stops allow; whether it was done."""
        if self._closed or len(self._work) >= self.state.method.lookahead:
            return False
        if self._work and not self.budget.trials.allows(1):
            return False
        plan = self.state.plan(self._next_plan)
        estimate = self.proposer.estimate(plan.prompt.system, plan.prompt.user)
        refused = self.budget.reserve(estimate)
        if refused is not None:
            if refused != "trials" and not self._work:
                self._end(Ending.BUDGET, budget_reason(refused, self.budget))
            elif refused == "trials" and not self._work and self.progress.trials < (self.progress.limit or 0):
                self._end(Ending.BUDGET, "the total of trials is used up")
            return False
        self.journal.planned(plan, estimate)
        self.state.planned(plan)
        self._next_plan += 1
        work = Work(plan, estimate)
        self._work[plan.number] = work
        self.progress.in_flight = len(self._work)
        self.observer.planned(plan, self.progress)
        self._to_call.append(work)
        return True

    def _call(self, work: Work) -> None:
        if self._stop.is_set():
            return  # planned all the same, so that a resumed run continues exactly here
        plan = work.plan
        request = Request(
            run=self.run_id,
            number=plan.number,
            system=plan.prompt.system,
            user=plan.prompt.user,
            prompt=plan.prompt.id,
            occurrence=plan.occurrence,
            seed=self.state.seed,
            parents=plan.sources or self.journal.sources(plan.parents),
            baseline=self.state.task.baseline,
            arguments=self.state.task.arguments,
            device=self.state.task.device,
            after=plan.after,
            bottlenecks=self.state.limits(plan),
            tried=tuple(self.state.tried),
            under_way=tuple(
                self._asked(each.plan) for number, each in sorted(self._work.items()) if number < plan.number
            ),
            stop=self._stop,
            give_up=self._give_up,
            on_attempt=lambda attempt: self._inbox.put(("attempted", plan.number, attempt)),
        )
        work.future = self._pool.submit(self.proposer.propose, request)
        work.future.add_done_callback(lambda future: self._post("replied", plan.number, future))

    def _asked(self, plan: Plan) -> Asked:
        sources = plan.sources or self.journal.sources(plan.parents)
        return Asked(plan.number, plan.after, sources, self.state.limits(plan))

    def _post(self, event: str, number: int, future: Future[Any]) -> None:
        """Pass a future's result to the loop's thread."""
        if future.cancelled():
            return
        error = future.exception()
        self._inbox.put((event, number, future.result()) if error is None else ("failed", number, error))

    # -- events -------------------------------------------------------------------------------------------

    def _handle(self, event: str, number: int, value: Any) -> None:
        match event:
            case "attempted":
                self._attempted(value)
            case "replied":
                self._replied(self._work[number], value)
            case "built":
                self._built(self._work[number], value)
            case "judged":
                self._judged(self._work[number], value)
            case "failed":
                self._failed(self._work[number], value)
            case "interrupted" | "tick":
                pass

    def _attempted(self, attempt: Attempt) -> None:
        self.journal.attempted(attempt)
        work = self._work[attempt.number]
        work.tokens += attempt.tokens
        work.nano_usd += attempt.nano_usd
        self.progress.attempts[attempt.kind] += 1
        self.observer.attempted(attempt, self.progress)

    def _replied(self, work: Work, reply: Reply) -> None:
        self._keep(work, reply)
        self._examine(work)

    def _keep(self, work: Work, reply: Reply) -> None:
        """An answer is in the archive before anything else is done with it."""
        work.parsed = self._read(work, reply)
        self.journal.replied(work.plan.number, reply, work.parsed)
        self.journal.flush(paid=True)
        work.reply = reply
        work.kernel = kernel_id(work.parsed.code)

    def _read(self, work: Work, reply: Reply) -> Parsed:
        sources = work.plan.sources or self.journal.sources(work.plan.parents)
        parsed, work.unread = read_reply(reply.text, work.plan, sources, self.state.task)
        return parsed

    def _examine(self, work: Work) -> None:
        """Send a text to be built, unless it has no kernel or an earlier proposal has the same."""
        assert work.parsed is not None
        if not work.parsed.code:
            self._judged(work, work.unread)
        elif self._is_known(work, self._kernels, "kernel"):
            work.skipped = True
        else:
            built = self.judge.build(work.parsed.code)
            built.add_done_callback(lambda future: self._post("built", work.plan.number, future))

    def _built(self, work: Work, built: Built) -> None:
        assert work.parsed is not None
        work.build = built.build
        if built.verdict is not None:
            self._judged(work, built.verdict)
        elif self._is_known(work, self._builds, "build"):
            work.skipped = True
        else:
            judged = self.judge.judge(work.parsed.code)
            judged.add_done_callback(lambda future: self._post("judged", work.plan.number, future))

    def _is_known(self, work: Work, settled: dict[str, int], field: str) -> bool:
        """Whether an earlier proposal, settled or under way, has the same text or machine code."""
        identity = getattr(work, field)
        if not identity:
            return False
        return identity in settled or any(
            number < work.plan.number and getattr(other, field) == identity
            for number, other in self._work.items()
        )

    def _judged(self, work: Work, verdict: Verdict) -> None:
        self.journal.judged(work.plan.number, verdict)
        work.verdict = verdict
        work.build = work.build or verdict.build

    def _failed(self, work: Work, error: BaseException) -> None:
        if isinstance(error, Stopped):
            work.future = None  # stays planned; `resume` calls again
        elif isinstance(error, ProposerError) and not error.fatal:
            work.failed = True
            work.exhausted = str(error) if isinstance(error, Exhausted) else ""
        elif isinstance(error, ProposerError):
            work.future = None
            self._halt(Ending.PROPOSER, str(error))
        elif isinstance(error, EnvironmentFailure):
            work.stuck = True
            self._halt(Ending.ENVIRONMENT, f"{error}; `resume` continues")
        else:
            raise error

    def _halt(self, ending: Ending, reason: str) -> None:
        """Make no more calls. Those that have not begun cost nothing yet and are left to `resume`; planning and
        settling go on in their order as far as they can, so that it makes no difference when a run is halted."""
        if self._ending is None:
            self._ending = (ending, reason)
        self._stop.set()
        for work in self._work.values():
            if work.future is not None and work.reply is None:
                work.future.cancel()

    # -- settling -----------------------------------------------------------------------------------------

    def _settle(self, work: Work) -> None:
        plan = work.plan
        settled = work.settled(self._first(work), self.progress.trials + 1)
        member = member_of(settled)
        settled = replace(settled, improved=member is not None and member.beats(self.state.best))
        use = self.state.use_of(plan, settled) if settled.kind is Kind.TRIAL else None
        self.journal.settled(plan, settled, work.build, use)
        self.state.settled(plan, settled)
        charged = settled.kind is Kind.TRIAL
        self.budget.settle(work.estimate, charged=charged, tokens=settled.tokens, nano_usd=settled.nano_usd)
        del self._work[plan.number]
        self._next_settle += 1
        self._note(plan, settled, work.kernel, work.build)
        if work.exhausted:
            self._end(Ending.REPEATS, work.exhausted)
        self._check_ends()
        self.observer.settled(plan, settled, self.progress)

    def _first(self, work: Work) -> int | None:
        """The earlier proposal that this one repeats, by text or by machine code."""
        if work.failed or work.parsed is None or not work.parsed.code:
            return None
        first = self._kernels.get(work.kernel)
        return self._builds.get(work.build) if first is None and work.build else first

    def _note(self, plan: Plan, settled: Settled, kernel: str, build: str) -> None:
        """Keep the books that follow from settled proposals."""
        self.progress.settled(settled)
        self.progress.in_flight = len(self._work)
        if settled.kind is Kind.TRIAL and settled.source:
            self._kernels.setdefault(kernel, plan.number)
            if build:
                self._builds.setdefault(build, plan.number)
        if settled.kind is Kind.DUPLICATE and settled.duplicate_of is not None:
            # Another text of the same machine code, or machine code that the compiler made anew of the same text:
            # whoever repeats it repeats the first one.
            self._kernels.setdefault(kernel, settled.duplicate_of)
            if build:
                self._builds.setdefault(build, settled.duplicate_of)
        self.progress.improved(self.state.best)

    def _check_ends(self) -> None:
        unused = max(0, (self.progress.limit or 0) - self.progress.trials - len(self._work))
        early = early_end(self.options, self.progress, self.state.task.reach_us, unused)
        if early is not None:
            self._end(*early)

    def _end(self, ending: Ending, reason: str) -> None:
        """Plan nothing more; what is under way is finished."""
        self._closed = True
        if self._ending is None:
            self._ending = (ending, reason)

    def _longest_wait(self) -> float:
        left = self.budget.seconds_left()
        return _TICK_SECONDS if left is None else max(0.01, min(_TICK_SECONDS, left))

    def _watch_time(self) -> None:
        if self.budget.out_of_time() and not self._give_up.is_set():
            self._halt(Ending.BUDGET, budget_reason("time", self.budget))
            self._give_up.set()

    def _note_time(self) -> None:
        self.progress.seconds = self.budget.elapsed()
        self.progress.seconds_left = self.budget.seconds_left()
        if self._standing is not None:
            self.progress.cluster = self._standing()
