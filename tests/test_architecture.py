"""The house rule: imports point down, and no two packages import each other (docs/architecture.md).

Reads the import graph of the package from its source: every import counts, also one inside a function or under
TYPE_CHECKING. Part of `make lint`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "evoengineer"

Floors = Sequence[tuple[str, ...]]

# From the top. A module or package may import what lies below it, or beside it on its floor (but not in a circle).
HOUSE: Floors = (
    ("__init__", "__main__"),
    ("cli", "web"),
    ("experiment",),
    ("report",),
    ("search",),
    ("experience",),
    ("propose",),
    ("archive",),
    ("cluster",),
    ("judge",),
    ("baseline",),
    ("problem",),
    ("suites",),
    ("kernel",),
    ("sim",),
    ("card",),
    ("toolchain",),
    ("lifetime", "idleness", "files", "user_files", "errors", "version"),
)
SIMULATED_GPU: Floors = (
    ("__init__",),
    ("session", "device", "control"),
    ("process", "cudart"),
    ("engine",),
    ("timing",),
    ("codegen",),
    ("runtime", "ptx"),
    ("wire", "options"),
)
MAY_USE_THE_SURFACE = ("__init__", "__main__", "cli")  # the others would import what imports them


@dataclass(frozen=True)
class Import:
    """One import statement's way from a module to another; both by their dotted names."""

    file: Path
    line: int
    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.source} imports {self.target}"


# -- reading ---------------------------------------------------------------------------------------------------


def modules(package: Path) -> dict[str, Path]:
    """Every module by its dotted name. Problem files of the suites are data: a loader runs them."""
    found = {}
    for file in sorted(package.rglob("*.py")):
        parts = file.relative_to(package.parent).with_suffix("").parts
        if parts[1] == "suites" and file.name == "problem.py":
            continue
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(package: Path) -> list[Import]:
    known = modules(package)
    return [
        Import(file, line, name, _longest(target, known))
        for name, file in known.items()
        for line, target in _targets(ast.parse(file.read_text()), name, file.stem == "__init__")
        if target.split(".")[0] == package.name and target != f"{package.name}.__version__"
    ]


