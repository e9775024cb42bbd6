"""KernelBench files: one shape and one kind of inputs, widened until they tell right from wrong."""

import math
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from evoengineer.card.profile import load_profile
from evoengineer.errors import UsageError
from evoengineer.problem.catalog import find_problem
from evoengineer.problem.kernelbench import KernelBenchProblem
from evoengineer.problem.live import open_live
from evoengineer.problem.model import Distribution
from evoengineer.sim.timing.light import speed_of_light_us


def write(folder: Path, forward: str, inputs: str, constants: str, init: str = "", given: str = "") -> Path:
    path = folder / "model.py"
    path.write_text(
        f"""import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        {init or "pass"}

    def forward(self, *inputs):
        x = inputs[0]
        {forward}

{constants}

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return [{given}]
""",
        encoding="utf-8",
    )
    return path


def load(path: Path) -> KernelBenchProblem:
    live = open_live(path, "model")
    assert isinstance(live, KernelBenchProblem)
    return live


@pytest.fixture
def relu(tmp_path: Path) -> KernelBenchProblem:
    return load(write(tmp_path, "return torch.relu(x)", "torch.rand(batch, dim)", "batch = 16\ndim = 16384"))


def test_the_identity_is_no_relu(relu: KernelBenchProblem) -> None:
    """torch.rand is never negative: by the file's own inputs alone the two are the same."""
    differing = 0
    for case in relu.problem.check_cases:
        for distribution in relu.problem.distributions:
            inputs = relu.inputs(case, distribution, 1)
            (output,) = relu.outputs(case, inputs, double=False)
            same = torch.equal(inputs["input0"], output)
            assert same or distribution is not Distribution.OWN
            differing += not same
    assert differing > 12


def test_check_cases_are_several_tiles_large_in_every_dimension(relu: KernelBenchProblem) -> None:
    elements = [math.prod(case.sizes.values()) for case in relu.problem.check_cases]
    assert sum(count > 1024 for count in elements) >= 4
    assert max(elements) < 1e5
    for name in ("batch", "dim"):
        assert len({case[name] for case in relu.problem.check_cases}) >= 4
    assert any(case["dim"] % 4 == 0 for case in relu.problem.check_cases)
    assert any(case["dim"] % 2 for case in relu.problem.check_cases)


def test_what_the_file_promises_of_its_inputs_still_holds(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "return torch.log(inputs[0]) @ inputs[1]",
        "torch.randn(N, N).softmax(-1), torch.triu(torch.rand(N, N))",
        "N = 512",
    )
    live = load(path)
    assert set(live.problem.distributions) > {Distribution.OWN, Distribution.NORMAL}
    for distribution in live.problem.distributions:
        chances, triangle = live.inputs(live.problem.check_cases[0], distribution, 1).values()
        assert torch.allclose(chances.sum(-1), torch.ones(chances.shape[0]), atol=1e-4)
        assert torch.equal(triangle, torch.triu(triangle))


def test_a_reference_that_takes_positive_values_only_gets_them(tmp_path: Path) -> None:
    live = load(write(tmp_path, "return torch.log(x)", "torch.rand(rows, 64)", "rows = 640"))
    assert Distribution.LARGE in live.problem.distributions
    (x,) = live.inputs(live.problem.check_cases[0], Distribution.LARGE, 1).values()
    assert float(x.min()) > 0
    assert float(x.max()) > 10


def test_places_are_asked_for_where_there_are_no_ties(tmp_path: Path) -> None:
    live = load(
        write(tmp_path, "return torch.argmax(x, 1)", "torch.rand(rows, columns)", "rows = 64\ncolumns = 96")
    )
    for case in live.problem.check_cases:
        (x,) = live.inputs(case, live.problem.distributions[0], 1).values()
        assert len(x.unique()) == x.numel()


def test_parameters_are_not_ones_and_zeros(tmp_path: Path) -> None:
    live = load(
        write(
            tmp_path,
            "return self.norm(x)",
            "torch.rand(batch, features)",
            "batch = 64\nfeatures = 256",
            "self.norm = nn.LayerNorm(sizes[0])",
            "features",
        )
    )
    case = live.problem.check_cases[0]
    inputs = live.inputs(case, Distribution.OWN, 1)
    (output,) = live.outputs(case, inputs, double=False)
    for name in ("norm_weight", "norm_bias"):
        assert float(inputs[name].std()) > 0.1
    plain = torch.nn.functional.layer_norm(inputs["input0"], [case["features"]])
    assert not torch.allclose(plain, output, atol=1e-2)


