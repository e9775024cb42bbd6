"""Edits within a run: applied to the parent, refused with evidence, and the same after a restart."""

from __future__ import annotations

from pathlib import Path

from tests.search.runs import Answers, evolve
from tests.search.scripted import reply

from evoengineer.propose.protocol import Request


def answer(request: Request) -> str:
    """A whole file first; then the parent's time is edited; every third edit does not apply."""
    if request.number == 1:
        return reply("first", time=90)
    line = next(each for each in request.parents[0].splitlines() if "judge =" in each)
    searched = line if request.number % 3 else line + " // not there"
    changed = f'static const char* judge = "id=k{request.number} time={90 - request.number}";'
    return (
        f"name: k{request.number}\nthought: shorter\n"
        f"<<<<<<< SEARCH\n{searched}\n=======\n{changed}\n>>>>>>> REPLACE\n"
    )


def test_edits_make_kernels_and_failures(tmp_path: Path) -> None:
    answers = Answers(answer)
    done = evolve(tmp_path, answers, method="free", trials=9, lookahead=1)
    outcomes = [row[0] for row in done.rows("outcome", "number > 0")]
    assert outcomes == ["unparsable" if number % 3 == 0 else "valid" for number in range(1, 10)]
    assert "edit: kernel 1\n<<<<<<< SEARCH" in answers.prompt(2)
    verdict = done.archive.connection.execute("SELECT verdict FROM verdicts WHERE number = 3").fetchone()[0]
    assert "block 1 of 1 does not apply" in verdict
    assert "Nearest line of kernel 2" in verdict
    again = evolve(tmp_path / "again", Answers(answer), method="free", trials=9, lookahead=1)
    assert again.canonical() == done.canonical()


def test_an_edit_that_does_not_apply_is_repaired_from_the_kernel_it_was_meant_for(tmp_path: Path) -> None:
    """Evidence, the unchanged text, blocks against the same number; given up after two."""

    def edit(number: int, line: str) -> str:
        blocks = f"<<<<<<< SEARCH\n{line}\n=======\n// {number}\n{line}\n>>>>>>> REPLACE\n"
        return f"name: e{number}\nthought: t\nedit: kernel 0\n{blocks}"

    wrong, right = "no such line", "__global__ void run(float* x) {}"
    answers = Answers(lambda r: edit(r.number, wrong if r.number in (1, 2, 4, 5, 6) else right + "// no"))
    done = evolve(tmp_path, answers, method="free", repair=True, trials=6, lookahead=1)
    operators = [row[0] for row in done.rows("operator", "number > 0")]
    assert operators == ["free", "repair", "repair", "free", "repair", "repair"]
    prompt = answers.prompt(2)
    assert "Your edit of kernel 0: unparsable" in prompt
    assert "Searched for:\nno such line" in prompt
    assert "The source of kernel 0, unchanged:" in prompt
    assert 'judge = "id=baseline' in prompt.split("unchanged:")[1]
    again = Answers(lambda r: edit(r.number, wrong if r.number == 1 else right))
    done = evolve(tmp_path / "mended", again, method="free", repair=True, trials=1, lookahead=1)
    done = evolve(tmp_path / "mended", again, method="free", repair=True, trials=2, lookahead=1)
    assert done.rows("operator", "number = 2") == [("repair",)], "also after a restart"
    assert again.prompt(2).count("Your edit of kernel 0") == 1
