"""Models by short name, and what their tokens cost: `prices.toml`, or a user's own file beside it.

A price that is not known is None, never zero; whoever sets a cost cap is refused then.
"""

from __future__ import annotations

import datetime
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evoengineer.errors import UsageError, check_names
from evoengineer.user_files import number, read_toml

_FIELDS = (
    "model", "aliases", "base_url", "key", "input", "cached", "output", "reasoning", "source", "as_of",
)  # fmt: skip
_PRICES = ("input", "cached", "output")
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
    needs_key: bool = True  # a server of the user's own usually takes any


@cache
def _builtin() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "prices.toml").read_text(encoding="utf-8"))["models"]  # type: ignore[no-any-return]


def model_names() -> tuple[str, ...]:
    """Short names of the models with built-in prices."""
    return tuple(_builtin())


def find_model(name: str, prices: Path | None = None) -> Model:
    """A model by short name, alias or full name; one that no table knows has no price."""
    own = _read(prices) if prices else {}
    tables = {**_builtin(), **own}
    for short, entry in reversed(tables.items()):
        if name in (short, entry.get("model"), *entry.get("aliases", ())):
            return replace(_model(name, entry), needs_key=_needs_key(entry, own=short in own))
    return Model(name, name, None, DEFAULT_KEY, None)


def _needs_key(entry: dict[str, Any], *, own: bool) -> bool:
    """A server on this machine takes any key, and so does one of the user's own unless the file names a key."""
    return not _is_local(entry.get("base_url")) and (not own or "key" in entry)


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
    models = read_toml(path, "prices").get("models")
    if not isinstance(models, dict):
        raise UsageError(f'prices {path}: no models; the form is that of a [models."name"] table')
    for name, entry in models.items():
        where = f"prices {path}: {name}"
        if not isinstance(entry, dict):
            raise UsageError(f'{where} must be a table, [models."{name}"], not {entry!r}')
        check_names(where, entry, _FIELDS)
        _check_entry(where, entry)
    return models


def _check_entry(where: str, entry: dict[str, Any]) -> None:
    for field in _PRICES:
        if field in entry:
            number(entry[field], f"{where}: {field}")
    for field in ("model", "base_url", "key", "source"):
        if not isinstance(entry.get(field, ""), str):
            raise UsageError(f"{where}: {field} must be text, not {entry[field]!r}")
    aliases = entry.get("aliases", [])
    if not isinstance(aliases, list) or not all(isinstance(each, str) for each in aliases):
        raise UsageError(f"{where}: aliases must be a list of texts, not {aliases!r}")
    if not isinstance(entry.get("reasoning", False), bool):
        raise UsageError(f"{where}: reasoning must be true or false, not {entry['reasoning']!r}")
    if ("input" in entry) != ("output" in entry):
        raise UsageError(f"{where}: a price has both input and output")


def _is_local(base_url: str | None) -> bool:
    """On this machine?"""
    try:
        host = urlsplit(base_url or "").hostname or ""
    except ValueError:
        return False
    return host in ("localhost", "::1") or host.startswith("127.")
