"""The call of load_inline, and how its sources become one text.

PyTorch compiles cpp_sources and cuda_sources apart and binds the named functions. Here the CUDA sources come first,
then the C++ ones without declarations of what is defined already. Two extensions of one file stand in namespaces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from evoengineer.kernel.inline.cpp import Bound, Declared, Text, hoisted, without_bindings
from evoengineer.kernel.inline.values import Unknown, Unreadable, Value

POSITIONAL = ("name", "cpp_sources", "cuda_sources", "functions", "extra_cflags", "extra_cuda_cflags")
READ_ARGUMENTS = ("cpp_sources", "cuda_sources", "functions", "extra_cuda_cflags")
_DEFINITION = re.compile(r"-D\s*([A-Za-z]\w*)(?:=(.*))?", re.DOTALL)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:::\w+)*")
_PRELUDE = "#include <torch/extension.h>\n#include <cuda_runtime.h>\n"
_HEADERS = {
    "algorithm": re.compile(r"std::(?:min|max)<"),
    "cmath": re.compile(r"std::\w+\(static_cast<double>|NAN|INF"),
}
_HEADING = "// Made of a Python file: its sources, and a function in the place of ModelNew.forward.\n"


@dataclass(frozen=True)
class Extension:
    """One call of load_inline."""

    cpp_source: str
    cuda_source: str
    functions: tuple[str, ...] | None  # None: the sources bind them themselves
    definitions: tuple[tuple[str, str], ...] = ()

    @cached_property
    def bound(self) -> Mapping[str, Bound]:
        """What Python may call."""
        own = {**without_bindings(self.cuda_source)[1], **without_bindings(self.cpp_source)[1]}
        return own if self.functions is None else {**own, **{name: Bound(name) for name in self.functions}}

    @cached_property
    def source(self) -> str:
        """Both sources as one text, without bindings."""
        cuda, cpp = without_bindings(self.cuda_source)[0], without_bindings(self.cpp_source)[0]
        rest = Text(cpp).without_prototypes(Text(cuda).defined) if cuda.strip() else cpp
        return f"{cuda.strip()}\n\n{rest.strip()}\n"

    @cached_property
    def declared(self) -> Mapping[str, Declared]:
        return Text(self.source).functions

    def function(self, name: str) -> Bound:
        """What is called by that name; raises Unreadable."""
        found = self.bound.get(name)
        if found is None:
            known = ", ".join(self.bound) or "none"
            raise Unreadable(f"the extension has no function {name}; it has: {known}")
        if (
            self.functions is not None
            and _IDENTIFIER.fullmatch(found.code)
            and found.code not in self.declared
        ):
            raise Unreadable(f"no source of the extension defines {name}")
        return found


def read_load_inline(given: Mapping[str, Value]) -> Extension:
    """The extension that a call with these arguments, of READ_ARGUMENTS, makes; raises Unreadable."""
    for value in map(given.get, ("cpp_sources", "cuda_sources", "functions")):
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(each, Unknown):
                raise Unreadable(each.reason, line=each.line, forbidden=each.forbidden)
    functions = given.get("functions")
    if isinstance(functions, str):
        functions = [functions]
    if functions is not None and not (
        isinstance(functions, (list, tuple, dict)) and all(isinstance(each, str) for each in functions)
    ):
        raise Unreadable(
            "load_inline: functions must be a list or dict of names that can be read without running"
        )
    flags = given.get("extra_cuda_cflags") or ()
    words = [each for each in flags if isinstance(each, str)] if isinstance(flags, (list, tuple)) else []
    return Extension(
        _joined("cpp_sources", given.get("cpp_sources", "")),
        _joined("cuda_sources", given.get("cuda_sources", "")),
        None if functions is None else tuple(functions),
        tuple(
            (found[1], found[2] or "1") for word in words if (found := _DEFINITION.fullmatch(word.strip()))
        ),
    )


def _joined(name: str, value: Value) -> str:
    parts = [value] if isinstance(value, str) else value
    if parts is None:
        return ""
    if not isinstance(parts, (list, tuple)) or not all(isinstance(each, str) for each in parts):
        raise Unreadable(f"load_inline: {name} cannot be read without running the file")
    return "\n".join(parts)


def one_text(extensions: Sequence[Extension], wrapper: str, entry: str) -> str:
    """One kernel text: the extensions' sources and the wrapper that calls them, bound as `forward`."""
    more = [f"#include <{header}>\n" for header, names in _HEADERS.items() if names.search(wrapper)]
    parts = [_HEADING, _PRELUDE, *more]
    parts += [f"#define {name} {value}\n" for each in extensions for name, value in each.definitions]
    if len(extensions) == 1:
        parts.append(extensions[0].source)
    else:
        split = [hoisted(each.source) for each in extensions]
        parts += [includes for includes, _ in split]
        parts += [
            f"\nnamespace {namespace(place)} {{\n{body.strip()}\n}}\n"
            for place, (_, body) in enumerate(split)
        ]
    parts.append(f'\n{wrapper}\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ m.def("forward", &{entry}); }}\n')
    return "\n".join(parts)


def namespace(place: int) -> str:
    """Of the extension at that place, when there are several."""
    return f"extension_{place}"
