"""Settings of a run: what the command line and a `run.toml` can say, in one list.

Precedence: flags, then the file, then the defaults below. Names are the same everywhere (`max_cost` in the
file is `--max-cost` on the command line). An unknown name is refused, naming the valid ones. `resolve` turns
"as given" into a checked `Settings`; the archive keeps that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from evoengineer.errors import UsageError, check_names
from evoengineer.user_files import read_toml


def _setting(default: Any, help: str, *, type: type = str, metavar: str = "", resume: bool = False) -> Any:
    """`resume`: may be changed when a run is resumed, because no prompt depends on it."""
    return field(default=default, metadata={"help": help, "type": type, "metavar": metavar, "resume": resume})


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a run, resolved and checked; defaults are here."""

    problem: str = _setting("", "a name, a folder with problem.py, or a KernelBench file")
    method: str = _setting(
        "full",
        "how to search: see `evoengineer methods`, or FILE.py:NAME",
        metavar="M",
    )
    model: str | None = _setting(
        None,
        "ask this model (`evoengineer models` lists known ones), or several: a,b or a=0.7,b=0.3",
        metavar="M",
    )
    escalate: int | None = _setting(
        None,
        "with several models: ask the next one after N trials without a better kernel",
        type=int,
        metavar="N",
    )
    replay: str | None = _setting(None, "answer from a recording", metavar="FILE")
    rewriter: bool = _setting(False, "answer with the built-in source rewriter (the default)", type=bool)
    match: str = _setting("prompt", "find recorded answers by prompt or by order", metavar="HOW")
    record: str | None = _setting(None, "write every exchange to this file", metavar="FILE", resume=True)
    device: str = _setting("sim:rtx4090", "sim:CARD or cuda:N", metavar="D")
    trials: int = _setting(45, "proposals that are charged", type=int, metavar="N", resume=True)
    seed: int = _setting(0, "of every random choice of the search", type=int, metavar="S")
    tune: int = _setting(
        0,
        "further evaluations of the best kernel's knobs, after the trials",
        type=int,
        metavar="K",
        resume=True,
    )
    max_cost: float | None = _setting(
        None, "US dollars that may be spent", type=float, metavar="USD", resume=True
    )
    max_tokens_total: int | None = _setting(
        None, "tokens that may be used", type=int, metavar="N", resume=True
    )
    max_seconds: float | None = _setting(
        None, "wall time that may pass", type=float, metavar="S", resume=True
    )
    stop_after: int | None = _setting(
        None, "stop after so many trials without a better kernel", type=int, metavar="N", resume=True
    )
    target: float | None = _setting(
        None, "stop at this speedup over the baseline", type=float, metavar="X", resume=True
    )
    enough: float | None = _setting(
        None,
        "stop at this share of the speed of light, or of what is within reach of it, e.g. 0.95",
        type=float,
        metavar="SHARE",
        resume=True,
    )
    repair: bool | None = _setting(None, "show the model its own failures and ask to mend them", type=bool)
    knowledge: bool = _setting(False, "add I4: techniques that fit the profile's bottleneck", type=bool)
    experience: bool = _setting(
        True, "tell methods that declare it (guided) what paid on other problems", type=bool
    )
    library: str | None = _setting(
        None, "the experience library (default: experience.db beside the archive)", metavar="FILE"
    )
    leave_out: str = _setting(
        "problem",
        "what of the library a run must not know: problem, or family with all siblings",
        metavar="WHAT",
    )
    lookahead: int | None = _setting(
        None, "proposals planned ahead (default: the method's)", type=int, metavar="N"
    )
    base_url: str | None = _setting(
        None, "the endpoint, e.g. http://127.0.0.1:8080/v1", metavar="URL", resume=True
    )
    temperature: float | None = _setting(1.0, "of the model", type=float, metavar="T")
    max_tokens: int = _setting(16_384, "longest reply", type=int, metavar="N")
    reasoning_effort: str | None = _setting(None, "low, medium, high", metavar="E")
    timeout: float = _setting(600.0, "seconds for one call", type=float, metavar="S", resume=True)
    attempts: int = _setting(
        8, "calls for one proposal, repeated ones included", type=int, metavar="N", resume=True
    )
    concurrency: int = _setting(8, "calls at once", type=int, metavar="N", resume=True)
    judge_workers: int = _setting(
        0, "kernels judged at once (0: one per core)", type=int, metavar="N", resume=True
    )
    cluster: str | None = _setting(
        None,
        "judge on this Ray cluster: HOST:PORT, auto, or local for a new one (none: on this machine)",
        metavar="ADDRESS",
        resume=True,
    )
    card: str | None = _setting(
        None,
        "the type of GPU to use on a cluster that has several, as `doctor --cluster` names it",
        metavar="TYPE",
    )
    judge_cores: int = _setting(
        1, "cores of each judge on a cluster's simulated GPUs", type=int, metavar="K", resume=True
    )
    prices: str | None = _setting(None, "a file with prices of further models", metavar="FILE", resume=True)
    baseline: str | None = _setting(
        None, "start from this kernel instead of the problem's own", metavar="FILE.cu"
    )
    judge_seed: int | None = _setting(
        None,
        "draw the judge's inputs from this seed (default: a secret of this machine)",
        type=int,
        metavar="N",
    )
    unsafe: bool = _setting(False, "judge even where the system offers no isolation", type=bool)

    def to_json(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}


