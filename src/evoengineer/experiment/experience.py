"""What a run takes from the experience library when it is made, and what it gives when it ends.

The lessons are kept with the run: a resumed run is told the same, however the library has grown.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evoengineer.archive.store import Archive, RunRecord
from evoengineer.experience.learning import family_of, learn, reference_digest
from evoengineer.experience.lessons import Lesson, digest, snapshot
from evoengineer.experience.library import Library, library_beside
from evoengineer.search.methods import Method
from evoengineer.search.settings import Settings
from evoengineer.search.task import Task

_LESSONS, _DIGEST = "experience_lessons", "experience_digest"  # in the settings of a run's record


def open_library(settings: Settings, archive: Path) -> Library:
    """The one that the settings name, else the one beside the archive."""
    return Library(Path(settings.library) if settings.library else library_beside(archive))


def lessons_for(settings: Settings, method: Method, task: Task, archive: Path) -> tuple[Lesson, ...]:
    """What a new run may know; nothing unless its method declares experience."""
    if not settings.experience or not method.uses_experience:
        return ()
    return snapshot(
        open_library(settings, archive).proofs(),
        problem=task.name,
        family=family_of(task.name),
        reference=reference_digest(task.reference),
        leave_out=settings.leave_out,
    )


def recorded(lessons: tuple[Lesson, ...]) -> dict[str, Any]:
    """As a run's record holds them."""
    return {_LESSONS: [each.to_json() for each in lessons], _DIGEST: digest(lessons)} if lessons else {}


def recorded_lessons(run: RunRecord) -> tuple[Lesson, ...]:
    """What the run was told when it began."""
    return tuple(Lesson.from_json(each) for each in run.settings.get(_LESSONS, ()))


def keep(settings: Settings, method: Method, archive: Archive, run: str) -> int:
    """Add what a run proved; how much of it was new."""
    if not settings.experience or not method.uses_experience:
        return 0
    return learn(open_library(settings, archive.path), archive, run)
