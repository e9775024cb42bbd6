"""Options of commands that run a search, made from the list in `search/settings.py`, and the archive's."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

from evoengineer.search.settings import Settings

_EITHER = ("repair", "experience")  # can be switched off, too
_GIVEN = argparse.SUPPRESS  # a flag that was not given is absent, so that the file and the defaults hold


def add_settings(
    parser: argparse.ArgumentParser, *, only_resume: bool = False, without: tuple[str, ...] = ()
) -> None:
    """A flag for each setting (or for those that may change when a run is resumed)."""
    for setting in fields(Settings):
        about = setting.metadata
        if setting.name in ("problem", *without) or (only_resume and not about["resume"]):
            continue
        flag = "--" + setting.name.replace("_", "-")
        default = setting.default
        shown = "" if default in (None, False, "", 0) or only_resume else f" (default {default})"
        if about["type"] is bool:
            action: Any = argparse.BooleanOptionalAction if setting.name in _EITHER else "store_true"
            parser.add_argument(flag, action=action, default=_GIVEN, help=about["help"])
        else:
            parser.add_argument(
                flag, type=about["type"], metavar=about["metavar"], default=_GIVEN, help=about["help"] + shown
            )


def given_settings(options: argparse.Namespace) -> dict[str, Any]:
    """The settings among the options that were given."""
    names = {setting.name for setting in fields(Settings)}
    return {name: value for name, value in vars(options).items() if name in names and value is not None}


def add_archive(parser: argparse.ArgumentParser) -> None:
    """The option that says where runs are kept."""
    parser.add_argument(
        "--archive",
        type=Path,
        metavar="FILE",
        help="the archive of runs (default: archive.db in $EVOENGINEER_HOME or the user's data folder)",
    )