@pytest.mark.parametrize(
    "forward, what", [("return x * 1", "a copy of"), ("return torch.relu(-x.abs())", "the constant 0")]
)
def test_what_need_not_be_computed_is_refused(forward: str, what: str, tmp_path: Path) -> None:
    path = write(tmp_path, forward, "torch.rand(batch, dim)", "batch = 16\ndim = 1024")
    with pytest.raises(UsageError, match=f"degenerate: {what}"):
        find_problem(str(path))


def light_us(path: Path) -> float:
    description = find_problem(str(path))
    return speed_of_light_us(
        description.moved_bytes(), description.least_flops(), load_profile("rtx4090"), "float32"
    )


def test_a_product_has_a_light_of_its_operations(tmp_path: Path) -> None:
    inputs = "torch.rand(M, K), torch.rand(K, N)"
    path = write(tmp_path, "return x @ inputs[1]", inputs, "M = 1024\nK = 1024\nN = 1024")
    assert find_problem(str(path)).flops() == 2 * 1024**3
    assert 20 < light_us(path) < 27  # by its bytes, 12


@pytest.mark.parametrize(
    "forward",
    [
        "return torch.diag(x[0]) @ inputs[1]",
        "return torch.triu(x @ inputs[1])",
        "return (x @ inputs[1] * 2 + 1).sum(1)",
        "return (x @ inputs[1])[:, :8]",
        "return torch.relu(x @ inputs[1])[::2].contiguous()",
        "return (x @ inputs[1]) @ inputs[1]",
    ],
)
def test_products_that_algebra_folds_away_raise_no_wall(forward: str, tmp_path: Path) -> None:
    path = write(tmp_path, forward, "torch.rand(N, N), torch.rand(N, N)", "N = 1024")
    assert light_us(path) < 13


@pytest.mark.parametrize(
    "init, given, hidden",
    [
        ("self.layer = nn.AvgPool2d(sizes[0])", "window", "window"),
        ("self.layer = nn.GroupNorm(sizes[0], sizes[1])", "groups, features", "groups"),
    ],
)
def test_sizes_that_no_kernel_receives_stay(init: str, given: str, hidden: str, tmp_path: Path) -> None:
    constants = "batch = 16\nfeatures = 64\nside = 96\nwindow = 11\ngroups = 16"
    path = write(
        tmp_path, "return self.layer(x)", "torch.rand(batch, features, side, side)", constants, init, given
    )
    problem = load(path).problem
    own = {"window": 11, "groups": 16}[hidden]
    assert {case[hidden] for case in problem.cases} == {own}
    assert len({case["batch"] for case in problem.check_cases}) > 2


@pytest.mark.parametrize(
    "forward", ["return self.drop(x) * 2", "return nn.functional.dropout(x, 0.5, self.training) * 2"]
)
def test_dropout_is_off(forward: str, tmp_path: Path) -> None:
    path = write(
        tmp_path, forward, "torch.rand(batch, dim)", "batch = 16\ndim = 64", "self.drop = nn.Dropout(0.5)"
    )
    live = load(path)
    case = live.problem.check_cases[0]
    inputs = live.inputs(case, Distribution.OWN, 1)
    (output,) = live.outputs(case, inputs, double=False)
    assert torch.equal(output, inputs["input0"] * 2)


def test_chance_in_forward_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "return x + torch.rand_like(x)", "torch.rand(batch, dim)", "batch = 16\ndim = 64")
    with pytest.raises(UsageError, match="other results each time"):
        load(path)


def test_training_changes_no_argument(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "return self.norm(x)",
        "torch.rand(batch, features, side)",
        "batch = 16\nfeatures = 64\nside = 96",
        "self.norm = nn.BatchNorm1d(sizes[0])",
        "features",
    )
    live = load(path)
    case = live.problem.check_cases[0]
    inputs = live.inputs(case, Distribution.OWN, 1)
    before = {name: value.clone() for name, value in inputs.items()}
    first, second = (live.outputs(case, inputs, double=False)[0] for _ in range(2))
    assert torch.equal(first, second)
    assert all(torch.equal(value, before[name]) for name, value in inputs.items())
    assert "norm_running_mean" in live.optional


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("from einops_that_nobody_has.layers import Rearrange\n")
    with pytest.raises(UsageError, match="needs the Python package 'einops_that_nobody_has'.*pip install"):
        open_live(path, "model")


