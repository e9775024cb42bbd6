"""A problem written in Python code instead of a folder: functions, or their texts, become a folder in the cache.

The reference runs in another process, so what the functions use has to go there, too: modules are imported again,
plain values are written out, and functions and classes of the caller's own come along as text. The folder is named
by its content: the same definition is the same problem, and what was judged before is known.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import re
import shutil
import sys
import tempfile
import textwrap
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evoengineer.errors import UsageError
from evoengineer.files import cache_dir
from evoengineer.problem.catalog import load_problem
from evoengineer.problem.model import Case, Distribution, Problem, Tolerance

_PRELUDE = "import torch\n\nfrom evoengineer.problem import Case, Distribution, Tolerance\n"
_PRELUDE_NAMES = frozenset({"torch", "Case", "Distribution", "Tolerance"})


def define_problem(
    name: str,
    *,
    reference: Callable[..., Any] | str,
    make_inputs: Callable[..., Mapping[str, Any]] | str,
    cases: Sequence[Case],
    baseline: str | Path | None = None,
    tolerance: Tolerance | None = None,
    distributions: Sequence[Distribution | str] | None = None,
    title: str = "",
    flops: str = "",
    moved_bytes: str = "",
    fast_math: bool = False,
    half_operators: bool = True,
) -> Problem:
    """A problem from Python functions (or the texts of their definitions) and a baseline kernel's text or file.

    At least three `Case.check(…)` and exactly one `Case.bench(…)`; everything else as in a `problem.py`.
    """
    if not re.fullmatch(r"[A-Za-z]\w*", name):
        raise UsageError(f"a problem's name is a word of letters, digits and _, not {name!r}")
    settings = {
        "tolerance": None if tolerance is None else _tolerance(tolerance),
        "distributions": None if distributions is None else repr([str(each) for each in distributions]),
        "flops": repr(flops) if flops else None,
        "moved_bytes": repr(moved_bytes) if moved_bytes else None,
        "fast_math": "True" if fast_math else None,
        "half_operators": None if half_operators else "False",
    }
    parts = [
        f'r"""{title or name}"""' if '"""' not in title else repr(title),
        _PRELUDE,
        _Carried().definitions(reference=reference, make_inputs=make_inputs),
        f"cases = [{', '.join(map(_case, cases))}]",
        *(f"{setting} = {value}" for setting, value in settings.items() if value is not None),
    ]
    files = {"problem.py": "\n\n".join(parts) + "\n"}
    if baseline is not None:
        is_file = isinstance(baseline, Path)
        files["baseline.cu"] = Path(baseline).read_text(encoding="utf-8") if is_file else str(baseline)
    return load_problem(_keep(name, files))


def _keep(name: str, files: Mapping[str, str]) -> Path:
    """The folder with these files, made at once or not at all."""
    digest = hashlib.sha256("\0".join(part for item in sorted(files.items()) for part in item).encode())
    folder = cache_dir("inline_problems") / digest.hexdigest()[:24] / name
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        partial = Path(tempfile.mkdtemp(dir=folder.parent))
        for file, text in files.items():
            (partial / file).write_text(text, encoding="utf-8")
        try:
            os.rename(partial, folder)
        except OSError:  # another process was first
            shutil.rmtree(partial)
    return folder


def _case(case: Case) -> str:
    if not isinstance(case, Case):
        raise UsageError(f"cases are Case.check(…) and Case.bench(…), not {case!r}")
    return f"Case.{case.kind}({', '.join(f'{name}={size}' for name, size in case.sizes.items())})"


def _tolerance(tolerance: Tolerance) -> str:
    relative, reason = dict(tolerance.relative), tolerance.reason
    return f"Tolerance({relative!r}, times_pytorch={tolerance.times_pytorch!r}, reason={reason!r})"


class _Carried:
    """Definitions and all that they use, as text, each name once and before whoever uses it."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def definitions(self, **functions: Callable[..., Any] | str) -> str:
        """Text that defines each of these names."""
        for name, function in functions.items():
            if not isinstance(function, str):
                self._function(name, function, name)
            elif not re.search(rf"^(def {name}\b|{name}\s*=)", function := textwrap.dedent(function), re.M):
                raise UsageError(f"the text of {name} must define it: def {name}(…): …")
            else:
                self._texts[name] = function.strip()
        return "\n\n".join(self._texts.values())

    def _function(self, name: str, function: Any, user: str) -> None:
        try:
            text = textwrap.dedent(inspect.getsource(function))
            tree = ast.parse(text)
        except (OSError, TypeError, SyntaxError):
            tree = None
        if tree is None or not isinstance(tree.body[0], (ast.FunctionDef, ast.ClassDef)):
            raise UsageError(
                f"{user}: the source of {name} cannot be read: write it with def, or give its text"
            )
        self._texts[name] = ""  # a function may use itself
        for used, value in _outer_values(function, tree).items():
            if used not in self._texts and used not in _PRELUDE_NAMES:
                self._value(used, value, user)
        own = tree.body[0].name
        del self._texts[name]  # to stand behind what it uses
        self._texts[name] = text.strip() + ("" if own == name else f"\n\n\n{name} = {own}")

    def _value(self, name: str, value: Any, user: str) -> None:
        if isinstance(value, types.ModuleType) and _installed(value.__name__):
            self._texts[name] = f"import {value.__name__} as {name}"
        elif inspect.isroutine(value) or inspect.isclass(value):
            if _installed(value.__module__ or ""):
                self._texts[name] = f"from {value.__module__} import {value.__qualname__} as {name}"
            else:
                self._function(name, value, user)
        elif _is_plain(value):
            self._texts[name] = f"{name} = {value!r}"
        else:
            raise UsageError(
                f"{user} uses {name}, a {type(value).__name__}, which cannot be taken to the process that runs it: "
                "make it inside the function"
            )


def _outer_values(function: Any, tree: ast.AST) -> dict[str, Any]:
    """Values of the names that a function or class takes from around it."""
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    code = getattr(function, "__code__", None)
    if code is None:
        around = vars(sys.modules.get(function.__module__, types))
        return {name: around[name] for name in sorted(named & around.keys())}
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    around = {**function.__globals__, **{name: cell.cell_contents for name, cell in cells}}
    return {name: around[name] for name in sorted((named - set(code.co_varnames)) & around.keys())}


def _installed(module: str) -> bool:
    """Whether another process can import it."""
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names or root == __name__.partition(".")[0]:
        return True
    file = getattr(sys.modules.get(root), "__file__", None) or ""
    return bool({"site-packages", "dist-packages"} & set(Path(file).parts))


def _is_plain(value: Any) -> bool:
    if type(value).__module__ == "torch" and repr(value).startswith("torch."):
        return True  # a dtype
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError):
        return False
