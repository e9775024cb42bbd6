"""KernelBench files as problems: `Model`, `get_inputs`, `get_init_inputs`, used as they are.

Parameters and buffers follow the inputs as arguments, in `state_dict` order. Such a file has one shape and one kind
of inputs, which is too little to judge by: `sizes.py` finds check cases and a bench case that fits, `widening.py`
draws inputs that tell right from wrong. Both change only what the model itself accepts. A file may also say itself
what it is judged by, in `cases`, `distributions` and `tolerance`: `problems adopt` writes such files.

What is drawn inside `forward` cannot be compared: dropout layers are off, as for inference. Everything else is as
the file has it; a batch norm of a model in training uses the batch's own statistics.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.distributions import Distribution as RandomVariable
from torch.func import functional_call
from torch.overrides import TorchFunctionMode

from evoengineer.errors import UsageError
from evoengineer.problem.constants import Constants, Sizes
from evoengineer.problem.live import Call, as_outputs, check_cases, widened
from evoengineer.problem.model import Case, CaseKind, Distribution, Problem, Tolerance
from evoengineer.problem.sizes import Cost, bench_sizes, check_sizes, seen_sizes
from evoengineer.problem.widening import Modes, Widened, accepted_modes, lively
from evoengineer.problem.work import Work, count_work

_TRIAL_DRAWS = 8
_VECTOR_BYTES = 16
_HEADROOM = 2.0  # between PyTorch's own error and the tolerance


class KernelBenchProblem:
    """The live side of a KernelBench file (`live.Live`)."""

    def __init__(self, module: types.ModuleType, path: Path, name: str, baseline: Path | None) -> None:
        self._module, self._path = module, path
        self._inference = False  # the whole model, where leaving out dropout layers is not enough
        self._tolerance: Tolerance = getattr(module, "tolerance", Tolerance())
        self._constants = Constants(module)
        constants = self._constants.own
        self._device = "meta"  # where costs are counted: nothing is computed there
        if self._cost(constants) is None:  # not every model takes tensors without contents
            self._device = "cpu"
            self._explain_failure()
        checks, bench = self._cases(constants)
        self._leave_out_chance(checks[0])
        self._modes = self._chosen_modes(checks)
        beside = path.with_name("baseline.cu") if path.name == "problem.py" else path.with_suffix(".cu")
        self.optional = self._state_names(checks[0])
        self.mode = self._mode(checks[0])
        scaled = any(constants[name] != size for name, size in bench.sizes.items())
        self.problem = Problem(
            name=name,
            path=path,
            title=_title(module, path) + (f" (bench scaled down: {bench.name})" if scaled else ""),
            reference_source=path.read_text(encoding="utf-8"),
            cases=(*checks, bench),
            tolerance=self._tolerance,
            distributions=tuple(self._modes),
            baseline=baseline or (beside if beside.exists() else None),
            form="kernelbench",
        )

    def _cases(self, constants: Sizes) -> tuple[list[Case], Case]:
        """Those that the file has, else made from its constants."""
        if hasattr(self._module, "cases"):
            cases = tuple(self._module.cases)
            check_cases(self._path, cases)
            unknown = {name for case in cases for name in case.sizes if name not in constants}
            if unknown:
                raise UsageError(
                    f"{self._path}: cases: no constant {', '.join(sorted(unknown))} in the file that get_inputs or "
                    f"get_init_inputs uses; there are: {', '.join(constants) or 'none'}"
                )
            return [case for case in cases if case.kind is CaseKind.CHECK], next(
                case for case in cases if case.kind is CaseKind.BENCH
            )
        seen = seen_sizes(constants, self._cost)
        bench = Case.bench(**bench_sizes(constants, seen, self._cost))
        checks = [Case.check(**sizes) for sizes in check_sizes(constants, seen, self._cost, self._runs)]
        return checks or [Case.check(**bench.sizes)], bench

    def _leave_out_chance(self, case: Case) -> None:
        """Two runs of forward have to agree; if they do not, the model is used as for inference."""
        for self._inference in (False, True):
            inputs = self._inputs(case, Distribution.OWN, (), 0)
            runs = []
            for seed in (1, 2):
                torch.manual_seed(seed)
                runs.append(self.outputs(case, inputs, double=False))
            if all(_same(a, b) for a, b in zip(*runs, strict=True)):
                return
        raise UsageError(
            f"{self._path}: Model gives other results each time: no kernel can be compared with it"
        )

    def _chosen_modes(self, checks: list[Case]) -> dict[Distribution, Modes]:
        """How random calls follow each distribution: those of the file's own list, else all that it takes."""
        found = self._accepted(checks)
        if not hasattr(self._module, "distributions"):
            return found
        wanted = [Distribution(each) for each in self._module.distributions]
        missing = [each for each in wanted if each not in found]
        if missing or not wanted:
            raise UsageError(
                f"{self._path}: distributions: {', '.join(missing) or 'none given'}; "
                f"the reference takes {', '.join(found)}"
            )
        return {each: found[each] for each in wanted}

    def _state_names(self, case: Case) -> frozenset[str]:
        with self._constants.resized(case.sizes), _WithoutGpu():
            model = self._model()
            count = len(model.state_dict())
        names = list(self._inputs(case, Distribution.OWN, (), 0))
        return frozenset(names[len(names) - count :])

    def _mode(self, case: Case) -> str:
        """What a reader of the file cannot see: how its layers are used that behave differently in training."""
        with self._constants.resized(case.sizes), _WithoutGpu():
            layers = list(self._model().modules())
        told = []
        for each in layers:
            if isinstance(each, torch.nn.modules.batchnorm._NormBase):
                own = each.training or each.running_mean is None
                told.append(
                    f"{type(each).__name__} is in {'training' if each.training else 'inference'} mode and uses "
                    f"{'the statistics of its input' if own else 'the running statistics that it is given'}"
                )
            elif isinstance(each, torch.nn.modules.dropout._DropoutNd):
                told.append(f"{type(each).__name__} is off")
        return "; ".join(dict.fromkeys(told))

    # -- the live side -----------------------------------------------------------------------------

    def inputs(self, case: Case, distribution: Distribution, seed: int) -> dict[str, Any]:
        """Inputs by the distribution, then the model's state."""
        drawn = self._inputs(case, distribution, self._modes[distribution], seed)
        # Cases were tried before; what the full size makes of large values was not.
        tried = distribution is Distribution.OWN or case.kind is CaseKind.CHECK
        if tried or self._finite(case, drawn) is not None:
            return drawn
        return self._inputs(case, Distribution.OWN, (), seed)

    def _inputs(self, case: Case, distribution: Distribution, modes: Modes, seed: int) -> dict[str, Any]:
        torch.manual_seed(seed)
        with self._constants.resized(case.sizes), _WithoutGpu():
            model = self._model()
            with Widened(distribution, modes, seed):
                inputs = list(self._module.get_inputs())
        return _arguments(model, inputs, lively(model.state_dict(), seed))

    def shapes(self, case: Case) -> dict[str, Any]:
        with self._constants.resized(case.sizes), _WithoutGpu("meta"):
            model = self._model()
            return _arguments(model, list(self._module.get_inputs()), model.state_dict())

    def outputs(self, case: Case, inputs: Mapping[str, Any], *, double: bool) -> tuple[torch.Tensor, ...]:
        with self._constants.resized(case.sizes), _WithoutGpu(), torch.no_grad():
            model = self._model()
            state, given = _with_state(model, list(inputs.values()), double)
            return as_outputs(functional_call(model.double() if double else model, state, given), self._path)

    def call(self, case: Case) -> Call:
        with self._constants.resized(case.sizes), _WithoutGpu():
            model = self._model()
        names, buffers = _state_of(model)

        def run(inputs: Mapping[str, Any]) -> tuple[torch.Tensor, ...]:
            state, given = _split(names, buffers, list(inputs.values()))
            with self._constants.resized(case.sizes), _WithoutGpu():
                return as_outputs(functional_call(model, state, given), self._path)

        return run

    def work(self, case: Case, inputs: Mapping[str, Any]) -> tuple[Work, tuple[torch.Tensor, ...]]:
        with self._constants.resized(case.sizes), _WithoutGpu(), torch.no_grad():
            model = self._model()
            state, given = _with_state(model, list(inputs.values()), False)
            return count_work(
                [*given, *state.values()],
                lambda: as_outputs(functional_call(model, state, given), self._path),
            )

    def _model(self) -> Any:
        given = self._module.get_init_inputs() if hasattr(self._module, "get_init_inputs") else []
        if len(given) == 2 and isinstance(given[0], list) and isinstance(given[1], dict):
            model = self._module.Model(*given[0], **given[1])
        else:
            model = self._module.Model(*given)
        for each in model.modules():
            if self._inference or isinstance(each, torch.nn.modules.dropout._DropoutNd):
                each.training = False
        return model

    # -- what the model accepts --------------------------------------------------------------------

    def _accepted(self, checks: list[Case]) -> dict[Distribution, Modes]:
        """Distributions that leave every check case finite, with as many outputs of the same types and ranks, and that
        PyTorch itself computes so well that an honest kernel can be told from a wrong one."""
        kinds = {
            case.name: self._finite(case, self._inputs(case, Distribution.OWN, (), 0)) for case in checks
        }

        listed = hasattr(self._module, "distributions")  # the author's choice

        def accepts(distribution: Distribution, modes: Modes) -> bool:
            draws = (
                (case, self._inputs(case, distribution, modes, seed)) for case in checks for seed in (1, 2)
            )
            return all(
                self._finite(case, inputs) == kinds[case.name]
                and (listed or self._is_conditioned(case, inputs))
                for case, inputs in draws
            )

        with (
            self._constants.resized(checks[0].sizes),
            _WithoutGpu(),
            Widened(Distribution.OWN, (), 0) as random,
        ):
            self._module.get_inputs()
        index_outputs = any("int" in kind for found in kinds.values() for kind, _ in found or ())
        return accepted_modes(random.calls, index_outputs, accepts)

    def _finite(self, case: Case, arguments: Mapping[str, Any]) -> tuple[tuple[str, int], ...] | None:
        """Types and ranks of the outputs; None if the model fails or gives what is not finite."""
        try:
            outputs = self.outputs(case, arguments, double=False)
        except Exception:  # whatever a user's model raises, it does not take these inputs
            return None
        if not all(o.numel() > 0 and bool(torch.isfinite(o).all()) for o in outputs):
            return None
        return tuple((str(output.dtype), output.dim()) for output in outputs)

    def _is_conditioned(self, case: Case, arguments: Mapping[str, Any]) -> bool:
        """Is PyTorch's own error well within the tolerance? A norm of what rounding made of nearly equal numbers is
        noise: no other order of summation would come near it."""
        try:
            exact = self.outputs(case, arguments, double=True)
        except Exception:  # not everything has a float64 version: the judge does without it, too
            return True
        outputs = self.outputs(case, arguments, double=False)
        return all(
            _own_error(output, right) * _HEADROOM
            <= self._tolerance.bound(str(output.dtype).removeprefix("torch."))
            for output, right in zip(outputs, exact, strict=True)
            if output.is_floating_point()
        )

    def _cost(self, sizes: Sizes) -> Cost | None:
        """None if the model does not run with these sizes."""
        try:
            return self._cost_on(self._device, sizes)
        except Exception:  # whatever a user's model raises, these sizes are no case of it
            return None

    def _cost_on(self, device: str, sizes: Sizes) -> Cost:
        with (
            self._constants.resized(sizes),
            torch.device(device),
            _WithoutGpu(device),
            _unvalidated(),
            torch.no_grad(),
        ):
            model, inputs = self._model(), self._module.get_inputs()
            work, outputs = count_work((), lambda: as_outputs(model(*inputs), self._path))
        main = [each for each in inputs if isinstance(each, torch.Tensor)]
        tensors = [*main, *model.state_dict().values(), *outputs]
        total = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        largest = [max(group, key=torch.numel) for group in (main, list(outputs)) if group]
        return Cost(
            bytes=total,
            flops=work.flops,
            largest=max((each.numel() for each in largest), default=0),
            shapes=tuple(tuple(each.shape) for each in (*main, *model.state_dict().values())),
            aligned=all(
                each.shape[-1] * each.element_size() % _VECTOR_BYTES == 0 for each in largest if each.dim()
            ),
        )

    def _runs(self, sizes: Sizes) -> bool:
        """Does the model really run with these sizes, to finite results of which there are some?

        Several draws: labels that exceed the number of classes show in some of them only.
        """
        case = Case.check(**sizes)
        return all(
            self._finite(case, self._inputs(case, Distribution.OWN, (), seed)) is not None
            for seed in range(_TRIAL_DRAWS)
        )

    def _explain_failure(self) -> None:
        """The error of a model that does not run on its own inputs is the user's to see."""
        try:
            with _WithoutGpu(), torch.no_grad():
                as_outputs(self._model()(*self._module.get_inputs()), self._path)
        except Exception as error:
            raise UsageError(f"{self._path}: Model does not run on its own inputs: {error}") from error


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


