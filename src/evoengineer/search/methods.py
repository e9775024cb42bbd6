"""Methods: each a short declaration of operators, population and schedule.

    free, insight, full            EvoEngineer's own configurations
    solution                       Evolution of Heuristics
    funsearch, ai-cuda-engineer    the systems it is compared with
    best-of-n                      no evolution: the honest control
    guided                         ours: profiles in the prompt, operators by credit, cells, repair

A user's own method is a `Method` in a Python file, named on the command line as `path/to/file.py:name`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from evoengineer.errors import EvoEngineerError, UsageError, did_you_mean
from evoengineer.search import operators as op
from evoengineer.search.operators import Operator
from evoengineer.search.populations import Cells, Elites, Islands, Population, SingleBest


@dataclass(frozen=True, slots=True)
class Method:
    """`opening` operators come first, one proposal each; then `cycle` repeats. An operator that finds fewer
    parents than it needs gives way to `fallback`."""

    name: str
    summary: str
    population: Callable[[], Population]
    cycle: tuple[Operator, ...]
    opening: tuple[Operator, ...] = ()
    fallback: Operator = op.INITIALISE
    lookahead: int = 4  # proposals under way at once; part of the method, so that workers do not matter
    repair: bool = False
    most_repairs: int = 2  # in a row, of one candidate
    adaptive: bool = False  # operators of the cycle are drawn by what they paid (`credit.py`), not in turn

    def __post_init__(self) -> None:
        if not self.cycle:
            raise ValueError(f"method {self.name}: the cycle needs at least one operator")
        if self.lookahead < 1:
            raise ValueError(f"method {self.name}: lookahead must be at least 1, not {self.lookahead}")
        if self.fallback.fewest > 0:
            raise ValueError(f"method {self.name}: the fallback {self.fallback.name} must do without parents")

    def operator(self, number: int) -> Operator:
        """The operator of proposal `number`, which counts from 1."""
        place = number - 1
        if place < len(self.opening):
            return self.opening[place]
        return self.cycle[(place - len(self.opening)) % len(self.cycle)]

    @property
    def uses_experience(self) -> bool:
        """Whether an operator declares it: no other method reads the library."""
        return any(each.experience_count for each in (*self.opening, *self.cycle, self.fallback))

    def with_switches(self, *, repair: bool | None, knowledge: bool, lookahead: int | None) -> Method:
        """The method with the user's switches applied."""
        method = self
        if repair is not None:
            method = replace(method, repair=repair)
        if lookahead is not None:
            method = replace(method, lookahead=lookahead)
        if knowledge:
            method = replace(
                method,
                cycle=tuple(each.with_knowledge() for each in method.cycle),
                opening=tuple(each.with_knowledge() for each in method.opening),
                fallback=method.fallback.with_knowledge(),
            )
        return method


METHODS = (
    Method("free", "task only, single best", SingleBest, (op.FREE,), fallback=op.FREE),
    Method("insight", "task and insights, single best", SingleBest, (op.INSIGHT,), fallback=op.INSIGHT),
    Method(
        "full",
        "task, solutions and insights, four elites",
        lambda: Elites(4),
        (op.CROSSOVER, op.MUTATE),
        opening=(op.INITIALISE,) * 4,
        fallback=op.INITIALISE,
    ),
    Method(
        "solution",
        "task and solutions, elites (Evolution of Heuristics)",
        lambda: Elites(5),
        (op.EXPLORE_DIFFERENT, op.EXPLORE_COMMON, op.MODIFY, op.PARAMETERS),
        opening=(op.INITIALISE_EOH,) * 5,
        fallback=op.INITIALISE_EOH,
    ),
    Method("funsearch", "two programs from five islands", Islands, (op.COMPLETE,), fallback=op.COMPLETE),
    Method(
        "ai-cuda-engineer",
        "convert, translate, crossover of the top five, retrieval",
        lambda: Elites(5),
        (op.EVOLVE, op.EVOLVE, op.EVOLVE, op.RETRIEVE),
        opening=(op.CONVERT, op.CONVERT, op.TRANSLATE, op.TRANSLATE, op.TRANSLATE),
        fallback=op.TRANSLATE,
    ),
    Method(
        "best-of-n",
        "the same prompt every time, no evolution",
        SingleBest,
        (op.SAMPLE,),
        fallback=op.SAMPLE,
        lookahead=16,
    ),
    Method(
        "guided",
        "profiles, operators by what they paid, elites per design, repair",
        Cells,
        (op.PLAN, op.BOTTLENECK, op.COMBINE, op.PARAMETRISE, op.PORT),
        opening=(op.PLAN, op.BOTTLENECK, op.PLAN, op.PARAMETRISE),
        fallback=op.PLAN,
        lookahead=2,  # a repair comes while the idea is fresh, and a parent is what is best now
        repair=True,
        adaptive=True,
    ),
)


def method_names() -> tuple[str, ...]:
    """Names of the built-in methods."""
    return tuple(method.name for method in METHODS)


def find_method(name: str) -> tuple[Method, str]:
    """A method by name or as `file.py:name`, with a fingerprint that changes when the user's file does."""
    for method in METHODS:
        if method.name == name:
            return method, ""
    path, colon, attribute = name.rpartition(":")
    if colon and path.endswith(".py"):
        return _from_file(Path(path), attribute)
    hint = did_you_mean(name, method_names())
    raise UsageError(
        f"unknown method {name!r}{hint}; valid: {', '.join(method_names())}, or your own as path/to/file.py:name"
    )


def _from_file(path: Path, attribute: str) -> tuple[Method, str]:
    if not path.is_file():
        raise UsageError(f"method file {path}: no such file")
    spec = importlib.util.spec_from_file_location(f"evoengineer_user_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise UsageError(f"method file {path}, line {error.lineno}: {error.msg}") from error
    except (Exception, SystemExit) as error:
        raise UsageError(f"method file {_place(error, path)}: {type(error).__name__}: {error}") from error
    found = getattr(module, attribute, None)
    if not isinstance(found, Method):
        own = [name for name, value in vars(module).items() if isinstance(value, Method)]
        raise UsageError(f"{path} has no Method {attribute!r}; it has: {', '.join(own) or 'none'}")
    _check(found, path)
    return found, hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _check(method: Method, path: Path) -> None:
    """A method of the user's own, as far as it can be told before it is used."""
    with blaming(f"{path}:{method.name}"):
        population = method.population()
    for name in ("seed", "add", "choose"):
        if not callable(getattr(population, name, None)):
            raise UsageError(f"method file {path}: the population of {method.name} has no {name}()")
    if not all(isinstance(each, Operator) for each in (*method.opening, *method.cycle, method.fallback)):
        raise UsageError(f"method file {path}: the operators of {method.name} are not all of class Operator")


@contextmanager
def blaming(method: str) -> Iterator[None]:
    """What a user's own method, population or guidance raises is told with its file and line."""
    path, colon, _ = method.rpartition(":")
    try:
        yield
    except EvoEngineerError:
        raise
    except Exception as error:
        place = _place(error, Path(path)) if colon else ""
        if ", line " not in place:
            raise
        raise EvoEngineerError(
            f"the method of your own failed: {place}: {type(error).__name__}: {error}. "
            "What was paid for is kept; mend the file and start a new run."
        ) from error


def _place(error: BaseException, path: Path) -> str:
    """`file, line n`: the last line of the user's own files that the error came through."""
    folder = path.resolve().parent
    lines = [
        (frame.filename, frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).resolve().is_relative_to(folder) and "site-packages" not in frame.filename
    ]
    return f"{lines[-1][0]}, line {lines[-1][1]}" if lines else str(path)
