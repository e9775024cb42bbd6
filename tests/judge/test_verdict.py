"""Verdicts as records: what they refuse, and what becomes of a candidate's words."""

import pytest

from evoengineer.judge.verdict import Outcome, Verdict


def test_a_candidates_words_do_not_command_the_terminal() -> None:
    hostile = "\x1b[2J\x07 valid\x9b\u202e\ud800\r"
    verdict = Verdict(Outcome.CRASHED, hostile, f"a\tb\n{hostile}", {"where": hostile, "more": [hostile, 3]})
    harmless = "\\x1b[2J\\x07 valid\\x9b\\u202e\\ud800\\r"
    assert verdict.summary == harmless
    assert verdict.evidence == f"a\tb\n{harmless}"
    assert verdict.details == {"where": harmless, "more": [harmless, 3]}
    assert Verdict.from_json(verdict.to_json()) == verdict


def test_only_valid_kernels_have_times() -> None:
    with pytest.raises(ValueError, match="lacks a timing"):
        Verdict(Outcome.VALID, "fast")
