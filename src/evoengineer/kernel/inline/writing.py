"""The way back: a kernel's text as a Python file with `ModelNew` and `load_inline`, as the field's benchmarks take it.

A KernelBench file's Model comes along, so that ModelNew has its parameters, in its order; the kernel gets them after
the inputs, as it did when it was judged. `in_one_file` reads what is written here.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from evoengineer.kernel.inline.syntax import parse_python
from evoengineer.kernel.text import HALF_OPERATORS, lambda_flags, uses_half_operators

_CALL = """
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

KERNEL = {source}

extension = load_inline(
    name="{name}",
    cpp_sources="",
    cuda_sources=KERNEL,
    extra_cuda_cflags={flags},
)
"""
_OF_MODEL = '''

class ModelNew(Model):
    """{title}"""

    def forward(self, *inputs):
        return extension.forward(*inputs, *self.state_dict().values())
'''
_ALONE = '''

class ModelNew(nn.Module):
    """{title}"""

    def forward(self, {arguments}):
        return extension.forward({arguments})
'''


def model_file(source: str, name: str, title: str, arguments: Sequence[str], reference: str) -> str:
    """The file. `reference` is a KernelBench file's text, or anything else for a problem of another kind."""
    flags = ["-O3", *lambda_flags(source), *(HALF_OPERATORS if uses_half_operators(source) else ())]
    call = _CALL.format(source=_spelled(source), name=name, flags=flags)
    title = title.replace("\\", "/").replace('"', "'")
    if _has_model(reference):
        return f"{reference.rstrip()}\n\n{call}{_OF_MODEL.format(title=title)}"
    return f"{call.lstrip()}{_ALONE.format(title=title, arguments=', '.join(arguments))}"


def _spelled(source: str) -> str:
    """The text as a raw string where that can hold it."""
    quotes = next((each for each in ('"""', "'''") if each not in source), None)
    if quotes is None or source.endswith(("\\", '"', "'")):
        return repr(source)
    return f"r{quotes}\n{source}{quotes}"


def _has_model(reference: str) -> bool:
    try:
        body = parse_python(reference).body
    except SyntaxError:
        return False
    return any(isinstance(node, ast.ClassDef) and node.name == "Model" for node in body)
