"""Kernels whose verdict is known beforehand: hostile ones that must not pass, and honest ones that must.

They lie in `suites/integrity/`, a folder for each kind of attack and one for the honest controls, one file each. The
head of a file says what is to be known of it, a `// key: value` to a line:

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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.judge.verdict import Outcome

CONTROLS = "honest"  # the kind of those that must pass
RAISED = "raised"  # instead of an outcome: the judge itself failed, which no candidate may bring about
_CORPUS = Path(__file__).parents[1] / "suites/integrity"
_PIECES = "pieces"
_HEAD = re.compile(r"// (?P<key>[a-z]+): (?P<value>.+)")
_PASTE = re.compile(r"^// paste: (\S+)$", re.MULTILINE)
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
class Result:
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

    def to_json(self) -> dict[str, Any]:
        specimen = self.specimen
        return {
            "name": specimen.name,
            "kind": specimen.kind,
            "what": specimen.what,
            "problem": specimen.problem,
            "hostile": specimen.hostile,
            "expected": [str(outcome) for outcome in specimen.expected],
            "costs": specimen.costs,
            "outcome": self.outcome,
            "passed": self.passed,
            "as_expected": self.expected,
            "evidence": self.evidence,
            "time_us": self.time_us,
            "honest_us": self.honest_us,
        }

    def _pays(self) -> bool:
        costs = self.specimen.costs
        if costs is None or self.time_us is None or self.honest_us is None:
            return False
        return self.time_us >= costs * self.honest_us


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