@contextmanager
def _unvalidated() -> Iterator[None]:
    """torch.distributions looks at its parameters' values, which tensors without contents do not have."""
    before = RandomVariable._validate_args
    RandomVariable.set_default_validate_args(False)
    try:
        yield
    finally:
        RandomVariable.set_default_validate_args(before)


def _own_error(output: torch.Tensor, exact: torch.Tensor) -> float:
    """The worst of an output, relative to the element plus the output's RMS, as the judge takes it."""
    exact = exact.double()
    size = exact.abs() + exact.square().mean().sqrt()
    return float(((output.double() - exact).abs() / size).nan_to_num(0.0).max())


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Equal, where both are no numbers as well."""
    return one.shape == other.shape and bool(((one == other) | (one.isnan() & other.isnan())).all())


def _with_state(model: Any, values: list[Any], double: bool) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """The state that is among a model's arguments, and the others; in float64 if `double`."""
    return _split(*_state_of(model), [widened(value) for value in values] if double else values)


def _state_of(model: Any) -> tuple[list[str], set[str]]:
    """Names in state_dict order, and which of them are buffers."""
    return list(model.state_dict()), {name for name, _ in model.named_buffers()}


def _split(names: list[str], buffers: set[str], values: list[Any]) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """State by name, and the other arguments. Buffers are copies: a model in training writes to them."""
    count = len(values) - len(names)
    state = dict(zip(names, values[count:], strict=True))
    return {n: v.clone() if n in buffers else v for n, v in state.items()}, tuple(values[:count])


def _title(module: types.ModuleType, path: Path) -> str:
    doc = module.Model.__doc__ or ""  # not inspect.getdoc, which would find that of torch.nn.Module
    return (doc.strip().splitlines() or [path.stem])[0].strip()


def _arguments(model: Any, inputs: list[Any], state: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    """Inputs by the names that forward gives them, then parameters and buffers in state_dict order."""
    names = _argument_names(model, len(inputs))
    named = {_unique(key.replace(".", "_"), names): value for key, value in state.items()}
    return {**dict(zip(names, inputs, strict=True)), **named}


def _argument_names(model: Any, count: int) -> list[str]:
    names = [n for n, p in inspect.signature(model.forward).parameters.items() if p.kind != p.VAR_POSITIONAL]
    return [names[i] if i < len(names) else f"input{i}" for i in range(count)]


def _unique(name: str, taken: list[str]) -> str:
    return name if name not in taken else f"{name}_state"
