"""The small parts: prompts, knowledge, insights, embedding, methods in a user's file, settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.runs import Answers, evolve
from tests.search.scripted import kernel, profile_of, reply, task, verdict_of

from evoengineer.errors import UsageError
from evoengineer.judge.verdict import Outcome, Verdict
from evoengineer.propose.protocol import Request
from evoengineer.propose.uses import used_insights
from evoengineer.search import knowledge, prompts
from evoengineer.search.embedding import SimilarKernels, embed
from evoengineer.search.failing import told
from evoengineer.search.guidance import View
from evoengineer.search.insights import KEPT, InsightBook, Use
from evoengineer.search.methods import METHODS, find_method
from evoengineer.search.operators import FREE, INSIGHT, MUTATE
from evoengineer.search.records import Member
from evoengineer.search.settings import NAMES, read_file, resolve
from evoengineer.search.task import (
    Task,
    declaration_of,
    describe_card,
    describe_case,
    describe_light,
    describe_reach,
    describe_timing,
)
from evoengineer.sim.timing.profile import Finding, FindingKind

# -- prompts ---------------------------------------------------------------------------------------------


def test_every_operator_has_its_template_and_every_template_is_used() -> None:
    used = {
        each.instruction for method in METHODS for each in (*method.opening, *method.cycle, method.fallback)
    }
    named = {name.removeprefix("operator_") for name in prompts.names() if name.startswith("operator_")}
    assert used | {"repair"} == named


def test_i1_tells_card_cuda_reference_shapes_constraints_and_baseline_time() -> None:
    prompt, keys = FREE.prompt(View(task().with_baseline_time(42.5)))
    assert keys == ("I1",)
    assert "speed of light" not in prompt.user, "unknown on this device"
    for part in ("Toy card", "CUDA version 13.0", "def reference(x)", "x: float32 tensor [4, 4]", "PYBIND11_MODULE",
                 "rows=7", "takes 42.50 us (simulated)", "Errors up to 1e-4"):  # fmt: skip
        assert part in prompt.user


def test_i1_tells_the_signature_the_shapes_of_all_cases_and_what_a_file_does_not_show() -> None:
    arguments = (
        {"name": "x", "kind": "tensor", "dtype": "float32", "shape": [64, 8]},
        {"name": "weight", "kind": "tensor", "dtype": "float32", "shape": [8]},
        {"name": "eps", "kind": "float", "value": 1e-5},
        {"name": "steps", "kind": "int", "value": 3},
        {"name": "flag", "kind": "bool", "value": True},
    )
    result = {"kind": "tensor", "dtype": "float32", "shape": [64, 8]}
    assert declaration_of(arguments, (result,)) == (
        "torch::Tensor forward(torch::Tensor x, torch::Tensor weight, double eps, int64_t steps, bool flag)"
    )
    assert declaration_of(arguments[:1], (result, result)) == (
        "std::vector<torch::Tensor> forward(torch::Tensor x)"
    )
    assert declaration_of(({"name": "y", "kind": "NoneType", "value": "None"},), (result,)) == ""
    other = ({**arguments[0], "shape": [3, 8], "strided": True}, arguments[1], {**arguments[2], "value": 0.5})
    told = describe_case("rows=3", other, arguments)
    assert told == "rows=3: x [3, 8] (not contiguous), eps = 0.5"
    assert describe_case("same", arguments, arguments) == "same"
    about = task(
        declaration=declaration_of(arguments, (result,)),
        bench="rows=64",
        cases=(told,),
        notes=("Dropout is off.",),
        inputs="normally distributed, small whole numbers",
        compiler="-O2",
    )
    prompt = FREE.prompt(View(about))[0].user
    for part in ("a host function `torch::Tensor forward(torch::Tensor x, ", "that is timed (rows=64):", f"- {told}\n",
                 "Dropout is off.", "kinds of values: normally distributed, small whole", "nvcc with -O2"):  # fmt: skip
        assert part in prompt, part


def test_i1_tells_what_is_within_reach() -> None:
    reach = describe_reach("sim:rtx4090", 67_108_864, 33_554_432, 0, "float32")
    light, _ = describe_light("sim:rtx4090", 67_108_864, 0, "float32")
    assert reach is not None
    assert light is not None
    assert 1.08 < reach / light < 1.2, "a start, and bandwidth that is never all there"
    busy = describe_reach("sim:rtx4090", 1e6, 1e5, 1e12, "float32")
    assert busy is not None
    assert busy > describe_light("sim:rtx4090", 1e6, 1e12, "float32")[0] * 1.1  # type: ignore[operator]
    assert describe_reach("cuda:0", 1.0, 1.0, 1.0, "float32") is None
    prompt = FREE.prompt(
        View(task(light_us=40.0, light_reason="why", reach_us=50.0).with_baseline_time(100.0))
    )[0]
    assert (
        "a perfect one takes about 50.0 us. So about 2.00x the baseline's speed can be reached" in prompt.user
    )


def test_the_card_has_all_figures_that_a_plan_needs() -> None:
    told = "\n".join(describe_card("sim:rtx4090"))
    for part in ("128 SMs", "1008 GB/s", "72 MiB", "float32 82.6 TFLOP/s", "65536 registers", "100 KiB shared memory",
                 "48 KiB shared memory, up to 99 KiB", "1024 threads", "255 registers per thread"):  # fmt: skip
        assert part in told, part


def test_i1_tells_what_is_allowed_what_a_time_means_and_how_much_headroom_there_is() -> None:
    light_us, reason = describe_light("sim:rtx4090", 67_108_864, 0, "float32")
    assert light_us == pytest.approx(66.58, abs=0.01)
    about = task(timing=describe_timing("sim:rtx4090"), light_us=light_us, light_reason=reason)
    prompt, _ = FREE.prompt(View(about.with_baseline_time(2 * light_us)))
    for part in ("Plain `<<<grid, block>>>` launches are right", "inline PTX", "`cuda_pipeline.h`",
                 "counter or workspace that the kernel itself resets", "fast path for the bench sizes",
                 "Times are simulated", "L2 included, are cold", "An empty kernel costs about 2.2 us",
                 "`torch::zeros` is", "is 66.58 us: 67.11 MB", "Memory traffic is the limit",
                 "about 2.00x the baseline's speed"):  # fmt: skip
        assert part in prompt.user, part
    assert describe_light("cuda:0", 1.0, 1.0, "float32") == (None, "")
    assert "measured" in describe_timing("cuda:0")[0]


def test_arithmetic_can_be_the_light() -> None:
    light_us, reason = describe_light("sim:rtx4090", 1000.0, 1e12, "float32")
    assert light_us is not None
    assert light_us > 1000
    assert reason.endswith("Arithmetic is the limit")


def test_a_shown_kernel_has_its_label_light_and_profile() -> None:
    parent = Member(
        4, "__global__ x", "tiled", "", 50.0, (50, 50), 2.0, profile="bound by DRAM", light_us=40.0
    )
    for operator in (FREE, MUTATE):
        prompt, _ = operator.prompt(View(task(), parents=(parent,)))
        assert 'ernel 4, "tiled"' in prompt.user
        assert "50.00 us (simulated), 2.00x the baseline's speed, 80% of the speed of light" in prompt.user
        assert "Its profile:\nbound by DRAM" in prompt.user


def test_the_reply_asks_for_used_insights_exactly_when_some_are_shown() -> None:
    insight = InsightBook().add("idea", Use(3, Outcome.VALID, 1.5))
    assert insight is not None
    with_some, _ = INSIGHT.prompt(View(task(), insights=(insight,)))
    without, _ = INSIGHT.prompt(View(task()))
    assert "\nused: " in with_some.user
    assert "\nused: " not in without.user


def test_history_lists_everything_with_its_time_and_failures_with_their_stage(tmp_path: Path) -> None:
    def answer(request: Request) -> str:
        outcome = "timed_out" if request.number == 2 else "valid"
        return reply(f"k{request.number}", time=100 - 10 * request.number, outcome=outcome)

    answers = Answers(answer)
    evolve(tmp_path, answers, method="full", trials=8, lookahead=1)
    last = answers.prompt(8)
    assert '- kernel 1, "k1": 90.00 us, 1.11x the baseline\'s speed' in last
    assert '- kernel 2, "k2": failed: timed_out: scripted timed_out' in last
    assert 'kernel 5, "k5" (from kernel ' in last
    assert last.count("\n- kernel ") == 7
    assert "# Everything tried" not in answers.prompt(1)


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        (Verdict(Outcome.TIMED_OUT, "too slow"), "timed_out (compiling): too slow"),
        (Verdict(Outcome.TIMED_OUT, "a deadlock (case n=1)", details={"where": "case n=1"}, build="b"),
         "timed_out: a deadlock (case n=1)"),
        (Verdict(Outcome.WRONG, "differs", details={"where": "case n=2"}, build="b"), "wrong (case n=2): differs"),
        (Verdict(Outcome.CRASHED, "signal", build="b"), "crashed: signal"),
    ],
)  # fmt: skip
def test_a_failure_is_told_with_its_stage(verdict: Verdict, text: str) -> None:
    assert told(verdict) == text


def test_code_may_contain_dollars() -> None:
    prompt, _ = FREE.prompt(View(task(baseline="// costs $5, $title and ${code}\n__global__")))
    assert "// costs $5, $title and ${code}" in prompt.user


def test_a_task_survives_the_archive() -> None:
    assert Task.from_json(task().to_json()) == task()


# -- knowledge -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("directives", "found"),
    [
        ({"bound": "dram"}, ("dram_bound",)),
        ({"bound": "lsu"}, ("l1_bound",)),
        ({"bound": "fma"}, ("compute_bound",)),
        ({"bound": "start"}, ("launch_overhead",)),
        ({"profile": "k:_9_us,_bound_by_DRAM_bandwidth"}, ()),
    ],
)
def test_bottlenecks_are_read_from_the_profile(directives: dict[str, str], found: tuple[str, ...]) -> None:
    assert knowledge.bottlenecks(verdict_of(kernel("k", **directives))) == found


def test_findings_name_further_bottlenecks() -> None:
    verdict = verdict_of(kernel("k"))
    assert verdict.timing is not None
    kinds = (FindingKind.UNCOALESCED, FindingKind.L1_BOUND, FindingKind.SMALL_GRID)
    findings = tuple(Finding(kind, "dram latency atomics") for kind in kinds)  # words mean nothing
    launches = (profile_of("dram"), profile_of("lsu", 9.0, findings))
    changed = replace(verdict, timing=replace(verdict.timing, launches=launches))
    assert knowledge.bottlenecks(changed) == ("l1_bound", "uncoalesced", "small_grid")


def test_no_profile_no_bottleneck() -> None:
    assert knowledge.bottlenecks(verdict_of(kernel("k", outcome="wrong"))) == ()
    assert knowledge.bottlenecks(verdict_of(kernel("k"))) == ()


def test_techniques_treat_known_bottlenecks_and_every_bottleneck_has_one() -> None:
    treated = {name for technique in knowledge.techniques() for name in technique.treats}
    assert treated == {*FindingKind} - {FindingKind.UNNAMED}


@given(
    st.lists(st.sampled_from(sorted({*FindingKind} - {FindingKind.UNNAMED})), unique=True, max_size=3),
    st.integers(0, 5),
    st.integers(),
)
def test_chosen_techniques_are_distinct_and_fit(limits: list[str], count: int, seed: int) -> None:
    chosen = knowledge.choose(limits, count, Random(seed))
    assert len({technique.name for technique in chosen}) == len(chosen) == count
    fitting = [technique for technique in knowledge.techniques() if set(technique.treats) & set(limits)]
    for technique in chosen[: len(fitting)]:
        assert not limits or technique in fitting


# -- insights --------------------------------------------------------------------------------------------


def test_insights_that_helped_come_first_and_one_failed_one_says_so() -> None:
    book = InsightBook()
    for number in range(1, 9):
        book.add(f"good {number}", Use(number, Outcome.VALID, 1.5))
    book.add("bad", Use(9, Outcome.COMPILE_ERROR, None))
    for seed in range(20):
        chosen = book.choose(3, Random(seed))
        assert [insight.failed for insight in chosen] == [False, False, True]
        assert "(did not work: kernel 9 failed: compile_error" in chosen[-1].shown()
        assert "(helped: kernel" in chosen[0].shown()


def test_later_uses_change_what_an_insight_is_worth() -> None:
    book = InsightBook()
    book.add("idea", Use(1, Outcome.VALID, 1.2))
    for number in (2, 3, 4):
        book.used(1, Use(number, Outcome.WRONG, None))
    assert book[1].worth < 0
    assert not book[1].failed
    assert "; used 3 more times, 3 failed" in book[1].shown()


@pytest.mark.parametrize(
    ("gain", "mark"),
    [(1.5, "helped"), (1.0004, "made no difference"), (0.995, "made no difference"), (0.9, "made it slower")],
)
def test_words_and_figures_of_an_insight_agree(gain: float, mark: str) -> None:
    use = Use(3, Outcome.VALID, gain, 90.0, 90.0 / gain, 'kernel 1, "tiled"')
    insight = InsightBook().add("idea", use)
    assert insight is not None
    shown = insight.shown()
    assert shown.startswith(f"[3] ({mark}: kernel 3 has {gain:.2f}x the speed of its parent (kernel 1, ")
    assert f"90.00 us to {90.0 / gain:.2f} us" in shown


def test_an_insight_does_not_inherit_the_result_of_a_proposal_that_only_saw_it(tmp_path: Path) -> None:
    def answer(request: Request) -> str:
        said = "used: 1\n" if request.number == 2 else "used: none\n"
        return said + reply(f"k{request.number}", f"idea {request.number}", time=100 - 10 * request.number)

    done = evolve(tmp_path, Answers(answer), method="insight", trials=8, lookahead=1)
    book = done.loop.state.insights
    assert [use.number for use in book[1].later] == [2]
    assert not any(book[number].later for number in range(2, 9))


def test_the_numbers_of_used_insights_are_read_outside_the_code() -> None:
    code = "```cuda\n// used: 99\n__global__\n```\n"
    assert used_insights(f"name: x\n**Used:** [3], 7 and 3\n{code}") == (3, 7)
    assert used_insights(f"used: none\n{code}") == ()
    assert used_insights(code) == ()


def test_the_book_forgets_the_worst_and_stays_small() -> None:
    book = InsightBook()
    for number in range(200):
        book.add(f"idea {number}", Use(number, Outcome.VALID, 1 + number / 100))
    assert len(book) == KEPT
    book.used(0, Use(300, Outcome.VALID, 1.0))  # forgotten: nothing happens
    assert book.add("   ", Use(301, Outcome.VALID, 1.0)) is None


# -- embedding -------------------------------------------------------------------------------------------


def member(number: int, source: str) -> Member:
    return Member(number, source, "", "", 10.0 + number, (1, 1), 1.0)


def test_alike_texts_lie_close_together() -> None:
    def likeness(a: str, b: str) -> float:
        return sum(x * y for x, y in zip(embed(a), embed(b), strict=True))

    tiled = "__shared__ float tile[32][33]; tile[threadIdx.y][threadIdx.x] = a[i]; __syncthreads();"
    renamed = tiled.replace("32", "16").replace("33", "17")
    other = "for (int k = 0; k < n; ++k) sum += expf(x[k] - largest);"
    assert likeness(tiled, tiled) == pytest.approx(1.0)
    assert likeness(tiled, renamed) > 0.9 > likeness(tiled, other)
    assert embed("") == [0.0] * 256


def test_the_nearest_kernels_are_retrieved_fastest_first() -> None:
    index = SimilarKernels()
    for number in range(100):
        index.add(member(number, f"float v{'a' * (number % 7)} = x[i] * {number};"))
    near = index.nearest("float v = x[i] * 3;", 5)
    assert len({each.number for each in near}) == 5
    assert [each.time_us for each in near] == sorted(each.time_us for each in near)
    assert all(each.number < 64 for each in near), "the slowest are forgotten"


# -- methods ---------------------------------------------------------------------------------------------

OWN = '''
from evoengineer.search.guidance import TaskContext
from evoengineer.search.methods import Method
from evoengineer.search.operators import Operator
from evoengineer.search.populations import Choice

class Newest:
    """Keeps the newest kernel, whatever its speed."""
    def __init__(self):
        self.kept = None
    def seed(self, member):
        self.kept = member
    def add(self, member, island):
        self.kept = member
    def choose(self, count, random):
        return Choice((self.kept,) if self.kept and count else ())

class Poem:
    key = "poem"
    def render(self, view):
        return "# Poem\\n\\nRoses are red."

poetic = Operator("poetic", 1, (TaskContext(current=True), Poem()), "Write a kernel that rhymes.", least=0)
mine = Method("mine", "my own", Newest, (poetic,), fallback=poetic, lookahead=1)
'''


def test_a_method_operator_guidance_and_population_of_the_users_own(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(OWN)
    method, fingerprint = find_method(f"{path}:mine")
    assert fingerprint
    answers = Answers(lambda r: reply(f"k{r.number}", time=100 + r.number))
    done = evolve(tmp_path, answers, method=method, trials=4)
    assert done.rows("operator, guidance", "number > 0") == [("poetic", "I1,poem")] * 4
    assert "Roses are red" in answers.prompt(1)
    assert "Write a kernel that rhymes." in answers.prompt(1)
    parents = [row[0] for row in done.archive.connection.execute("SELECT parent FROM lineage ORDER BY child")]
    assert parents == [0, 1, 2, 3], "the newest, although it is slower"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ful", r"did you mean full\?"),
        ("none.py:x", "no such file"),
        ("{own}:other", "no Method 'other'; it has: mine"),
        ("{bad}:x", "ZeroDivisionError"),
    ],
)
def test_a_wrong_method_is_refused(name: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "bad.py").write_text("1 / 0")
    with pytest.raises(UsageError, match=words):
        find_method(name.format(own=tmp_path / "own.py", bad=tmp_path / "bad.py"))


# -- settings --------------------------------------------------------------------------------------------


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(text)
    return path


def test_flags_win_over_the_file_and_the_file_over_the_defaults(tmp_path: Path) -> None:
    file = read_file(
        write(tmp_path, 'problem = "softmax"\ntrials = 10\nmodel = "gpt-4.1"\nmax_cost = 5\nseed = 3')
    )
    settings = resolve({"trials": 20, "rewriter": True}, file)
    assert (settings.problem, settings.trials, settings.seed, settings.method) == ("softmax", 20, 3, "full")
    assert settings.max_cost == 5.0
    assert settings.rewriter
    assert settings.model is None, "a flag replaces the file's proposer"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("trails = 3", r"unknown key 'trails' \(did you mean trials\?\); valid: problem, method"),
        ("trials = ", "Invalid value"),
    ],
)
def test_a_wrong_file_is_refused(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        read_file(write(tmp_path, text))
    with pytest.raises(UsageError, match="no such file"):
        read_file(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "which problem"),
        ({"problem": "p", "trials": "ten"}, "trials must be a whole number, not 'ten'"),
        ({"problem": "p", "trials": True}, "trials must be a whole number, not True"),
        ({"problem": "p", "trials": 0}, "trials must be positive, not 0"),
        ({"problem": "p", "match": "luck"}, "match must be prompt or order"),
        ({"problem": "p", "model": "a", "replay": "b"}, "choose one of --model, --replay"),
        ({"problem": "p", "max_cost": -1.0}, "must not be negative"),
    ],
)
def test_wrong_settings_are_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        resolve(given)


def test_every_setting_has_help() -> None:
    from dataclasses import fields

    from evoengineer.search.settings import Settings

    assert all(each.metadata["help"] for each in fields(Settings))
    assert set(NAMES) == {each.name for each in fields(Settings)}