def _targets(tree: ast.AST, module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """Line and dotted name of all that is imported; a name may be that of something inside a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = module if is_package else module.rpartition(".")[0]
            above = start.split(".")[: start.count(".") + 2 - node.level] if node.level else []
            origin = [*above, node.module] if node.module else above
            yield from ((node.lineno, ".".join([*origin, alias.name])) for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            literal = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            yield from ((node.lineno, name) for name in literal[:1])


def _longest(target: str, known: dict[str, Path]) -> str:
    while target not in known and "." in target:
        target = target.rpartition(".")[0]
    return target


def child(module: str, package: str) -> str | None:
    """The module or package directly inside `package` that a module belongs to; None if it is elsewhere."""
    if module == package:
        return "__init__"
    inside = module.removeprefix(f"{package}.")
    return None if inside == module else inside.split(".")[0]


# -- judging ---------------------------------------------------------------------------------------------------


def upward(graph: Sequence[Import], package: str, floors: Floors) -> list[str]:
    """Imports that do not point down (or along) the floors of the package's children."""
    height = {name: len(floors) - at for at, floor in enumerate(floors) for name in floor}
    found = []
    for each in graph:
        source, target = child(each.source, package), child(each.target, package)
        if source is None or target is None or source not in height or target not in height:
            continue
        if height[target] > height[source] and not (target == "__init__" and source in MAY_USE_THE_SURFACE):
            found.append(f"{each}: {target} stands above {source}")
    return found


def unplaced(package: Path, dotted: str, floors: Floors) -> list[str]:
    """Children of the package that no floor names."""
    named = {name for floor in floors for name in floor}
    files = {name: file for module, file in modules(package).items() if (name := child(module, dotted))}
    return [f"{files[name]}: {name} stands on no floor" for name in sorted(files.keys() - named)]


def cycles(graph: Sequence[Import], package: str, sub_packages: frozenset[str]) -> list[str]:
    """Circles among the package's children in which a sub-package takes part, with the imports that close them."""
    edges: dict[str, dict[str, Import]] = {}
    for each in graph:
        source, target = child(each.source, package), child(each.target, package)
        if source and target and source != target:
            edges.setdefault(source, {}).setdefault(target, each)
    reach = {name: _reachable(name, edges) for name in edges}
    circles = {frozenset(b for b in reach[a] if a in reach.get(b, ())) for a in edges if a in reach[a]}
    return [
        "\n".join(
            [
                f"{', '.join(sorted(circle))} import each other:",
                *(f"  {each}" for a in sorted(circle) for b, each in sorted(edges[a].items()) if b in circle),
            ]
        )
        for circle in sorted(circles, key=sorted)
        if circle & sub_packages
    ]


def _reachable(start: str, edges: dict[str, dict[str, Import]]) -> set[str]:
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        new = set(edges.get(ahead.pop(), ())) - seen
        seen |= new
        ahead += new
    return seen


def packages(package: Path) -> dict[str, frozenset[str]]:
    """The sub-packages of every package that has some, by its dotted name."""
    below: dict[str, frozenset[str]] = {}
    for name, file in modules(package).items():
        above, _, own = name.rpartition(".")
        if above and file.stem == "__init__":
            below[above] = below.get(above, frozenset()) | {own}
    return below


# -- the tests -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def graph() -> list[Import]:
    return imports(PACKAGE)


@pytest.mark.parametrize("dotted, floors", [("evoengineer", HOUSE), ("evoengineer.sim", SIMULATED_GPU)])
def test_imports_point_down(graph: list[Import], dotted: str, floors: Floors) -> None:
    found = upward(graph, dotted, floors)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("dotted, floors", [("evoengineer", HOUSE), ("evoengineer.sim", SIMULATED_GPU)])
def test_everything_has_its_floor(dotted: str, floors: Floors) -> None:
    """A new module or package has to be placed, here and in docs/architecture.md."""
    found = unplaced(PACKAGE, dotted, floors)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("dotted", packages(PACKAGE))
def test_packages_do_not_import_each_other(graph: list[Import], dotted: str) -> None:
    found = cycles(graph, dotted, packages(PACKAGE)[dotted])
    assert not found, "\n".join(found)


@pytest.fixture
def made_up(tmp_path: Path) -> Path:
    """A house with an upward import, a deferred one, a circle and a room on no floor."""
    files = {
        "__init__.py": "__version__ = '1'\n",
        "attic.py": "import house.cellar\n",
        "cellar/__init__.py": "from house import __version__\n",
        "cellar/wine.py": "def drink():\n    from house import attic\n",
        "cellar/coal.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..garden import tree\n",
        "garden/__init__.py": "",
        "garden/tree.py": "from importlib import import_module\nimport_module('house.cellar.wine')\n",
    }
    for name, text in files.items():
        file = tmp_path / "house" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "house"


def test_an_upward_import_is_reported(made_up: Path) -> None:
    floors = (("__init__",), ("attic",), ("cellar", "garden"))
    (message,) = upward(imports(made_up), "house", floors)
    wine = made_up / "cellar" / "wine.py"
    assert message == f"{wine}:2: house.cellar.wine imports house.attic: attic stands above cellar"


def test_a_circle_is_reported(made_up: Path) -> None:
    (message,) = cycles(imports(made_up), "house", frozenset({"cellar", "garden"}))
    assert message.startswith("attic, cellar, garden import each other:")
    assert f"{made_up / 'cellar' / 'coal.py'}:3: house.cellar.coal imports house.garden.tree" in message
    assert f"{made_up / 'garden' / 'tree.py'}:2: house.garden.tree imports house.cellar.wine" in message
    assert not cycles(imports(made_up), "house", frozenset())


def test_a_room_on_no_floor_is_reported(made_up: Path) -> None:
    (message,) = unplaced(made_up, "house", (("__init__",), ("attic",), ("cellar",)))
    assert message.endswith("garden stands on no floor")


def test_the_surface_is_for_the_command_line_only(made_up: Path) -> None:
    (made_up / "attic.py").write_text("from house import judge\n")
    floors = (("__init__",), ("cli",), ("attic",), ("cellar", "garden"))
    first = upward(imports(made_up), "house", floors)[0]
    assert first.endswith("house.attic imports house: __init__ stands above attic")
    (made_up / "cli.py").write_text("from house import judge\n")
    assert not any("house.cli" in message for message in upward(imports(made_up), "house", floors))
