"""Scripts of the fake endpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from evoengineer.errors import UsageError
from evoengineer.propose.fake_endpoint import Ask
from evoengineer.propose.fake_script import load_script
from evoengineer.propose.parse import parse_reply


def ask(number: int, order: int = 0) -> Ask:
    return Ask(order, f"run/{number}", number, 1, "", "", {})


def test_answers_by_number_go_round(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("__global__ void f() {}\nPYBIND11_MODULE(a, m) {}\n")
    path = tmp_path / "script.toml"
    path.write_text(
        'requests_per_second = 5\n[[answer]]\ntext = "one"\nfaults = ["429", "cut"]\nretry_after = 2\n'
        '[[answer]]\nfile = "k.cu"\nname = "two"\nthought = "why"\ndelay_seconds = 1\n'
    )
    loaded = load_script(path)
    assert loaded.requests_per_second == 5
    first, second, third = (loaded.script(ask(number)) for number in (1, 2, 3))
    assert (first.text, first.faults, first.retry_after) == ("one", ("429", "cut"), "2")
    parsed = parse_reply(second.text)
    assert (parsed.name, parsed.thought, second.delay_seconds) == ("two", "why", 1.0)
    assert third == first


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no \\[\\[answer\\]\\]"),
        ("by = 'luck'\n[[answer]]\ntext = 'a'", "valid: number, order"),
        ("[[answer]]\ntxt = 'a'", r"an answer: unknown key 'txt' \(did you mean text\?\); valid: text"),
        ("[[answer]]\nfaults = ['418']", "unknown fault '418'; valid: 429"),
        ("[[answer]]\nfile = 'none.cu'", "no such file"),
        ("nonsense", "script"),
    ],
)
def test_a_wrong_script_is_refused(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        load_script(path)
