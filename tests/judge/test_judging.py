"""The five starter problems with their baselines, faster kernels, the cache, the pool, the command."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.judge.conftest import JudgeText
from tests.judge.wrong_kernels import ADD, WRONG, add

from evoengineer.judge import JudgeOptions, Outcome, Verdict, open_judge
from evoengineer.problem.catalog import find_problem

VECTORISED = add(
    """__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        float4 x = *(const float4*)(a + i), y = *(const float4*)(b + i);
        *(float4*)(c + i) = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    } else for (; i < n; i++) c[i] = a[i] + b[i];
}
""",
    launch="add<<<(n + 1023) / 1024, 256>>>(A, B, C, n);",
)
SLOW = add(ADD, launch="for (int k = 0; k < 3; k++) add<<<(n + 255) / 256, 256>>>(A, B, C, n);")


@pytest.mark.parametrize("name", ["vector_add", "softmax", "layer_norm", "matmul", "conv2d"])
def test_baselines_are_valid(name: str, judge_text: JudgeText) -> None:
    baseline = find_problem(name).problem.baseline
    assert baseline is not None
    verdict = judge_text(name, baseline.read_text(encoding="utf-8"))
    assert verdict.outcome is Outcome.VALID, f"{verdict.summary}\n{verdict.evidence}"
    assert verdict.timing is not None
    assert verdict.timing.speedup == 1
    assert verdict.timing.simulated
    assert verdict.timing.speed_of_light_us is not None
    assert 0 < verdict.timing.speed_of_light_us < verdict.timing.time_us
    assert "simulated on sim:rtx4090" in verdict.summary
    assert verdict.timing.launches
    assert verdict.resources


def test_a_right_kernel_is_timed_against_the_baseline(judge_text: JudgeText) -> None:
    vectorised, slow = judge_text("vector_add", VECTORISED), judge_text("vector_add", SLOW)
    assert vectorised.timing is not None
    assert slow.timing is not None
    assert slow.timing.speedup is not None
    assert slow.timing.speedup < 0.5
    assert vectorised.timing.time_us < slow.timing.time_us


def test_a_verdict_survives_json(judge_text: JudgeText) -> None:
    for source in (VECTORISED, WRONG["off_by_one"].source):
        verdict = judge_text("vector_add", source)
        assert Verdict.from_json(json.loads(json.dumps(verdict.to_json()))) == verdict


def test_the_same_machine_code_is_judged_once(judge_text: JudgeText) -> None:
    first = judge_text("vector_add", VECTORISED)
    again = judge_text("vector_add", VECTORISED.replace("int i = 4", "/* a comment */\n    int i = 4"))
    renamed = judge_text("vector_add", re.sub(r"\bx\b", "left", VECTORISED).replace(".left", ".x"))
    assert again.build == renamed.build == first.build
    assert renamed.kernel != first.kernel
    assert renamed.timing == first.timing


def test_what_was_judged_is_answered_from_the_cache() -> None:
    description = find_problem("vector_add")
    with open_judge(description, JudgeOptions(workers=1)) as judge:
        judge.judge(VECTORISED).result()
        begin = time.monotonic()
        judge.judge(VECTORISED).result()
        assert time.monotonic() - begin < 1  # no process is started; the ratio is a benchmark's


def test_simulated_times_repeat_to_the_bit() -> None:
    description = find_problem("vector_add")
    times = []
    for _ in range(2):
        with open_judge(description, JudgeOptions(workers=1, use_cache=False, run_seed=7)) as judge:
            verdict = judge.judge(VECTORISED).result()
        assert verdict.timing is not None
        times.append(verdict.timing)
    assert times[0] == times[1]


def test_hanging_candidates_disturb_nobody() -> None:
    """Twenty candidates, four of which hang, on two workers: the sixteen others get their verdicts."""
    hanging = [
        WRONG["endless_host"].source,
        WRONG["endless_kernel"].source,
        WRONG["endless_constructor"].source,
    ]
    hanging.append(WRONG["endless_host"].source.replace("volatile int z", "volatile long z"))
    good = [ADD.replace("a[i] + b[i]", f"a[i] + b[i] + 0 * {k}.0f") for k in range(8)]
    sources: list[tuple[str, Outcome]] = []
    for k in range(4):
        sources.append((hanging[k], Outcome.TIMED_OUT))
        sources += [(add(good[2 * k + j], launch=f"add<<<(n + {j + 31}) / {j + 32}, {j + 32}>>>(A, B, C, n);"),
                     Outcome.VALID) for j in range(2)]  # fmt: skip
        sources += [(add(good[k].replace("i < n", f"i < n - {j + 1 + k}")), Outcome.WRONG) for j in range(2)]
    assert len(sources) == 20
    options = JudgeOptions(workers=2, host_cpu_seconds=5, use_cache=True)
    with open_judge(find_problem("vector_add"), options) as judge:
        verdicts = [future.result() for future in [judge.judge(source) for source, _ in sources]]
    assert [verdict.outcome for verdict in verdicts] == [outcome for _, outcome in sources]


def test_the_command(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.cu"
    kernel.write_text(VECTORISED, encoding="utf-8")
    command = [sys.executable, "-m", "evoengineer", "judge", str(kernel), "--problem", "vector_add"]
    good = subprocess.run(command, capture_output=True, text=True, check=False)
    assert good.returncode == 0, good.stderr
    assert good.stdout.startswith("valid: ")
    assert "simulated on sim:rtx4090" in good.stdout
    kernel.write_text(WRONG["missing_guard"].source, encoding="utf-8")
    bad = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert bad.returncode == 1
    assert json.loads(bad.stdout)["outcome"] == "memory_error"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["missing.cu", "--problem", "softmax"], "no such file"),
        (["{kernel}", "--problem", "sofmax"], "did you mean softmax"),
        (["{kernel}", "--problem", "softmax", "--device", "sim:rtx9"], "unknown device"),
        (["{kernel}", "--problem", "softmax", "--device", "cuda:0"], "no NVIDIA GPU"),
        (["{kernel}", "--problem", "softmax", "--baseline", "nowhere.cu"], "no such file"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.cu"
    kernel.write_text(VECTORISED, encoding="utf-8")
    words = [word.format(kernel=kernel) for word in arguments]
    run = subprocess.run(
        [sys.executable, "-m", "evoengineer", "judge", *words], capture_output=True, text=True, check=False
    )
    if message == "no NVIDIA GPU" and run.returncode == 0:
        pytest.skip("this machine has a GPU")
    assert run.returncode == (1 if "GPU" in message else 2)
    assert message in run.stderr
    assert "Traceback" not in run.stderr
