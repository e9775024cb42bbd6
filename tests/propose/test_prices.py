"""The table of models and prices."""

from __future__ import annotations

from pathlib import Path

import pytest

from evoengineer.errors import UsageError
from evoengineer.propose.prices import Price, find_model, model_names


@pytest.mark.parametrize("name", model_names())
def test_every_model_has_a_price_with_its_source_and_date(name: str) -> None:
    model = find_model(name)
    assert model.price is not None
    assert model.price.source.startswith("https://")
    assert model.price.as_of is not None
    assert model.base_url is not None
    assert 0 < model.price.cached <= model.price.input <= model.price.output


def test_the_papers_models_have_short_names() -> None:
    assert {"gpt-4.1", "deepseek-v3.1", "claude-sonnet-4"} <= set(model_names())
    assert find_model("deepseek-chat").price == find_model("deepseek-v3.1").price
    assert find_model("claude-sonnet-4-20250514").price == find_model("claude-sonnet-4").price


def test_cached_tokens_cost_less() -> None:
    assert Price(2.0, 8.0, 0.5, "", None).nano_usd(1000, 100, 400) == 600 * 2000 + 400 * 500 + 100 * 8000


def test_a_users_file_adds_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(
        '[models."mine"]\nmodel = "org/mine"\ninput = 1\noutput = 2\n[models."gpt-4.1"]\ninput = 9\noutput = 9\n'
    )
    found = find_model("mine", path)
    assert found.model == "org/mine"
    assert found.price is not None
    assert found.price.cached == 1.0
    changed = find_model("gpt-4.1", path).price
    assert changed is not None
    assert changed.input == 9


@pytest.mark.parametrize(
    ("text", "words"),
    [("[models.a]\ncost = 1", "unknown key 'cost'; valid:"), ("nonsense", "prices"), ("[other]", "models")],
)
def test_a_wrong_file_is_refused(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        find_model("a", path)
