"""Budgets: never exceeded, and nothing is left reserved."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoengineer.propose.protocol import Estimate
from evoengineer.search.budget import Budget

calls = st.lists(
    st.tuples(
        st.integers(0, 50),  # most tokens
        st.floats(0, 1),  # share of them really used
        st.booleans(),  # charged
        st.booleans(),  # settled at once, or at the end
    ),
    max_size=60,
)


@given(calls, st.integers(0, 20), st.integers(0, 300), st.booleans())
def test_no_limit_is_ever_exceeded(
    steps: list[tuple[int, float, bool, bool]], trials: int, tokens: int, nested: bool
) -> None:
    total = Budget(tokens=tokens) if nested else None
    budget = Budget(trials=trials, tokens=None if nested else tokens, total=total)
    above = total or budget
    pending = []
    charged_count = used_count = 0
    for most, share, charged, at_once in steps:
        estimate = Estimate(most)
        allowed = budget.trials.allows(1) and above.tokens.allows(most)
        assert (budget.reserve(estimate) is None) == allowed
        if allowed:
            pending.append((estimate, charged, int(most * share)))
        if at_once and pending:
            estimate, charged, used = pending.pop(0)
            budget.settle(estimate, charged=charged, tokens=used, nano_usd=0)
            charged_count += charged
            used_count += used
        assert budget.trials.used + budget.trials.reserved <= trials
        assert above.tokens.used + above.tokens.reserved <= tokens
    for estimate, charged, used in pending:
        budget.settle(estimate, charged=charged, tokens=used, nano_usd=0)
        charged_count += charged
        used_count += used
    for each in {budget, above}:
        assert each.trials.reserved == each.tokens.reserved == 0
        assert each.tokens.used == used_count
        assert each.trials.used == charged_count


def test_money_is_exact() -> None:
    budget = Budget(usd=0.3)
    for _ in range(3):
        assert budget.reserve(Estimate(0, 100_000_000)) is None
    assert budget.reserve(Estimate(0, 1)) == "cost"


def test_a_refusal_above_reserves_nothing_below() -> None:
    budget = Budget(trials=10, total=Budget(tokens=5))
    assert budget.reserve(Estimate(6)) == "tokens"
    assert budget.trials.reserved == 0


def test_time() -> None:
    now = [0.0]
    budget = Budget(seconds=10, clock=lambda: now[0], total=Budget(seconds=8, clock=lambda: now[0]))
    assert budget.seconds_left() == 8
    now[0] = 9.0
    assert budget.out_of_time()


def test_negative_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="trials must not be negative, not -1"):
        Budget(trials=-1)
