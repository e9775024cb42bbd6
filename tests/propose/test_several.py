"""Several models in one run: shares, escalation, accounts, and the same choices when a run is resumed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.search.runs import Answers, evolve
from tests.search.scripted import reply

from evoengineer.archive.reading import summary
from evoengineer.errors import UsageError
from evoengineer.propose.protocol import Estimate, ProposerError, Request, Tried
from evoengineer.propose.recording import Recorder, Replay
from evoengineer.propose.several import Several, is_several, model_shares
from evoengineer.report.summary import summary_text
from evoengineer.search.settings import resolve


class Named(Answers):
    """Answers under a name of its own."""

    def __init__(self, name: str, time_us: float, tokens: int = 10) -> None:
        super().__init__(lambda r: reply(f"{name}{r.number}", time=time_us), tokens)
        self.name = name


def request(number: int = 1, tried: tuple[Tried, ...] = (), after: int | None = None) -> Request:
    after = len(tried) if after is None else after
    return Request("run", number, "s", "u", "id", 0, 7, tried=tried, after=after)


def test_shares_are_read_and_sum_to_one() -> None:
    assert not is_several("gpt-4.1")
    assert model_shares("a,b") == (("a", 0.5), ("b", 0.5))
    assert model_shares("a=3, b=1") == (("a", 0.75), ("b", 0.25))


@pytest.mark.parametrize(
    ("text", "words"),
    [("a,", "a name is missing"), ("a,a", "named twice"), ("a=0.5,b", "to each model, or to none"),
     ("a=0,b=1", "must be a positive number"), ("a=x,b=1", "must be a positive number"), ("a=inf,b=1", "positive")],
)  # fmt: skip
def test_wrong_shares_are_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        model_shares(text)


def test_settings_refuse_what_cannot_be() -> None:
    with pytest.raises(UsageError, match="escalate needs several models"):
        resolve({"problem": "p", "model": "a", "escalate": 3})
    with pytest.raises(UsageError, match="by shares .* or in turn"):
        resolve({"problem": "p", "model": "a=1,b=2", "escalate": 3})
    assert resolve({"problem": "p", "model": "a,b", "escalate": 3}).escalate == 3


def test_models_are_drawn_by_their_shares_and_repeatably() -> None:
    several = Several("a=3,b=1", [Named("a", 90), Named("b", 80)], [0.75, 0.25])
    drawn = [several.choose(request(number)) for number in range(400)]
    assert 60 < sum(drawn) < 140
    assert drawn == [several.choose(request(number)) for number in range(400)]
    assert several.propose(request(1)).model in ("a", "b")


def test_a_stalled_run_escalates_and_comes_back() -> None:
    several = Several("a,b,c", [Named(name, 90) for name in "abc"], [1 / 3] * 3, escalate=2)
    flat, better = Tried("", "", 1.0), Tried("", "", 1.5, improved=True)
    repeat = Tried("", "", None, charged=False)
    expected = [((), 0), ((flat,), 0), ((flat, flat), 1), ((flat,) * 4, 2), ((flat,) * 9, 2),
                ((flat, flat, better), 0), ((flat, repeat, repeat), 0)]  # fmt: skip
    for tried, place in expected:
        assert several.choose(request(1, tried)) == place, tried
    assert several.choose(request(1, (flat,) * 9, after=1)) == 0, (
        "what was settled after the plan does not count"
    )


def test_limits_hold_for_the_dearest_and_errors_name_the_model() -> None:
    cheap, dear = Named("cheap", 90, tokens=1), Named("dear", 80, tokens=50)
    assert Several("x", [cheap, dear], [0.5, 0.5]).estimate("", "") == Estimate(100, 100_000)
    cheap.answer = lambda r: ProposerError("no answer", fatal=True)
    with pytest.raises(ProposerError, match="cheap: no answer") as raised:
        Several("x", [cheap, dear], [1.0, 0.0]).propose(request(1))
    assert raised.value.fatal


def test_accounts_by_model_survive_resuming_and_replay(tmp_path: Path) -> None:
    def several() -> Several:
        return Several(
            "cheap,strong", [Named("cheap", 100), Named("strong", 50, tokens=40)], [0.5, 0.5], escalate=3
        )

    straight = evolve(tmp_path / "a", several(), method="free", trials=12)
    evolve(tmp_path / "b", Recorder(several(), tmp_path / "r.jsonl"), method="free", trials=5)
    resumed = evolve(tmp_path / "b", Recorder(several(), tmp_path / "r.jsonl"), method="free", trials=12)
    replayed = evolve(tmp_path / "c", Replay(tmp_path / "r.jsonl"), method="free", trials=12)
    found = [summary(done.archive, "run").models for done in (straight, resumed, replayed)]
    assert found[0] == found[1] == found[2]
    by_name = {each.model: each for each in found[0]}
    assert set(by_name) == {"cheap", "strong"}
    assert by_name["strong"].improved == 1
    assert by_name["strong"].tokens == 40 * by_name["strong"].proposals
    assert sum(each.trials for each in found[0]) == 12
    text = summary_text(summary(straight.archive, "run"), None)
    assert f"model     strong: {by_name['strong'].proposals} proposals" in text
    assert "model     " not in summary_text(
        summary(evolve(tmp_path / "d", Named("one", 90), trials=3).archive, "run"), None
    )
