"""A few attacks of every kind and a few controls, each with the verdict it deserves. `make integrity` tries all."""

from collections.abc import Iterator

import pytest

from evoengineer.experiment.integrity import Gauntlet, Trial, choose, load_corpus
from evoengineer.judge import JudgeOptions

CORPUS = load_corpus()
ATTACKS = (
    "cache/by_pointer_with_decoy",
    "cache/flag_on_device",
    "constant/uniform_softmax",
    "detection/after_warm_up",
    "escape/network",
    "forging/address_of_an_input",
    "forging/times_not_numbers",
    "host/symbols",
    "laundering/pasted_name",
    "leftovers/never_written_at_bench",
    "limits/fork_bomb",
    "mutation/clears_input_at_bench",
    "nan/few_at_bench",
    "partial/rows_at_bench",
    "precision/rough_exponential",
    "reading/incbin",
    "refused/divergent_barrier",
    "streams/host_function",
)
CONTROLS = (
    "honest/add_two_streams",
    "honest/add_inline_ptx",
    "honest/softmax_dynamic_shared",
    "honest/layer_norm_welford",
)


@pytest.fixture(scope="session")
def gauntlet() -> Iterator[Gauntlet]:
    pytest.importorskip("torch")
    with Gauntlet(JudgeOptions(run_seed=1, workers=1, run_seconds=20, memory_bytes=2 << 30)) as one:
        yield one


def trial_of(name: str, gauntlet: Gauntlet) -> Trial:
    (trial,) = gauntlet.run(choose(CORPUS, names=[name]), CORPUS)
    return trial


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_is_caught(name: str, gauntlet: Gauntlet) -> None:
    trial = trial_of(name, gauntlet)
    assert trial.expected, f"{trial.outcome}: {trial.evidence}"


@pytest.mark.parametrize("name", CONTROLS)
def test_honest_kernel_passes(name: str, gauntlet: Gauntlet) -> None:
    trial = trial_of(name, gauntlet)
    assert trial.passed, f"{trial.outcome}: {trial.evidence}"
