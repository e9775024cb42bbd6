"""A run in a process of its own, to be killed: `python -m tests.search.kill_target FOLDER TRIALS`.

Answers are a function of the proposal's number; each call that is answered is noted in FOLDER/paid, as an
endpoint's bill would.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from random import Random

from tests.search.runs import Answers, evolve
from tests.search.scripted import reply

from evoengineer.propose.protocol import Request
from evoengineer.search.endings import LoopOptions


def answer_for(folder: Path) -> Answers:
    paid = os.open(folder / "paid", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def answer(request: Request) -> str:
        random = Random(request.number)
        time.sleep(random.uniform(0.0, 0.02))
        os.write(paid, f"{request.number} {os.getpid()}\n".encode())
        if request.number % 7 == 0:
            return "no idea"
        if request.number % 6 == 0:
            return reply("again", time=95)
        outcome = random.choice(["valid", "valid", "wrong"])
        delay = random.uniform(0.0, 0.02)
        return reply(
            f"k{request.number}",
            f"idea {request.number}",
            time=5000 / (50 + request.number),
            outcome=outcome,
            delay=delay,
        )

    return Answers(answer)


def main(folder: Path, trials: int) -> None:
    answers = answer_for(folder)
    evolve(
        folder,
        answers,
        method="full",
        trials=trials,
        repair=True,
        options=LoopOptions(workers=3),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
