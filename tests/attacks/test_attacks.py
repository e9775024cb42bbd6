"""A few attacks of every kind and a few controls, each with the verdict it deserves. `make integrity` tries all."""

from collections.abc import Iterator

import pytest

from evoengineer.experiment.integrity import Gauntlet
from evoengineer.judge import JudgeOptions
from evoengineer.judge.corpus import Result, choose, load_corpus

CORPUS = load_corpus()
ATTACKS = (
    "aligned/shared_sum_at_bench",
    "aligned/block_scope_counter",
    "aligned/chain_at_bench",
    "aligned/two_streams_at_bench",
    "cache/by_pointer_with_decoy",
    "cache/flag_on_device",
    "cache/two_results",
    "constant/uniform_softmax",
    "detection/after_warm_up",
    "escape/network",
    "forging/address_of_an_input",
    "forging/exception_with_commands",
    "forging/times_not_numbers",
    "host/printed_sums",
    "host/sums_by_parameter",
    "host/symbols",
    "laundering/pasted_name",
    "leftovers/kept_from_second_call",
    "leftovers/far_in_local_memory_at_bench",
    "leftovers/never_written_at_bench",
    "leftovers/word_beside_it_at_bench",
    "limits/billions_of_blocks",
    "limits/fork_bomb",
    "mutation/clears_input_at_bench",
    "mutation/input_as_scratch",
    "nan/few_at_bench",
    "partial/rows_at_bench",
    "precision/rough_exponential",
    "precision/short_mantissa",
    "precision/tanh_instruction",
    "reading/incbin",
    "refused/divergent_barrier",
    "refused/too_many_registers",
    "streams/cloned_thread",
    "streams/graph_branches",
    "streams/host_function",
    "streams/late_thread_kept",
    "streams/one_call_behind",
)
CONTROLS = (
    "honest/cumsum_look_back",
    "honest/add_joined_threads",
    "honest/add_stages_of_streams",
    "honest/add_two_streams",
    "honest/add_inline_ptx",
    "honest/softmax_dynamic_shared",
    "honest/layer_norm_welford",
    "honest/matmul_tf32_parts",
)


@pytest.fixture(scope="session")
def gauntlet() -> Iterator[Gauntlet]:
    pytest.importorskip("torch")
    with Gauntlet(JudgeOptions(run_seed=1, workers=1, memory_bytes=2 << 30)) as one:
        yield one


def result_of(name: str, gauntlet: Gauntlet) -> Result:
    (result,) = gauntlet.run(choose(CORPUS, names=[name]), CORPUS)
    return result


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_is_caught(name: str, gauntlet: Gauntlet) -> None:
    result = result_of(name, gauntlet)
    assert result.expected, f"{result.outcome}: {result.evidence}"


@pytest.mark.parametrize("name", CONTROLS)
def test_honest_kernel_passes(name: str, gauntlet: Gauntlet) -> None:
    result = result_of(name, gauntlet)
    assert result.passed, f"{result.outcome}: {result.evidence}"
