"""The noisy engineer: the stated odds, faults that can be mended, and more is better."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

import pytest

from evoengineer.propose.noisy_engineer import (
    Noise,
    NoisyEngineer,
    Wish,
    mended,
    spoiled,
    treatments,
    wish_of,
)
from evoengineer.propose.parse import parse_reply
from evoengineer.propose.protocol import ProposerError, Request
from evoengineer.propose.rewriter.catalogue import REWRITES
from evoengineer.propose.rewriter.change import Change, Task
from evoengineer.propose.uses import used_insights
from evoengineer.sim.timing.explain import bound_name
from evoengineer.sim.timing.profile import BOUND_KINDS

KERNEL = (
    "#include <torch/extension.h>\n__global__ void f(float* y, const float* x) {\n    y[0] = x[0] + x[1];\n}\n"
    "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}\n"
)
SURE = Noise(
    broken=0.0, broken_again=0.0, useless=0.0, useless_planned=0.0, focus=1.0, glance=1.0, follow=1.0
)


@dataclass(frozen=True)
class Mark:
    """A rule that leaves its name."""

    name: str

    @property
    def thought(self) -> str:
        return f"{self.name} pays."

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        yield Change(self.name, source + f"// {self.name}\n")


MARKS = tuple(Mark(name) for name in ("one", "two", "three", "four"))


def request(number: int, user: str, source: str = KERNEL) -> Request:
    return Request("run", number, "", user, f"p{number}", 0, 1, (source,))


def test_every_rule_treats_something_that_profiles_say() -> None:
    words = {bound_name(bound) for bound in BOUND_KINDS}
    treated = treatments()
    assert set(treated) == {rewrite.name for rewrite in REWRITES}
    assert all(treated.values())
    assert {word for each in treated.values() for word in each} <= words


@pytest.mark.parametrize("wrong", [True, False])
def test_a_fault_can_be_mended(wrong: bool) -> None:
    broken = spoiled(KERNEL, wrong=wrong)
    assert broken != KERNEL
    assert ("3.0f * (x[0] + x[1])" in broken) == wrong
    assert mended(broken) == KERNEL


def test_the_share_of_broken_proposals_is_as_stated() -> None:
    engineer = NoisyEngineer(MARKS, {}, Noise(broken=0.4))
    texts = [engineer.propose(request(number, "")).text for number in range(1000)]
    wrong = sum("3.0f * (" in text for text in texts)
    refused = sum("not_declared_anywhere" in text for text in texts)
    assert 350 < wrong + refused < 450
    assert 150 < wrong < 250


def test_it_mends_its_own_failure() -> None:
    engineer = NoisyEngineer(MARKS, {}, SURE)
    asked = "# A candidate that failed\n\n# What to do\n\nMend the candidate above"
    reply = engineer.propose(request(1, asked, spoiled(KERNEL, wrong=True)))
    assert parse_reply(reply.text).code == KERNEL


def test_it_listens_to_a_profile() -> None:
    engineer = NoisyEngineer(MARKS, {"three": ("DRAM bandwidth",)}, SURE)
    for number in range(20):
        for prompt in (
            "Its profile:\nrun: bound by DRAM bandwidth\n",
            "# Profile\n\n- bound by DRAM bandwidth; 90%",
        ):
            assert parse_reply(engineer.propose(request(number, prompt)).text).name == "three"
    names = {parse_reply(engineer.propose(request(number, "")).text).name for number in range(40)}
    assert names == {"one", "two", "three", "four"}, "without one, any idea"


def test_it_says_which_insight_it_follows() -> None:
    from evoengineer.judge.verdict import Outcome
    from evoengineer.search.insights import InsightBook, Use

    book = InsightBook()
    helped = book.add("two pays.", Use(7, Outcome.VALID, 1.5, 90.0, 60.0, 'kernel 0, "baseline"'))
    slower = book.add("four pays.", Use(8, Outcome.VALID, 0.5, 90.0, 180.0, 'kernel 0, "baseline"'))
    assert helped is not None
    assert slower is not None
    engineer = NoisyEngineer(MARKS, {}, SURE)
    for later in (False, True):
        if later:
            helped.used(Use(9, Outcome.VALID, 1.2))
        prompt = f"- {helped.shown()}\n- {slower.shown()}\n"
        reply = engineer.propose(request(3, prompt)).text
        assert parse_reply(reply).name == "two"
        assert used_insights(reply) == (7,)


def test_it_understands_the_operators_of_the_search() -> None:
    """It knows them by their words: whoever changes these changes them there, too."""
    from tests.search.scripted import task

    from evoengineer.search import operators as op
    from evoengineer.search.guidance import View

    meant = {
        op.REPAIR: Wish.REPAIR, op.BOTTLENECK: Wish.BOTTLENECK, op.PLAN: Wish.PLAN, op.COMBINE: Wish.COMBINE,
        op.CROSSOVER: Wish.CROSS, op.PORT: Wish.PORT, op.PARAMETRISE: Wish.EXPOSE, op.FREE: Wish.ANY,
        op.MUTATE: Wish.ANY,
    }  # fmt: skip
    for operator, wish in meant.items():
        assert wish_of(operator.prompt(View(task()))[0].user) is wish, operator.name


class Hands:
    """A craft that says what it did."""

    def combined(self, first: str, second: str, share: float, random: Random) -> Change | None:
        return Change("both", first + f"// and {share} of {len(second)}\n")

    def ported(self, source: str, technique: str) -> Change | None:
        return Change("ported", source + f"// {technique}\n")

    def exposed(self, source: str, random: Random) -> Change | None:
        return Change("exposed", source + "// sizes\n")


def test_it_does_what_it_is_asked_for() -> None:
    sure = replace(SURE, ports=1.0, exposes=1.0)
    engineer = NoisyEngineer(MARKS, {}, sure, Hands())

    def name(wish: Wish, more: str = "", **changes: object) -> str:
        asked = replace(request(1, f"{more}# What to do\n\n{wish} …"), **changes)  # type: ignore[arg-type]
        return parse_reply(engineer.propose(asked).text).name

    lesson = "# Experience from other problems\n\nTechniques:\n- shuffles: Combine.\n\n"
    assert name(Wish.PORT, lesson) == "ported"
    assert (
        name(Wish.COMBINE, parents=(KERNEL, KERNEL)) == name(Wish.CROSS, parents=(KERNEL, KERNEL)) == "both"
    )
    assert name(Wish.EXPOSE) == "exposed"
    for wish in (Wish.PLAN, Wish.BOTTLENECK, Wish.ANY):
        assert name(wish) in {mark.name for mark in MARKS}
    assert name(Wish.COMBINE) in {mark.name for mark in MARKS}, "nothing to combine with"


def test_a_plan_lowers_the_share_of_useless_ideas_by_the_stated_amount() -> None:
    engineer = NoisyEngineer(MARKS, {}, Noise(broken=0.0))

    def useless(wish: Wish) -> int:
        texts = [engineer.propose(request(number, f"# What to do\n\n{wish}")).text for number in range(1000)]
        return sum("noisy_idle" in text for text in texts)

    assert 200 < useless(Wish.ANY) < 300
    assert 60 < useless(Wish.PLAN) < 140


def test_the_bottleneck_is_treated_more_often_when_that_is_asked_for() -> None:
    engineer = NoisyEngineer(MARKS, {"three": ("DRAM bandwidth",)}, Noise(broken=0.0, useless=0.0))

    def treated(wish: Wish) -> int:
        prompt = f"# Profile\n\n- bound by DRAM bandwidth; 90%\n\n# What to do\n\n{wish}"
        texts = [engineer.propose(request(number, prompt)).text for number in range(1000)]
        return sum(parse_reply(text).name == "three" for text in texts)

    assert 630 < treated(Wish.ANY) < 770, "60% and a quarter of the rest"
    assert 800 < treated(Wish.BOTTLENECK) < 900, "80% and a quarter of the rest"


def test_the_same_request_gets_the_same_answer_and_nothing_to_do_is_an_error() -> None:
    engineer = NoisyEngineer(MARKS)
    assert engineer.propose(request(5, "x")) == engineer.propose(request(5, "x"))
    with pytest.raises(ProposerError, match="nothing to propose"):
        NoisyEngineer((), noise=SURE).propose(request(1, ""))
    with pytest.raises(ProposerError, match="needs a kernel"):
        engineer.propose(Request("run", 1, "", "", "p", 0, 1))


def test_odds_lie_between_0_and_1() -> None:
    with pytest.raises(ValueError, match="broken must lie between 0 and 1, not 1.5"):
        Noise(broken=1.5)
