"""Models by short name, and what their tokens cost: `prices.toml`, or a user's own file beside it.

A price that is not known is None, never zero; whoever sets a cost cap is refused then.
"""

from __future__ import annotations

import datetime
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from evoengineer.errors import UsageError, check_names

_FIELDS = (
    "model", "aliases", "base_url", "key", "input", "cached", "output", "reasoning", "source", "as_of",
)  # fmt: skip
DEFAULT_KEY = "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float
    cached: float
    source: str
    as_of: datetime.date | None

    def nano_usd(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> int:
        """A dollar per million tokens is a thousand billionths per token."""
        fresh = input_tokens - cached_tokens
        return round(1000 * (fresh * self.input + cached_tokens * self.cached + output_tokens * self.output))


@dataclass(frozen=True, slots=True)
class Model:
    """A model, where it is and what it costs."""

    name: str  # as the user wrote it
    model: str  # as the endpoint knows it
    base_url: str | None
    key: str
    price: Price | None
    reasoning: bool = False  # takes a reasoning effort instead of a temperature


@cache
def _builtin() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "prices.toml").read_text())["models"]  # type: ignore[no-any-return]


def model_names() -> tuple[str, ...]:
    """Short names of the models with built-in prices."""
    return tuple(_builtin())


def find_model(name: str, prices: Path | None = None) -> Model:
    """A model by short name, alias or full name; one that no table knows has no price."""
    tables = {**_builtin(), **(_read(prices) if prices else {})}
    for short, entry in reversed(tables.items()):
        if name in (short, entry.get("model"), *entry.get("aliases", ())):
            return _model(name, entry)
    return Model(name, name, None, DEFAULT_KEY, None)


def _model(name: str, entry: dict[str, Any]) -> Model:
    price = None
    if "input" in entry and "output" in entry:
        price = Price(
            float(entry["input"]),
            float(entry["output"]),
            float(entry.get("cached", entry["input"])),
            entry.get("source", ""),
            entry.get("as_of"),
        )
    return Model(
        name,
        entry.get("model", name),
        entry.get("base_url"),
        entry.get("key", DEFAULT_KEY),
        price,
        bool(entry.get("reasoning", False)),
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        models: dict[str, Any] = tomllib.loads(path.read_text())["models"]
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise UsageError(f'prices {path}: {error!r}; the form is that of a [models."name"] table') from error
    for name, entry in models.items():
        check_names(f"prices {path}: {name}", entry, _FIELDS)
    return models
