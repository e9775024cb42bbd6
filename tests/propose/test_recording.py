"""Recording and replay: exact, by prompt or by order; a damaged file is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.search.runs import Answers, evolve
from tests.search.scripted import reply

from evoengineer.errors import UsageError
from evoengineer.propose.protocol import Request
from evoengineer.propose.recording import Match, Recorder, Replay
from evoengineer.search.endings import Ending, LoopOptions


def answer(request: Request) -> str:
    return reply(
        "same" if request.number % 5 == 0 else f"k{request.number}",
        f"idea {request.number}",
        time=100 - request.number,
    )


def record(folder: Path, method: str = "full") -> Path:
    path = folder / "exchanges.jsonl"
    recorder = Recorder(Answers(answer), path)
    evolve(folder / "recorded", recorder, method=method, trials=20)
    recorder.close()
    return path


@pytest.mark.parametrize("method", ["full", "best-of-n"])
@pytest.mark.parametrize("match", list(Match))
def test_a_replayed_run_is_the_recorded_run_bit_for_bit_with_1_and_4_workers(
    method: str, match: Match, tmp_path: Path
) -> None:
    path = record(tmp_path, method)
    recorded = evolve(tmp_path / "recorded", Answers(answer), method=method, trials=20)
    for workers in (1, 4):
        replayed = evolve(
            tmp_path / f"{workers}",
            Replay(path, match),
            method=method,
            trials=20,
            options=LoopOptions(workers=workers),
        )
        assert replayed.canonical() == recorded.canonical()


def test_a_missing_answer_stops_the_run_and_says_which(tmp_path: Path) -> None:
    path = record(tmp_path)
    done = evolve(tmp_path / "longer", Replay(path), method="full", trials=40)
    assert done.result.ending is Ending.PROPOSER
    assert "none for proposal" in done.result.reason
    done = evolve(tmp_path / "other", Replay(path), method="free", trials=5, seed=3)
    assert "--match order" in done.result.reason


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text[:-40], "is cut off"),
        (lambda text: text.replace('"prompt"', '"pro', 1), "line 2 is damaged"),
        (lambda text: "{}\n" + text, "not a recording"),
        (lambda text: text.replace('"version": 1', '"version": 9'), "has version 9"),
        (lambda text: text + "[1]\n", "is not an exchange"),
        (lambda text: text + '{"number": 3}\n', "lacks a part"),
    ],
)
def test_a_damaged_recording_is_refused(damage: object, words: str, tmp_path: Path) -> None:
    path = record(tmp_path)
    path.write_text(damage(path.read_text()))  # type: ignore[operator]
    with pytest.raises(UsageError, match=words):
        Replay(path)


def test_a_recorder_that_was_killed_while_writing_goes_on_with_a_new_line(tmp_path: Path) -> None:
    path = record(tmp_path)
    whole = path.read_text()
    path.write_text(whole[:-40])
    recorder = Recorder(Answers(answer), path)
    recorder.propose(Request("run", 99, "s", "u", "p", 0, 0))
    recorder.close()
    lines = path.read_text().splitlines()
    assert len(lines) == len(whole.splitlines())
    assert json.loads(lines[-1])["number"] == 99
    Replay(path)
