"""Knobs with their constraints, and the tuner that turns them."""

from __future__ import annotations

import pytest

from evoengineer.propose.syntax.arithmetic import value_of
from evoengineer.propose.syntax.knobs import allowed, knobs, with_settings
from evoengineer.propose.syntax.tree import NotUnderstood
from evoengineer.propose.tuner import Tuner, changed_settings, skeleton

TEXT = """
#define BLOCK_SIZE 128
constexpr int ROW_THREADS = 16;
constexpr bool ROW_ADJACENT = true;
constexpr int ROW_TILE = ROW_THREADS * 4;
constexpr int CHANNELS = 64;
static_assert(ROW_THREADS * BLOCK_SIZE <= 4096 && !(ROW_TILE > 128), "no more");
static_assert(ROW_TILE * sizeof(float) <= UNKNOWN, "cannot be evaluated");
"""


def test_knobs_are_constants_that_are_named_like_sizes() -> None:
    assert {knob.name: knob.value for knob in knobs(TEXT)} == {
        "BLOCK_SIZE": 128,
        "ROW_THREADS": 16,
        "ROW_ADJACENT": 1,
    }


def test_counts_of_outputs_and_blocks_need_not_be_powers_of_two() -> None:
    text = "constexpr int ROW_EACH = 6;\nconstexpr int RUN_RESIDENT = 2;\nconstexpr int ROW_THREADS = 16;\n"
    values = {knob.name: knob.values for knob in knobs(text)}
    assert {4, 6, 8, 12} <= set(values["ROW_EACH"])
    assert {1, 2, 3, 4} <= set(values["RUN_RESIDENT"])
    assert not any(value % 3 == 0 for value in values["ROW_THREADS"])


def test_a_size_of_another_kind_can_be_halved_and_doubled() -> None:
    (knob,) = knobs("constexpr int ROW_THREADS = 22;\n")
    assert knob.values == (11, 22, 44)


FALLBACK = """
constexpr int OLD_THREADS = 128;
constexpr int RUN_TILED_THREADS = 64;
constexpr int RUN_TILED_ASSUMED_1 = 16;
__global__ void run(float* y) { __shared__ float part[OLD_THREADS]; }
__global__ void run_tiled(float* y) {}
void forward() {
    const int threads = 256;
    const int blocks = (n + threads - 1) / threads;
    if (n % 4 == 0) {
        run_tiled<<<n, RUN_TILED_THREADS>>>(y);
    } else {
        run<<<blocks, threads>>>(y);
    }
}
"""


def test_sizes_of_a_fallback_and_of_the_problem_are_no_knobs() -> None:
    assert [knob.name for knob in knobs(FALLBACK)] == ["RUN_TILED_THREADS"]
    used = FALLBACK.replace("run_tiled<<<n,", "run_tiled<<<blocks,")
    assert [knob.name for knob in knobs(used)] == ["RUN_TILED_THREADS", "threads"]


def test_the_tuner_goes_on_in_the_direction_that_paid() -> None:
    text = "".join(f"constexpr int {name}_THREADS = 64;\n" for name in "ABCDEF")
    tuner, best = Tuner(text, 100.0, 0), 100.0
    asked = []
    for _ in range(12):
        (source,) = tuner.ask(1)
        value = next(knob.value for knob in knobs(source) if knob.name == "C_THREADS")
        asked.append(value)
        tuner.tell(source, 100.0 - value / 10)
        best = min(best, 100.0 - value / 10)
    first = asked.index(128)
    assert asked[first : first + 3] == [128, 256, 512], "no other knob is tried in between"


