"""The public surface: exactly these names, documented, annotated, and loaded only when they are asked for."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import resources
from typing import Any

import pytest

import evoengineer

SURFACE = {
    "verbs": [
        *(
            "define_problem",
            "evolve",
            "explain",
            "judge",
            "list_problems",
            "list_runs",
            "load_problem",
            "load_run",
        ),
        *("open_device", "open_judge", "profile", "resume"),
    ],
    "nouns": [
        *("Case", "JudgeOptions", "LaunchProfile", "Outcome", "Problem", "Run", "RunSummary", "Timing"),
        *("Tolerance", "Trial", "Verdict"),
    ],
    "errors": ["EvoEngineerError", "UsageError"],
    "other": ["__version__"],
}


def test_the_surface_is_exactly_this() -> None:
    listed = sorted(name for names in SURFACE.values() for name in names)
    assert listed == sorted(evoengineer.__all__) == sorted(dir(evoengineer))
    for name in listed:
        assert getattr(evoengineer, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'evolv'"):
        _ = evoengineer.evolv  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", SURFACE["verbs"])
def test_verbs_have_docstrings_annotations_and_keyword_only_options(name: str) -> None:
    verb = getattr(evoengineer, name)
    function: Any = verb if inspect.isfunction(verb) else type(verb).__call__
    assert function.__doc__
    signature = inspect.signature(verb)
    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in signature.parameters.values():
        assert parameter.annotation is not inspect.Parameter.empty, parameter.name
    positional = [each for each in signature.parameters.values() if each.kind is each.POSITIONAL_OR_KEYWORD]
    assert len(positional) <= 2 or name == "open_device"


@pytest.mark.parametrize("name", SURFACE["nouns"] + SURFACE["errors"])
def test_nouns_and_their_public_methods_have_docstrings_and_annotations(name: str) -> None:
    noun = getattr(evoengineer, name)
    assert noun.__doc__
    assert not noun.__doc__.startswith(f"{name}("), "a dataclass's own text is no docstring"
    for member, value in vars(noun).items():
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if member.startswith("_") or not inspect.isfunction(function):
            continue
        signature = inspect.signature(function)
        assert signature.return_annotation is not inspect.Signature.empty, member


def test_judge_is_callable_before_and_after_its_package_is_imported() -> None:
    script = (
        "import evoengineer; first = evoengineer.judge; assert callable(first)\n"
        "import evoengineer.judge.verdict; assert evoengineer.judge is first\n"
        "from evoengineer import judge; assert callable(judge)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_importing_the_package_imports_nothing_of_it() -> None:
    script = "import sys, evoengineer; print(*sorted(m for m in sys.modules if m.startswith('evoengineer')))"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["evoengineer", "evoengineer.version"]


def test_the_package_says_that_it_is_typed() -> None:
    assert resources.files("evoengineer").joinpath("py.typed").is_file()
