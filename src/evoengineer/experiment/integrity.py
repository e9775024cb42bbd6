"""Trying the judge: hostile kernels that must not pass, and honest ones that must.

The kernels lie in `suites/integrity/`, a folder for each kind of attack and one for the honest controls, one
file each. The head of a file says what is to be known of it, a `// key: value` to a line:

    attack | control   what it does, in a line
    problem            what it claims to solve
    honest             the control that it imitates
    expect             outcomes that are right, the first of them the one to wish for
    costs              such an attack may be `valid` at its true cost: at least so many times its control's time
    device             `sim`: an attack on simulated time, which on a GPU is just slow
    unsaid             what the verdict must not contain
    vary               OLD => NEW: the text with NEW in place of OLD is harmless, and is judged first
    after, leak        another text is judged first; what the pattern finds in its verdict stands for @LEAK@

`// paste: FILE` in the text stands for a file of `pieces/`, so that each kernel shows little but its trick.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.pool import JudgePool
from evoengineer.judge.verdict import Outcome, Verdict
from evoengineer.judge.worker import Workers
from evoengineer.problem.catalog import find_problems

CONTROLS = "honest"  # the kind of those that must pass
RAISED = "raised"  # instead of an outcome: the judge itself failed, which no candidate may bring about
_CORPUS = Path(__file__).parents[1] / "suites/integrity"
_PIECES = "pieces"
_HEAD = re.compile(r"// (?P<key>[a-z]+): (?P<value>.+)")
_PASTE = re.compile(r"^// paste: (\S+)$", re.MULTILINE)
_LEAK = "@LEAK@"
_NOTHING_LEAKED = "0"
_KEYS = {
    "attack", "control", "problem", "honest", "expect", "costs", "device", "unsaid", "vary", "after", "leak",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Specimen:
    """A kernel whose verdict is known beforehand."""

    name: str  # kind/file
    kind: str
    what: str
    problem: str
    source: str
    expected: tuple[Outcome, ...]
    honest: str = ""  # the name of a control
    costs: float | None = None
    simulated_only: bool = False
    unsaid: str = ""
    first: str = ""  # a text that is judged before it
    leak: str = ""  # a pattern for the verdict on that text

    @property
    def hostile(self) -> bool:
        return self.kind != CONTROLS


@dataclass(frozen=True, slots=True)
class Trial:
    """A specimen and what the judge said of it."""

    specimen: Specimen
    outcome: str  # of the verdict, or RAISED
    evidence: str  # a line
    time_us: float | None = None
    honest_us: float | None = None  # of its control, where that matters
    said_too_much: bool = False

    @property
    def expected(self) -> bool:
        """The verdict is one of those that the specimen names, or `valid` at its true cost."""
        return not self.said_too_much and (self.outcome in self.specimen.expected or self._pays())

    @property
    def passed(self) -> bool:
        """What matters: an attack was caught, by whichever verdict; a control was not refused."""
        if self.said_too_much or self.outcome == RAISED:
            return False
        return (self.outcome != Outcome.VALID) == self.specimen.hostile or self._pays()

    def _pays(self) -> bool:
        costs = self.specimen.costs
        if costs is None or self.time_us is None or self.honest_us is None:
            return False
        return self.time_us >= costs * self.honest_us


# -- the corpus ------------------------------------------------------------------------------------------


def load_corpus(root: Path = _CORPUS) -> tuple[Specimen, ...]:
    """All of it, attacks by kind and name, controls last. A file that makes no sense is an error."""
    paths = sorted(root.glob("*/*.cu"), key=lambda path: (path.parent.name == CONTROLS, path))
    found = tuple(_read(path, root) for path in paths)
    controls = {each.name: each.problem for each in found if not each.hostile}
    for each in found:
        if each.hostile and controls.get(each.honest) != each.problem:
            raise EvoEngineerError(f"{each.name}: no control {each.honest!r} for {each.problem}")
    return found


def choose(
    corpus: Sequence[Specimen], kinds: Sequence[str] = (), names: Sequence[str] = (), device: str = "sim"
) -> tuple[Specimen, ...]:
    """Those of a kind or a name, as far as they concern the device. A name may go without its kind."""
    known = dict.fromkeys(each.kind for each in corpus)
    for kind in kinds:
        if kind not in known:
            raise UsageError(f"no kind {kind!r}; there is: {', '.join(known)}")
    for name in names:
        if not any(_named(each, name) for each in corpus):
            raise UsageError(f"no kernel {name!r} in the corpus; `evoengineer integrity --list` names all")
    return tuple(
        each
        for each in corpus
        if (not kinds or each.kind in kinds)
        and (not names or any(_named(each, name) for name in names))
        and (device.startswith("sim") or not each.simulated_only)
    )


def _named(specimen: Specimen, name: str) -> bool:
    return name in (specimen.name, specimen.name.partition("/")[2])


def _read(path: Path, root: Path) -> Specimen:
    text = path.read_text(encoding="utf-8")
    head = _head(path, text)
    source = _pasted(text, root)
    twin = _twin(path, source, head.get("vary", ""))
    after = head.get("after", "")
    control = path.parent.name == CONTROLS
    return Specimen(
        name=f"{path.parent.name}/{path.stem}",
        kind=path.parent.name,
        what=head["control" if control else "attack"],
        problem=head["problem"],
        source=source,
        expected=(Outcome.VALID,) if control else tuple(map(Outcome, head["expect"].split())),
        honest="" if control else f"{CONTROLS}/{head['honest']}",
        costs=float(head["costs"]) if "costs" in head else None,
        simulated_only=head.get("device") == "sim",
        unsaid=head.get("unsaid", ""),
        first=_pasted((path.parent / after).read_text(encoding="utf-8"), root) if after else twin,
        leak=head.get("leak", ""),
    )


def _head(path: Path, text: str) -> dict[str, str]:
    head: dict[str, str] = {}
    for line in text.splitlines():
        found = _HEAD.fullmatch(line)
        if found is None:
            break
        head[found["key"]] = found["value"]
    needed = (
        ("control", "problem") if path.parent.name == CONTROLS else ("attack", "problem", "honest", "expect")
    )
    missing, unknown = [key for key in needed if key not in head], sorted(head.keys() - _KEYS)
    if missing or unknown:
        raise EvoEngineerError(
            f"{path}: missing {', '.join(missing) or 'nothing'}, unknown {', '.join(unknown)}"
        )
    return head


def _pasted(text: str, root: Path) -> str:
    return _PASTE.sub(lambda found: (root / _PIECES / found[1]).read_text(encoding="utf-8").strip(), text)


def _twin(path: Path, source: str, vary: str) -> str:
    """The harmless text that an attack on the identity of builds is to be mistaken for."""
    if not vary:
        return ""
    old, _, new = vary.partition(" => ")
    body = source.partition(vary)[2]  # the head names both
    if body.count(old) != 1:
        raise EvoEngineerError(f"{path}: {old!r} must occur once, not {body.count(old)} times")
    return body.replace(old, new)


# -- judging it ------------------------------------------------------------------------------------------


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

    def run(self, chosen: Sequence[Specimen], corpus: Sequence[Specimen]) -> Iterator[Trial]:
        """Trials in the order of `chosen`, as they are done. `corpus` has the controls."""
        controls = {each.name: each for each in corpus if not each.hostile}
        self._open(dict.fromkeys(each.problem for each in chosen))
        for each in chosen:
            if not each.first:
                self._pools[each.problem].build(each.source)  # compilers run ahead
        with ThreadPoolExecutor(self.options.worker_count, "integrity") as threads:
            yield from threads.map(lambda each: self._try(each, controls), chosen)

    def _open(self, problems: Iterable[str]) -> None:
        """All problems share the workers; PyTorch is asked for all descriptions at once."""
        if self._workers is None:
            self._workers = Workers(self.options)
        new = [name for name in problems if name not in self._pools]
        for name, description in zip(new, find_problems(new) if new else (), strict=True):
            self._pools[name] = JudgePool(description, self.options, self._workers)

    def _try(self, specimen: Specimen, controls: Mapping[str, Specimen]) -> Trial:
        try:
            verdict = self._verdict(specimen)
            honest_us = None
            if specimen.costs is not None and verdict.timing is not None:
                honest = self._verdict(controls[specimen.honest])
                honest_us = honest.timing.time_us if honest.timing else None
        except Exception as error:  # what a candidate brings about must be a verdict: this is the finding
            return Trial(specimen, RAISED, f"{type(error).__name__}: {error}".splitlines()[0])
        said = f"{verdict.summary}\n{verdict.evidence}\n{verdict.details}"
        return Trial(
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


def trial_json(trial: Trial) -> dict[str, Any]:
    specimen = trial.specimen
    return {
        "name": specimen.name,
        "kind": specimen.kind,
        "what": specimen.what,
        "problem": specimen.problem,
        "hostile": specimen.hostile,
        "expected": [str(outcome) for outcome in specimen.expected],
        "costs": specimen.costs,
        "outcome": trial.outcome,
        "passed": trial.passed,
        "as_expected": trial.expected,
        "evidence": trial.evidence,
        "time_us": trial.time_us,
        "honest_us": trial.honest_us,
    }
