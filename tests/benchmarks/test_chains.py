"""The validation chains: a manifest that holds together, figures converted rightly, programs that check themselves."""

import collections
import re
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.chains import (
    DURATIONS_US,
    FOLDER,
    RATES_PER_SECOND,
    Chain,
    left_out,
    load,
    measured_us,
)
from hypothesis import given
from hypothesis import strategies as st

from evoengineer.card.profile import profile_names

CHAINS = load()
WRONG = """
#include "common.h"
__global__ void nothing(int* out) {}
int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4}, {4});
    chain::Array<int> out(run.size(0));
    run.variant("nothing", [&] { nothing<<<1, 1>>>(out); },
                [&] { return chain::close(out, std::vector<int>(out.count, 7), 0.0); },
                [&] { CHECK(cudaMemset(out, 0, out.count * sizeof(int))); });
    return run.finish();
}
"""


def run_program(
    source: Path, *arguments: str, nvcc_args: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evoengineer", "sim", "run", str(source), "--device", "sim:rtx3090"]
    command += [f"--nvcc-arg={argument}" for argument in nvcc_args]
    return subprocess.run(
        [*command, "--", *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_names_are_unique_and_programs_exist() -> None:
    assert len({chain.name for chain in CHAINS}) == len(CHAINS)
    for chain in CHAINS:
        assert chain.file.is_file(), chain.name
        assert len({variant.name for variant in chain.variants}) == len(chain.variants) > 1, chain.name


def test_every_card_has_a_profile() -> None:
    assert {chain.card for chain in CHAINS} <= set(profile_names())


def test_half_of_the_chains_are_held_out_and_no_family_is_only_fitted() -> None:
    uses = collections.Counter(chain.use for chain in CHAINS)
    assert uses["test"] >= uses["fit"] > 0
    families: dict[str, set[str]] = collections.defaultdict(set)
    for chain in CHAINS:
        families[chain.operation].add(chain.use)
    assert all("test" in seen for seen in families.values()), dict(families)


def test_no_measurement_is_both_fitted_and_held_out() -> None:
    def measurements(use: str) -> set[tuple[str, str, tuple[str, ...], float]]:
        chosen = [chain for chain in CHAINS if chain.use == use]
        return {
            (c.card, c.file.name, (*c.nvcc_args, *v.args), v.measured_us) for c in chosen for v in c.variants
        }

    assert not measurements("fit") & measurements("test")


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.name)
def test_variants_are_named_in_the_program(chain: Chain) -> None:
    """A name stands in the source as it is, or as a prefix to which the program adds `_` and a size or a type."""
    literals = set(re.findall(r'"(\w+)"', chain.file.read_text()))
    for variant in chain.variants:
        name = variant.args[0]
        parts = name.rsplit("_", 1)
        assert name in literals or {parts[0], parts[0] + "_"} & literals, (chain.name, name)


def test_the_readme_lists_every_chain() -> None:
    readme = (FOLDER / "README.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)` \| (\S+) \| (\d+) \| (fit|test) \|", readme, re.MULTILINE)
    assert rows == [(c.name, c.card, str(len(c.variants)), c.use) for c in CHAINS]


def test_what_is_left_out_has_a_reason() -> None:
    assert left_out()
    assert all(entry.source and entry.reason.endswith(".") for entry in left_out())


def test_conversions() -> None:
    assert measured_us(1.5, "ms") == pytest.approx(1500)
    assert measured_us(800, "GB/s", work=800_000) == pytest.approx(1)
    assert measured_us(1, "GiB/s", work=2**30) == pytest.approx(1e6)
    # 2 * 4096^3 operations at 13.0247 TFLOP/s
    assert measured_us(13.0247, "TFLOP/s", work=2 * 4096**3) == pytest.approx(10552.2, rel=1e-5)


@given(st.floats(1e-3, 1e6), st.sampled_from(sorted(RATES_PER_SECOND)), st.floats(1.0, 1e15))
def test_a_rate_times_the_time_is_the_work(published: float, unit: str, work: float) -> None:
    seconds = measured_us(published, unit, work) / 1e6
    assert published * RATES_PER_SECOND[unit] * seconds == pytest.approx(work)


@pytest.mark.parametrize(
    ("published", "unit", "work", "message"),
    [(0.0, "ms", None, "positive"), (1.0, "fortnight", None, "unit"), (1.0, "GB/s", None, "needs work")],
)
def test_bad_figures_are_refused(published: float, unit: str, work: float | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measured_us(published, unit, work)


def test_unknown_keys_are_refused(tmp_path: Path) -> None:
    manifest = tmp_path / "chains.toml"
    manifest.write_text('[[chain]]\nname = "x"\nspeed = 1\n')
    with pytest.raises(ValueError, match="speed"):
        load(manifest)


def test_units_are_known() -> None:
    units = {variant.unit for chain in CHAINS for variant in chain.variants}
    assert units <= set(DURATIONS_US) | set(RATES_PER_SECOND)


def test_a_small_chain_verifies_and_times() -> None:
    verified = run_program(FOLDER / "transpose.cu", "all", "--verify", nvcc_args=("-DREAL=double",))
    assert verified.returncode == 0, verified.stderr
    assert [line.split("\t")[1] for line in verified.stdout.splitlines()] == ["right"] * 6
    timed = run_program(FOLDER / "transpose.cu", "tiled_padded", "64", "--launches", "2", "--cold")
    assert timed.returncode == 0, timed.stderr
    name, microseconds = timed.stdout.strip().split("\t")
    assert name == "tiled_padded"
    assert float(microseconds) > 0


def test_a_wrong_variant_fails_its_verification(tmp_path: Path) -> None:
    source = tmp_path / "wrong.cu"
    source.write_text(WRONG)
    finished = run_program(source, "all", "--verify", nvcc_args=(f"-I{FOLDER}",))
    assert finished.returncode == 1
    assert "nothing\tWRONG" in finished.stdout
    assert "element 0 is 0, expected 7" in finished.stderr
