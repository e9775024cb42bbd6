"""KernelBench files as problems: `Model`, `get_inputs`, `get_init_inputs`, used as they are.

Parameters and buffers follow the inputs as arguments, in `state_dict` order. Such a file has one shape, given
by whole-number constants of the module; check cases are the same code run with smaller constants, and
the bench case is scaled down when the original would not fit a simulated GPU. Constants are changed only in
a way that the model itself accepts: every recipe is tried.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from evoengineer.errors import UsageError
from evoengineer.problem.inputs import reshape_distribution
from evoengineer.problem.live import as_outputs, widened
from evoengineer.problem.model import ALL_DISTRIBUTIONS, Case, Distribution, Problem, Tolerance

MOST_BENCH_BYTES = 192 << 20
MOST_BENCH_FLOPS = 12e9
_MOST_CHECK_ELEMENTS = 200_000
_WANTED_CHECKS = 4
_TRIAL_DRAWS = 8
_PLACE = "__"  # between the name of a tuple and the place of a number in it
# Sizes for the constants of a check case, handed out in turn: odd, minimal, prime, a power of two, uneven.
_RECIPES: tuple[tuple[int, ...], ...] = (
    (3, 5, 7, 9), (1, 2, 3, 1), (2, 13, 17, 19), (4, 8, 16, 32), (2, 33, 35, 31), (8, 24, 40, 12), (16, 16, 16, 16),
)  # fmt: skip


class KernelBenchProblem:
    """The live side of a KernelBench file (`live.Live`)."""

    def __init__(self, module: types.ModuleType, path: Path, name: str, baseline: Path | None) -> None:
        self._module, self._path = module, path
        self._constants = _size_constants(module)
        source = path.read_text(encoding="utf-8")
        bench = self._bench_case()
        checks = self._check_cases(bench)
        beside = path.with_suffix(".cu")
        scaled = {n: s for n, s in bench.sizes.items() if s != self._constants[n]}
        self.problem = Problem(
            name=name,
            path=path,
            title=_title(module, path) + (f" (bench scaled down: {bench.name})" if scaled else ""),
            reference_source=source,
            cases=(*checks, bench),
            tolerance=Tolerance(),
            distributions=ALL_DISTRIBUTIONS,
            baseline=baseline or (beside if beside.exists() else None),
            form="kernelbench",
        )

    # -- the live side -----------------------------------------------------------------------------

    def inputs(self, case: Case, distribution: Distribution, seed: int) -> dict[str, Any]:
        """The file's own inputs, reshaped to the distribution where the model stays finite, then its state."""
        torch.manual_seed(seed)
        model, plain = self._draw(case, "cpu")
        changed = _arguments(model, [_redistributed(value, distribution) for value in plain])
        return changed if self._finite(case, changed) else _arguments(model, plain)

    def shapes(self, case: Case) -> dict[str, Any]:
        return _arguments(*self._draw(case, "meta"))

    def _draw(self, case: Case, device: str) -> tuple[Any, list[Any]]:
        with self._sizes(case.sizes), _WithoutGpu(device):
            return self._model(), list(self._module.get_inputs())

    def outputs(self, case: Case, inputs: Mapping[str, Any], *, double: bool) -> tuple[torch.Tensor, ...]:
        values = list(inputs.values())
        with self._sizes(case.sizes), _WithoutGpu(), torch.no_grad():
            model = self._model()
            state = model.state_dict()
            count = len(values) - len(state)
            model.load_state_dict(dict(zip(state, values[count:], strict=True)))
            if double:
                model = model.double()
                values = [widened(value) for value in values]
            return as_outputs(model(*values[:count]), self._path)

    # -- sizes -------------------------------------------------------------------------------------

    @contextmanager
    def _sizes(self, sizes: Mapping[str, int]) -> Iterator[None]:
        """The module with other constants; those in effect before come back afterwards."""
        changed: dict[str, Any] = {}
        for key, size in sizes.items():
            name, _, place = key.partition(_PLACE)
            if place:  # one number of a tuple
                whole = list(changed.get(name, getattr(self._module, name)))
                whole[int(place)] = size
                changed[name] = tuple(whole)
            else:
                changed[name] = size
        before = {name: getattr(self._module, name) for name in changed}
        try:
            for name, value in changed.items():
                setattr(self._module, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(self._module, name, value)

    def _model(self) -> Any:
        given = self._module.get_init_inputs() if hasattr(self._module, "get_init_inputs") else []
        if len(given) == 2 and isinstance(given[0], list) and isinstance(given[1], dict):
            return self._module.Model(*given[0], **given[1])
        return self._module.Model(*given)

    def _finite(self, case: Case, arguments: Mapping[str, Any]) -> bool:
        try:
            outputs = self.outputs(case, arguments, double=False)
        except (RuntimeError, ValueError, IndexError):
            return False
        return all(bool(torch.isfinite(o).all()) for o in outputs if o.is_floating_point())

    def _cost(self, sizes: Mapping[str, int]) -> tuple[float, float] | None:
        """(bytes of inputs, state and outputs; FLOPs) without computing anything; None if it does not run."""
        try:
            with self._sizes(sizes), torch.device("meta"), _WithoutGpu("meta"), torch.no_grad():
                counter = FlopCounterMode(display=False)
                model, inputs = self._model(), self._module.get_inputs()
                with counter:
                    outputs = as_outputs(model(*inputs), self._path)
        except Exception:  # whatever a user's model raises, these sizes are no case of it
            return None
        tensors = [*inputs, *model.state_dict().values(), *outputs]
        total = sum(t.numel() * t.element_size() for t in tensors if isinstance(t, torch.Tensor))
        return float(total), float(counter.get_total_flops())

    def _runs(self, sizes: Mapping[str, int]) -> bool:
        """Does the model really run with these sizes, to finite results of which there are some?"""
        cost = self._cost(sizes)
        if cost is None or cost[0] > 4 * _MOST_CHECK_ELEMENTS:
            return False
        # Several draws: labels that exceed the number of classes show in some of them only.
        return all(self._finite_draw(sizes, seed) for seed in range(_TRIAL_DRAWS))

    def _finite_draw(self, sizes: Mapping[str, int], seed: int) -> bool:
        try:
            with self._sizes(sizes), _WithoutGpu(), torch.no_grad():
                torch.manual_seed(seed)
                outputs = as_outputs(self._model()(*self._module.get_inputs()), self._path)
        except Exception:  # as above
            return False
        return all(
            o.numel() > 0 and (not o.is_floating_point() or bool(torch.isfinite(o).all())) for o in outputs
        )

    def _bench_case(self) -> Case:
        """The file's own shape; sizes of more than a simulated GPU can run are halved, the largest first."""
        sizes = dict(self._constants)
        cost = self._cost(sizes)
        if cost is None:
            self._explain_failure()
        while cost is not None and (cost[0] > MOST_BENCH_BYTES or cost[1] > MOST_BENCH_FLOPS):
            found = next(self._smaller(sizes, cost), None)
            if found is None:
                break
            sizes, cost = found
        return Case.bench(**sizes)

    def _smaller(
        self, sizes: Mapping[str, int], cost: tuple[float, float]
    ) -> Iterator[tuple[dict[str, int], tuple[float, float]]]:
        """Cheaper versions: one size halved, the largest first; then all that are equal to it, as they may belong
        together."""
        largest_first = sorted(sizes, key=lambda n: -sizes[n])
        alone = [[name] for name in largest_first]
        together = [[n for n in sizes if sizes[n] == sizes[name]] for name in largest_first]
        for names in (*alone, *together):
            if sizes[names[0]] > 16:
                smaller = {**sizes, **{name: sizes[name] // 2 for name in names}}
                halved = self._cost(smaller)
                if halved is not None and (halved[0] < cost[0] or halved[1] < cost[1]):
                    yield smaller, halved

    def _explain_failure(self) -> None:
        """Meta tensors are not for every model: then the real thing decides, and its error is the user's."""
        try:
            with _WithoutGpu(), torch.no_grad():
                as_outputs(self._model()(*self._module.get_inputs()), self._path)
        except Exception as error:
            raise UsageError(f"{self._path}: Model does not run on its own inputs: {error}") from error

    def _check_cases(self, bench: Case) -> list[Case]:
        found: dict[str, Case] = {}
        large = [name for name, size in self._constants.items() if size > 8]
        for recipe in (*_RECIPES, *(_spread(recipe) for recipe in _RECIPES)):
            for sizes in self._shrunk(large, recipe):
                case = Case.check(**sizes)
                if case.name != bench.name and case.name not in found and self._runs(sizes):
                    found[case.name] = case
                    break
            if len(found) == _WANTED_CHECKS:
                break
        if len(found) < 3:
            for case in self._halvings():
                found.setdefault(case.name, case)
                if len(found) >= 3:
                    break
        return list(found.values()) or [Case.check(**bench.sizes)]

    def _shrunk(self, large: list[str], recipe: tuple[int, ...]) -> Iterator[dict[str, int]]:
        """Ways to hand out a recipe's sizes. The first constants may have to stay (channels, kernel sizes), and those
        that are equal may have to stay equal."""
        for skip in (0, 1, 2, 3):
            names = large[skip:] or large
            yield {**self._constants, **{n: recipe[i % len(recipe)] for i, n in enumerate(names)}}
        values = list(dict.fromkeys(self._constants[name] for name in large))
        yield {
            **self._constants,
            **{n: recipe[values.index(self._constants[n]) % len(recipe)] for n in large},
        }

    def _halvings(self) -> Iterator[Case]:
        """Ever smaller versions of the original sizes, keeping their proportions."""
        sizes = dict(self._constants)
        while any(size > 8 for size in sizes.values()):
            largest = max(sizes, key=lambda n: sizes[n])
            sizes[largest] //= 2
            if self._runs(sizes):
                yield Case.check(**sizes)


class _WithoutGpu(TorchFunctionMode):
    """Files that ask for device="cuda" get their tensors elsewhere: the reference runs on the CPU."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__()
        self._device = device

    def __torch_function__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if "device" in kwargs and kwargs["device"] is not None and str(kwargs["device"]).startswith("cuda"):
            kwargs["device"] = self._device
        if getattr(func, "__name__", "") == "cuda" and args:
            return args[0]
        return func(*args, **kwargs)


def _spread(recipe: tuple[int, ...]) -> tuple[int, ...]:
    """Larger sizes for models whose windows do not fit the smallest."""
    return tuple(4 * size + 1 for size in recipe)


def _size_constants(module: types.ModuleType) -> dict[str, int]:
    """Whole numbers of the module that get_inputs or get_init_inputs mention, in order of appearance.

    Those in a tuple are called `name__0`, `name__1` and so on.
    """
    text = "".join(
        inspect.getsource(getattr(module, name))
        for name in ("get_inputs", "get_init_inputs")
        if hasattr(module, name)
    )
    found: dict[str, int] = {}
    for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text)):
        value = getattr(module, name, None)
        if type(value) is int and value > 0:
            found[name] = value
        elif isinstance(value, (tuple, list)) and all(type(each) is int and each > 0 for each in value):
            found.update({f"{name}{_PLACE}{place}": each for place, each in enumerate(value)})
    return found


def _title(module: types.ModuleType, path: Path) -> str:
    doc = module.Model.__doc__ or ""  # not inspect.getdoc, which would find that of torch.nn.Module
    return (doc.strip().splitlines() or [path.stem])[0].strip()


def _arguments(model: Any, inputs: list[Any]) -> dict[str, Any]:
    """Inputs by the names that forward gives them, then parameters and buffers in state_dict order."""
    names = _argument_names(model, len(inputs))
    state = {
        _unique(key.replace(".", "_"), names): value.detach().clone()
        for key, value in model.state_dict().items()
    }
    return {**dict(zip(names, inputs, strict=True)), **state}


def _argument_names(model: Any, count: int) -> list[str]:
    names = [n for n, p in inspect.signature(model.forward).parameters.items() if p.kind != p.VAR_POSITIONAL]
    return [names[i] if i < len(names) else f"input{i}" for i in range(count)]


def _unique(name: str, taken: list[str]) -> str:
    return name if name not in taken else f"{name}_state"


def _redistributed(value: Any, distribution: Distribution) -> Any:
    if (
        not isinstance(value, torch.Tensor)
        or not value.is_floating_point()
        or distribution is Distribution.NORMAL
    ):
        return value
    return reshape_distribution(value, distribution)
