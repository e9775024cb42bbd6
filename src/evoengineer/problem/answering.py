"""Processes that run problems' files answer on standard output, where the files may print, too."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def open_answers() -> TextIO:
    """Standard output for answers alone: what is printed from now on goes to standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers
