"""Records (dataclasses) as JSON objects and back: exactly their fields, so that nothing gets lost on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

Record = TypeVar("Record")


def field_values(record: Any) -> dict[str, Any]:
    """A record's fields by name; unlike `asdict` it copies nothing."""
    return {name: getattr(record, name) for name in _names(type(record))}  # type: ignore[arg-type]


def from_values(kind: type[Record], values: Mapping[str, Any], /, **readers: Callable[[Any], Any]) -> Record:
    """The record with these values; ValueError unless they are exactly its fields. `readers` make fields of them
    that JSON has no type for."""
    known = set(_names(kind))  # type: ignore[arg-type]
    unknown, missing = sorted(values.keys() - known), sorted(known - values.keys())
    if unknown or missing:
        raise ValueError(f"not a {kind.__name__}: unknown {unknown}, missing {missing}")
    return kind(**{**values, **{name: read(values[name]) for name, read in readers.items()}})


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))