def test_constants_that_follow_from_sizes_follow(tmp_path: Path) -> None:
    """Were a bias's shape a size of its own, the channels could never vary."""
    live = load(
        write(
            tmp_path, "return torch.relu(self.conv(x)) + self.bias", "torch.rand(batch, channels, side, side)",
            "batch = 16\nchannels = 32\nout = 64\nside = 32\nbias_shape = (out, 1, 1)",
            "self.conv = nn.Conv2d(sizes[0], sizes[1], 3); self.bias = nn.Parameter(torch.randn(sizes[2]))",
            "channels, out, bias_shape",
        )
    )  # fmt: skip
    cases = live.problem.check_cases
    assert all("bias_shape__0" not in case.sizes for case in cases)
    assert len({case.sizes["out"] for case in cases}) > 2
    for case in cases:
        inputs = live.inputs(case, Distribution.OWN, 0)
        assert inputs["bias"].shape == (case.sizes["out"], 1, 1)


def test_a_constant_that_is_assigned_again_has_no_rule(tmp_path: Path) -> None:
    live = load(
        write(tmp_path, "return torch.relu(x)", "torch.rand(rows, columns)",
              "rows = 64\ncolumns = rows * 2\ncolumns = 48")
    )  # fmt: skip
    assert live.problem.bench_case.sizes == {"rows": 64, "columns": 48}


def test_literal_sizes_vary(tmp_path: Path) -> None:
    live = load(write(tmp_path, "return torch.relu(x)", "torch.rand(batch, 3, 224, 200)", "batch = 16"))
    assert dict(live.problem.bench_case.sizes) == {"batch": 16, "size_1": 224, "size_2": 200}
    shapes = {
        tuple(live.inputs(case, Distribution.OWN, 0)["input0"].shape) for case in live.problem.check_cases
    }
    assert len({shape[2] for shape in shapes}) > 2
    assert {shape[1] for shape in shapes} == {3}


def test_literal_sizes_that_belong_together_vary_together(tmp_path: Path) -> None:
    live = load(
        write(tmp_path, "return self.layer(x)", "torch.rand(32, 128)", "", "self.layer = nn.Linear(*sizes)", "128, 64")
    )  # fmt: skip
    cases = live.problem.check_cases
    assert len(cases) >= 3
    assert all(case.sizes["size_2"] == case.sizes["size_3"] for case in cases)


def test_what_groups_divide_is_a_fraction_of_itself(tmp_path: Path) -> None:
    """With all its channels, a single pixel of this convolution is as much as a check case may do."""
    live = load(
        write(
            tmp_path, "return self.conv(x)", "torch.rand(batch, channels, 12, 24, 48)",
            "batch = 8\nchannels = 64\nout = 64",
            "self.conv = nn.ConvTranspose3d(sizes[0], sizes[1], (3, 5, 7), stride=2, groups=4)", "channels, out",
        )
    )  # fmt: skip
    cases = live.problem.check_cases
    assert len(cases) >= 3
    assert all(case.sizes["channels"] % 4 == 0 for case in cases)
    assert any(case.sizes["channels"] < 64 for case in cases)
    assert any(case.sizes["size_1"] > 2 for case in cases)


def test_torch_distributions_cost_nothing_to_count(tmp_path: Path) -> None:
    """They look at their parameters' values: the file's own gigabytes would have to be computed."""
    live = load(
        write(tmp_path, "return torch.relu(x - 0.02)", "Pareto(0.01, 1.5).sample((batch, dim))",
              "from torch.distributions import Pareto\nbatch = 1 << 20\ndim = 1 << 20")
    )  # fmt: skip
    assert live.problem.bench_case.sizes["dim"] < 1 << 20


def test_inputs_of_which_rounding_alone_would_be_judged_are_not_drawn(tmp_path: Path) -> None:
    """A convolution of nearly equal numbers gives nearly equal ones; their norm is what rounding left of them."""
    norm, constants = "return nn.functional.instance_norm({})", "batch = 16\nchannels = 16\nside = 32"
    inputs = "torch.rand(batch, channels, side, side)"
    plain = load(write(tmp_path, norm.format("x"), inputs, constants))
    assert Distribution.NEAR_CONSTANT in plain.problem.distributions
    product = load(
        write(tmp_path, norm.format("self.conv(x)"), inputs, constants,
              "self.conv = nn.Conv2d(sizes[0], sizes[0], 3)", "channels")
    )  # fmt: skip
    assert Distribution.NEAR_CONSTANT not in product.problem.distributions
    assert len(product.problem.distributions) > 3
