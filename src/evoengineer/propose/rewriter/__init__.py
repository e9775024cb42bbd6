"""Rewriter: a proposer that needs no language model. It changes the parent's source, or the problem's own, by one
or two of its rewrites, and answers in the form that models are asked for.

What is right and faster is for the judge to find out. A proposal that repeats an earlier one of the run is not
made: the request says what was tried, and what others have been asked at the same time can be worked out, since a
choice depends on nothing but the request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from evoengineer.card.name import DeviceName
from evoengineer.kernel.text import Kernel
from evoengineer.propose.fake_script import reply_text
from evoengineer.propose.protocol import Asked, Estimate, Exhausted, ProposerError, Reply, Request, Tried
from evoengineer.propose.rewriter.change import Change, Rewrite, Task
from evoengineer.propose.rewriter.choice import PAID, ranked
from evoengineer.propose.rewriter.fusing import FUSE
from evoengineer.propose.syntax.kernels import kernels, launches
from evoengineer.propose.syntax.liveness import live_kernels
from evoengineer.propose.syntax.plain import plain
from evoengineer.propose.syntax.tree import text

_REST = (
    0.6  # how often kernels that the parent has left alone are the next to be rewritten, where there are some
)
_REPEATS = 5  # proposals in a row that brought nothing new, after which there is nothing left
_DRAWS = 24  # changes of one rewrite that are looked at before another is tried


@dataclass(frozen=True, slots=True)
class Step:
    rewrite: Rewrite
    change: Change


class Rewriter:
    """Proposes by applying rewrites. Without the `bandit` all have equal chances: a control to compare it with."""

    name = "rewriter"

    def __init__(self, rewrites: Sequence[Rewrite] | None = None, *, bandit: bool = True) -> None:
        from evoengineer.propose.rewriter.catalogue import REWRITES

        self.bandit = bandit
        self.rewrites = tuple(REWRITES if rewrites is None else rewrites)

    def estimate(self, system: str, user: str) -> Estimate:
        return Estimate()

    def propose(self, request: Request) -> Reply:
        if not request.parents and not request.baseline:
            raise ProposerError(
                "the rewriter needs a kernel to start from, and this problem has no baseline: give one with "
                "--baseline FILE.cu, make one with `evoengineer problems adopt`, or ask a model with --model",
                fatal=True,
            )
        asked = Asked(request.number, request.after, request.parents, request.bottlenecks)
        steps = self._steps(request, asked, {})
        if not steps and request.number > 1:
            raise Exhausted("all that the rewriter can do to the kernel was tried")
        if not steps:
            raise ProposerError(
                "no rewrite applies to the kernel: the rewriter has nothing to propose", fatal=True
            )
        first = steps[0].rewrite.name
        name = f"{first}: " + ", ".join(step.change.what for step in steps)
        thought = " ".join(dict.fromkeys(step.rewrite.thought for step in steps))
        return Reply(reply_text(steps[-1].change.source, name, thought), self.name, finish="stop")

    def close(self) -> None:
        pass

    def _steps(self, request: Request, asked: Asked, made: dict[int, list[Step]]) -> list[Step]:
        """What proposal `asked` does. `made` collects the choices of proposals that are under way."""
        if asked.number in made:
            return made[asked.number]
        known = {_identity(request.baseline)} if request.baseline else set()
        tried = request.tried[: asked.after]
        if len(tried) >= _REPEATS and not any(each.charged for each in tried[-_REPEATS:]):
            made[asked.number] = []  # other texts, and nothing but machine code that is known
            return []
        known |= {_identity(each.source) for each in tried if each.source}
        request = replace(request, baseline=_origin(request, tried))
        for number in range(asked.after + 1, asked.number):
            known.add(self._identity_of(request, number, made))
        random = Random(f"{request.seed}:{asked.number}:rewrite")
        made[asked.number] = self._draw(request, asked, tried, known, random)
        return made[asked.number]

    def _identity_of(self, request: Request, number: int, made: dict[int, list[Step]]) -> str:
        """Of a proposal that was not settled when another one was planned; it may be now."""
        if number <= len(request.tried):
            source = request.tried[number - 1].source
            return _identity(source) if source else ""
        under_way = next((each for each in request.under_way if each.number == number), None)
        steps = self._steps(request, under_way, made) if under_way is not None else []
        return _identity(steps[-1].change.source) if steps else ""

    def _draw(
        self, request: Request, asked: Asked, tried: Sequence[Tried], known: set[str], random: Random
    ) -> list[Step]:
        parent = asked.parents[0] if asked.parents else request.baseline
        repeated: list[Step] = []
        first = self._step(request, parent, tried, asked, known, random, repeated)
        if first is None:  # everything was tried by itself: try it on top of something else
            for base in random.sample(repeated, min(len(repeated), _DRAWS)):
                second = self._step(request, base.change.source, tried, asked, known, random, [], fresh=False)
                if second is not None:
                    return [base, second]
            return []
        again = self._lost(request, parent, first) if first.rewrite.fresh else frozenset()
        second = self._rest(request, first.change.source, again, tried, asked, known, random, [])
        if second is not None:
            return [first, second]
        known_well = any(each.name.partition(":")[0] == first.rewrite.name for each in tried)
        if (
            random.random() < 0.3 and known_well
        ):  # by itself first: what does not pay should not hide what does
            second = self._step(request, first.change.source, tried, asked, known, random, [], fresh=False)
            if second is not None and second.rewrite is not first.rewrite:
                return [first, second]
        return [first]

    def _step(
        self,
        request: Request,
        parent: str,
        tried: Sequence[Tried],
        asked: Asked,
        known: set[str],
        random: Random,
        repeated: list[Step],
        *,
        fresh: bool = True,
    ) -> Step | None:
        """One change that nobody has made yet; changes that somebody has made go to `repeated`."""
        if fresh and request.baseline and random.random() < _REST:
            left = untouched(plain(request.baseline), plain(parent))
            found = self._rest(request, parent, left, tried, asked, known, random, repeated)
            if found is not None:  # adds to what the parent has gained
                return found
        task, order = self._task(request), self._order(tried, asked, random)
        for rewrite in order:
            if rewrite.fresh and not fresh:
                continue
            source = plain(request.baseline or parent if rewrite.fresh else parent)
            found = _new(rewrite, source, task, random, known, repeated)
            if found is not None:
                return found
        return None

    def _rest(
        self,
        request: Request,
        parent: str,
        names: frozenset[str],
        tried: Sequence[Tried],
        asked: Asked,
        known: set[str],
        random: Random,
        repeated: list[Step],
    ) -> Step | None:
        """A change to one of these kernels, which run as the problem has them."""
        task = replace(self._task(request), kernels=names)
        for rewrite in self._order(tried, asked, random) if names else ():
            found = _new(rewrite, plain(parent), task, random, known, repeated) if rewrite.fresh else None
            if found is not None:
                return found
        return None

    def _lost(self, request: Request, parent: str, first: Step) -> frozenset[str]:
        """The kernels that the parent has changed and a change that starts afresh has not."""
        if not request.baseline or plain(parent) == plain(request.baseline):
            return frozenset()
        baseline = plain(request.baseline)
        return untouched(baseline, first.change.source) - untouched(baseline, plain(parent))

    def _task(self, request: Request) -> Task:
        return Task(request.arguments, _multiprocessors(request.device))

    def _order(self, tried: Sequence[Tried], asked: Asked, random: Random) -> list[Rewrite]:
        if self.bandit:
            order = ranked(self.rewrites, tried, asked.bottlenecks, random)
            if not any(each.name.startswith(f"{FUSE}:") for each in tried):
                order.sort(key=lambda each: each.name != FUSE)  # the others then do theirs to fewer kernels
            return order
        return random.sample(self.rewrites, len(self.rewrites))


def _origin(request: Request, tried: Sequence[Tried]) -> str:
    """What rewrites that start afresh start from: the problem's own kernel, or what it became where fusing its kernels
    has paid."""
    paid = [each.source for each in tried if each.name.startswith(f"{FUSE}:") and (each.gain or 0) > PAID]
    return paid[-1] if paid else request.baseline


def _new(
    rewrite: Rewrite, source: str, task: Task, random: Random, known: set[str], repeated: list[Step]
) -> Step | None:
    """One change by this rewrite that nobody has made yet."""
    before = _identity(source)
    for count, change in enumerate(rewrite.changes(source, task, random)):
        after = _identity(change.source)
        if after != before and after not in known:
            return Step(rewrite, change)
        if after != before:
            repeated.append(Step(rewrite, change))
        if count >= _DRAWS:
            break
    return None


def untouched(baseline: str, parent: str) -> frozenset[str]:
    """The kernels of a changed text that run as the problem has them."""
    if baseline == parent:
        return frozenset()
    before = {each.name: text(each.definition) for each in kernels(baseline)}
    return frozenset(
        each.name
        for each in live_kernels(parent)
        if before.get(each.name) == text(each.definition) and len(launches(parent, each.name)) == 1
    )


def _multiprocessors(device: str) -> int:
    """Of a simulated card; a real one is not asked."""
    name = DeviceName.parse(device) if device else None
    return name.profile.sm_count if name is not None and name.simulated else 0


def _identity(source: str) -> str:
    return Kernel(source).id
