"""Every kernel that must not pass gets the verdict it deserves, with evidence that says why."""

import re

import pytest
from tests.judge.conftest import JudgeText
from tests.judge.wrong_kernels import WRONG


@pytest.mark.parametrize("name", WRONG)
def test_wrong_kernel(name: str, judge_text: JudgeText) -> None:
    wrong = WRONG[name]
    verdict = judge_text(wrong.problem, wrong.source)
    said = f"{verdict.summary}\n{verdict.evidence}"
    assert str(verdict.outcome) in wrong.outcome.split("|"), said
    assert re.search(wrong.evidence, said), said
    assert verdict.timing is None