def test_tiles_that_fit_the_problem_are_kept_as_long_as_there_is_something_else_to_turn() -> None:
    text = (
        "constexpr int A_THREADS = 16;\nconstexpr int A_EACH = 2;\nconstexpr int A_TILE = A_THREADS * A_EACH;\n"
        "constexpr int B_RESIDENT = 2;\n"
    )
    asked = Tuner(text, 100.0, 0).ask(6)
    kept = [{knob.name: knob.value for knob in knobs(each)} for each in asked]
    assert {each["A_THREADS"] * each["A_EACH"] for each in kept[:4]} == {32}
    assert {each["A_THREADS"] * each["A_EACH"] for each in kept[4:]} != {32}


def test_settings_change_the_values_and_nothing_else() -> None:
    changed = with_settings(TEXT, {"BLOCK_SIZE": 64, "ROW_ADJACENT": 0})
    assert changed == TEXT.replace("128\n", "64\n").replace("= true", "= false")
    assert changed_settings(TEXT, changed) == {"BLOCK_SIZE": 64, "ROW_ADJACENT": 0}


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ({}, True),
        ({"ROW_THREADS": 32}, True),
        ({"ROW_THREADS": 64}, False),  # the tile gets too large
        ({"BLOCK_SIZE": 512}, False),  # the product does
    ],
)
def test_a_texts_own_assertions_are_the_constraints(setting: dict[str, int], expected: bool) -> None:
    assert allowed(TEXT, setting) is expected


@pytest.mark.parametrize(
    "expression", ["f(2)", "a b", "1 / 0", "-3 % 2", "x", "1 << 200", "__import__('os')"]
)
def test_only_plain_arithmetic_is_evaluated(expression: str) -> None:
    with pytest.raises(NotUnderstood):
        value_of(expression, {})


def run_tuner(seed: int, count: int) -> list[str]:
    tuner = Tuner(TEXT, 100.0, seed)
    asked: list[str] = []
    while len(asked) < count and (texts := tuner.ask(2)):
        for text in texts:
            found = {knob.name: knob.value for knob in knobs(text)}
            asked.append(text)
            tuner.tell(text, 50.0 + abs(found["BLOCK_SIZE"] - 32) + abs(found["ROW_THREADS"] - 4))
    return asked


def test_the_tuner_walks_to_the_best_setting_without_repeating_itself() -> None:
    asked = run_tuner(0, 20)
    assert len(set(asked)) == len(asked)
    assert all(allowed(text, {}) for text in asked)
    assert any("BLOCK_SIZE 32" in text and "ROW_THREADS = 4;" in text for text in asked)


def test_the_tuner_is_deterministic_and_comes_to_an_end() -> None:
    assert run_tuner(1, 12) == run_tuner(1, 12)
    assert len(run_tuner(1, 10_000)) < 200
    assert Tuner("no knobs", 1.0, 0).ask(2) == []


def test_all_settings_of_a_text_are_the_same_kernel() -> None:
    """Whatever their values are; and what only advises the compiler makes no other kernel."""
    text = "constexpr int ROW_THREADS = 16;\nvoid run(float* y) {\n    for (;;) {}\n}\n"
    for value in (8, 64, 1024):
        assert skeleton(text.replace("16", str(value))) == skeleton(text)
    advised = text.replace("    for", "    #pragma unroll 4\n    for").replace(
        "float* y", "float* __restrict__ y"
    )
    assert skeleton(advised) == skeleton(text)
    assert skeleton(text.replace("{}", "{ break; }")) != skeleton(text)


def test_the_tuner_learns_from_what_the_trials_have_turned() -> None:
    text = "".join(f"constexpr int {name}_THREADS = 64;\n" for name in "ABCDEF")
    slower = text.replace("A_THREADS = 64", "A_THREADS = 128"), 200.0
    better = (
        text.replace("B_THREADS = 64", "B_THREADS = 16"),
        90.0,
    )  # by itself; here it is what was not tried yet
    tuner = Tuner(text, 100.0, 0, {slower[0]}, [slower, better])
    asked = [changed_settings(text, source) for source in tuner.ask(11)]
    assert asked[0]["B_THREADS"] == 32, "the direction that paid comes first"
    assert {"A_THREADS": 128} not in asked
