"""The recordings that ship: each can be read to its last kernel, and leads through a run of its method."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.search.runs import evolve
from tests.search.scripted import ScriptedJudge, task

from evoengineer.judge.protocol import Built
from evoengineer.judge.verdict import Outcome, Verdict
from evoengineer.kernel.text import Kernel
from evoengineer.propose.parse import parse_reply
from evoengineer.propose.recording import Match, Replay, read_recording

FOLDER = Path(__file__).parents[1] / "examples" / "recordings"
FILES = sorted(FOLDER.glob("*.jsonl"))


def test_the_recordings_are_there() -> None:
    assert {file.stem.rpartition("-")[2] for file in FILES} == {"free", "full", "guided"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_answer_of_a_recording_holds_a_kernel(file: Path) -> None:
    entries = list(read_recording(file))
    assert [entry["number"] for entry in sorted(entries, key=lambda each: each["number"])] == list(
        range(1, len(entries) + 1)
    )
    for entry in entries:
        parsed = parse_reply(entry["reply"]["text"])
        assert "PYBIND11_MODULE" in parsed.code
        assert parsed.name
        assert parsed.thought


class _Texts(ScriptedJudge):
    """Real texts get a verdict without being compiled: what is tested is that the recording leads through a run."""

    def _build(self, source: str) -> Built:
        return Built(Kernel(source).id, Kernel(source).id)

    def _judge(self, source: str) -> Verdict:
        if "judge = " in source:
            return super()._judge(source)
        return Verdict(Outcome.WRONG, "not run here", kernel=Kernel(source).id, build=Kernel(source).id)


@pytest.mark.parametrize("method", ["free", "full", "guided"])
def test_a_recording_is_played_back_to_its_end(method: str, tmp_path: Path) -> None:
    file = FOLDER / f"layer_norm-{method}.jsonl"
    count = len(list(read_recording(file)))
    judge = _Texts()
    done = evolve(
        tmp_path,
        Replay(file, Match.ORDER),
        method=method,
        repair=False,
        trials=count,
        about=task(),
        judge=judge,
    )
    assert done.result.progress.trials + done.result.progress.duplicates == count
    assert done.result.progress.trials >= count - 2