NAMES = tuple(each.name for each in fields(Settings))
_POSITIVE = ("escalate", "trials", "max_tokens_total", "max_seconds", "stop_after", "target", "lookahead", "max_tokens",
             "timeout", "attempts", "concurrency", "judge_cores")  # fmt: skip
_NOT_NEGATIVE = ("max_cost", "temperature", "judge_workers", "tune")
_MOST = {
    "concurrency": 1024,
    "judge_workers": 1024,
    "lookahead": 4096,
}  # threads, and proposals kept in memory
_LARGEST = 2**53  # beyond it neither SQLite nor a float keeps a whole number apart from the next


_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def read_file(path: Path) -> dict[str, Any]:
    """The settings in a `run.toml`."""
    data = read_toml(path, "settings")
    check_names(f"settings {path}", data, NAMES)
    return data


def resolve(flags: Mapping[str, Any], file: Mapping[str, Any] | None = None, where: str = "") -> Settings:
    """Flags win over the file, the file over the defaults. A flag that was not given is absent."""
    values = {**(file or {}), **flags}
    chosen = [name for name in ("model", "replay", "rewriter") if values.get(name)]
    given = [name for name in chosen if flags.get(name)]
    if len(given) == 1:  # a flag replaces the file's choice of a proposer
        values.update({name: None if name != "rewriter" else False for name in chosen if name not in given})
    elif len(chosen) > 1:
        raise UsageError(f"choose one of {', '.join('--' + name for name in chosen)}")
    checked = {name: _checked(name, value, where) for name, value in values.items()}
    settings = Settings(**checked)
    if not settings.problem:
        raise UsageError("which problem? `evoengineer problems` lists them")
    if settings.match not in ("prompt", "order"):
        raise UsageError(f"match must be prompt or order, not {settings.match!r}")
    if settings.escalate is not None and "," not in (settings.model or ""):
        raise UsageError("escalate needs several models to go through: --model cheap,strong --escalate N")
    if settings.escalate is not None and "=" in (settings.model or ""):
        raise UsageError("models are asked by shares (a=0.7,b=0.3) or in turn (--escalate N), not both")
    if settings.leave_out not in ("problem", "family"):
        raise UsageError(f"leave_out must be problem or family, not {settings.leave_out!r}")
    for name in _NOT_NEGATIVE:
        value = getattr(settings, name)
        if value is not None and value < 0:
            raise UsageError(f"{name} must not be negative, not {value}")
    if settings.enough is not None and not 0 < settings.enough <= 1:
        raise UsageError(
            f"enough is a share of the speed of light, above 0 and at most 1, not {settings.enough}"
        )
    for name in _POSITIVE:
        value = getattr(settings, name)
        if value is not None and value <= 0:
            raise UsageError(f"{name} must be positive, not {value}")
    return settings


def _checked(name: str, value: Any, where: str) -> Any:
    """Values from a file have TOML's types; an integer will do for a float."""
    if value is None:
        return None
    wanted: type = next(each.metadata["type"] for each in fields(Settings) if each.name == name)
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(min(max(value, -_LARGEST - 1), _LARGEST + 1))
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise UsageError(f"{where}{name} must be {_KINDS[wanted]}, not {value!r}")
    if isinstance(value, int | float) and (
        not math.isfinite(value) or abs(value) > _MOST.get(name, _LARGEST)
    ):
        raise UsageError(
            f"{where}{name} must be a finite number of at most {_MOST.get(name, _LARGEST)}, not {value}"
        )
    if isinstance(value, str) and not value.isprintable():
        raise UsageError(f"{where}{name} must be printable text, not {value!r}")
    return value
