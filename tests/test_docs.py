"""The README shows what its commands really print, and texts name files and modules that exist.

The examples in docs/errors.md are programs of tests/programs, whose messages are tested there; `make docs` runs
them again.
"""

import ast
import importlib.util
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "evoengineer"
SCRIPT = ROOT / "scripts" / "refresh_docs.py"
_spec = importlib.util.spec_from_file_location("refresh_docs", SCRIPT)
assert _spec is not None
assert _spec.loader is not None
refresh_docs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(refresh_docs)

BLOCKS = [
    block
    for document in refresh_docs.documents()
    for block in refresh_docs.BLOCK.finditer(document.read_text())
]


@pytest.mark.parametrize("block", BLOCKS, ids=[block["command"].split("/")[-1] for block in BLOCKS])
def test_example_is_up_to_date(block: re.Match[str]) -> None:
    assert block[0] == refresh_docs.refreshed(block), "run scripts/refresh_docs.py"


def test_every_console_block_is_found() -> None:
    """One that the script does not recognise would never be refreshed."""
    for document in refresh_docs.documents():
        text = document.read_text()
        assert text.count("```console") == len(refresh_docs.BLOCK.findall(text)), document


# -- names of files and modules --------------------------------------------------------------------------------

PAGES = [*refresh_docs.documents(), ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "chains" / "README.md"]
SOURCES = [
    file
    for folder in ("src", "tests", "benchmarks", "scripts")
    for file in sorted((ROOT / folder).rglob("*"))
    if file.suffix in (".py", ".cpp", ".h") and "suites" not in file.parts
]
# Files of a user's, of an export, or of other projects, in examples.
ELSEWHERE = {
    "19_ReLU.py",
    "best/RUN.py",
    "cuda_fp8.h",
    "FILE.py",
    "cuda_pipeline.h",
    "cuda_runtime.h",
    "curand.h",
    "curand_kernel.h",
    "file.py",
    "level1/19_ReLU.py",
    "linear_relu.py",
    "model_new.py",
    "my.py",
    "my_method.py",
    "no.h",
    "original.py",
    "path/to/file.py",
    "reference.py",
    "run.toml",
    "script.toml",
    "setup.py",
    "test_kernel.py",
    "torch/extension.h",
    "torch/version.py",
}

_FILE = re.compile(r"(?<![\w./*-])[\w./-]*\w\.(?:py|cpp|h|md|toml|map|sh)\b(?![(*])")
_FOLDER = re.compile(r"`((?:[\w.-]+/)+[\w.-]*)`")
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
_MODULE = re.compile(r"\bevoengineer((?:\.[A-Za-z_]\w*)+)")


@pytest.fixture(scope="module")
def files() -> set[str]:
    """Every path in the repository, and every ending of one: `sim/codegen/abi.py`, `codegen/abi.py`, `abi.py`."""
    folders = (".ci", "benchmarks", "docs", "examples", "scripts", "src", "tests")
    inside = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    listed = [path.relative_to(ROOT) for path in (*ROOT.iterdir(), *inside)]
    return {"/".join(path.parts[at:]) for path in listed for at in range(len(path.parts))}


def missing_files(text: str, files: set[str]) -> list[str]:
    words = [word.removeprefix("./").removeprefix("../") for word in _FILE.findall(text)]
    return [word for word in words if word not in files and word not in ELSEWHERE]


def missing_modules(text: str) -> Iterator[str]:
    """`evoengineer.a.b`, or something that the module defines."""
    for match in _MODULE.finditer(text):
        at = PACKAGE
        for part in match[1].split(".")[1:]:
            if (at / part).is_dir() or (at / f"{part}.py").is_file():
                at = at / part
                continue
            source = at.with_suffix(".py") if at.with_suffix(".py").is_file() else at / "__init__.py"
            if not re.search(rf"\b{part}\b", source.read_text()):
                yield match[0]
            break


def said_in(source: Path) -> str:
    """Docstrings and comments."""
    text = source.read_text()
    if source.suffix != ".py":
        return "\n".join(re.findall(r"//.*", text))
    places = (ast.Module, ast.ClassDef, ast.FunctionDef)
    said = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(text)) if isinstance(node, places)]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return "\n".join([*said, *(token.string for token in tokens if token.type == tokenize.COMMENT)])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_name_what_exists(page: Path, files: set[str]) -> None:
    text = page.read_text()
    assert not missing_files(text, files)
    assert not list(missing_modules(text))
    made = {".venv", "build", "dist"}  # by commands, not kept in the repository
    tops = {path.name for folder in (ROOT, PACKAGE) for path in folder.iterdir()} - made
    folders = [name.rstrip("/") for name in _FOLDER.findall(text) if name.split("/")[0] in tops]
    assert not [name for name in folders if name not in files]
    assert not [link for link in _LINK.findall(text) if not (page.parent / link).exists()]


def test_docstrings_and_comments_name_what_exists(files: set[str]) -> None:
    found = []
    for source in SOURCES:
        said = said_in(source)
        found += [
            f"{source.relative_to(ROOT)}: {name}"
            for name in (*missing_files(said, files), *missing_modules(said))
        ]
    assert not found, "\n".join(found)
