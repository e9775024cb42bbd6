"""Opening an archive, also when other processes do so at the same moment."""

import multiprocessing
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

from evoengineer.archive import Archive
from evoengineer.errors import EvoEngineerError

PROCESSES, ATTEMPTS = 6, 25


def open_together(path: Path, together: Barrier, outcomes: "Queue[str]") -> None:
    together.wait()
    try:
        with Archive(path):
            outcomes.put("opened")
    except EvoEngineerError as error:
        outcomes.put(str(error))


def test_many_processes_may_make_the_same_archive_at_once(tmp_path: Path) -> None:
    """SQLite refuses at once, whatever the time-out, when two connections switch to WAL together."""
    fork = multiprocessing.get_context("fork")
    for attempt in range(ATTEMPTS):
        together, outcomes = fork.Barrier(PROCESSES), fork.Queue()
        arguments = (tmp_path / f"{attempt}.db", together, outcomes)
        processes = [fork.Process(target=open_together, args=arguments) for _ in range(PROCESSES)]
        for process in processes:
            process.start()
        assert {outcomes.get(timeout=60) for _ in processes} == {"opened"}
        for process in processes:
            process.join()
