"""The --check list."""

import pytest

from evoengineer.errors import UsageError
from evoengineer.sim.options import CHECKS, parse_checks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", {"memory", "sync"}),
        ("memory", {"memory", "sync"}),
        ("race", {"memory", "sync", "race"}),
        ("race, init", {"memory", "sync", "race", "init"}),
        ("all", set(CHECKS)),
        ("all,race", set(CHECKS)),
    ],
)
def test_valid(text: str, expected: set[str]) -> None:
    assert parse_checks(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rase", r"unknown check 'rase' \(did you mean race\?\); valid: memory, sync, race, init, all, none"),
        ("", "no check named"),
        (",", "no check named"),
        ("none,race", "'none' stands alone"),
    ],
)
def test_invalid(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_checks(text)
