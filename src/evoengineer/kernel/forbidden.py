"""The rule of the contract that a compiler cannot state: a candidate computes by itself.

Library headers and names are found in the text before anything is compiled; PyTorch's operations are not
declared by the lean headers, so that the compiler finds them, and here its message becomes the rule's.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from evoengineer.kernel.diagnostics import Diagnostic
from evoengineer.kernel.text import normalised

HINT = "library operations are not available: write it as a CUDA kernel"

# Functions and methods of PyTorch that compute; a trailing underscore is stripped before the look-up.
_OPERATIONS = frozenset((Path(__file__).parent / "operations.txt").read_text(encoding="utf-8").split())
_HEADERS = re.compile(
    r"#\s*include\s*[<\"](?P<name>[^>\"]*(?:cublas|cudnn|cufft|cusolver|cusparse|curand\.h|nvblas|nccl|npp"
    r"|cutlass|cute/|cudss|cutensor|torch/nn|torch/csrc/api/include/torch/nn|ATen/cuda/CUDABlas|dlfcn\.h)[^>\"]*)[>\"]"
)
_RESERVED = re.compile(
    r"\bevo::|\bevo_\w*open\b|\bEvo(?:Host|Module|Value|Storage|Open)\b|#\s*include\s*[<\"]evo/"
)
_FOREIGN = re.compile(r"\s*#\s*(?:include|embed)\s*[<\"]((?:/|\.\./|[^>\"]*/\.\./)[^>\"]*)[>\"]")
_NO_MEMBER = re.compile(r'(?:namespace|class) "(?P<scope>[\w:]+)" has no member "(?P<name>\w+)"')
_NO_OPERATOR = re.compile(r'no operator "(?P<name>[^"]+)" matches these operands')
_LIBRARY_NAME = re.compile(r'identifier "(?P<name>cu(?:blas|dnn|sparse|solver|fft)[A-Z]\w+)" is undefined')
_GATHERING = 'conversion from "at::Tensor" to "const at::indexing::TensorIndex"'
_QUALIFIED = re.compile(r"\b(?:torch|at|c10)(?:::\w+)+")


def is_operation(name: str) -> bool:
    """Whether PyTorch has a function or method of that name that computes."""
    return name in _OPERATIONS


def forbidden_in_text(source: str) -> tuple[Diagnostic, ...]:
    """Headers of libraries and names that belong to the harness."""
    if not (_HEADERS.search(source) or _RESERVED.search(source)):
        return ()
    found = []
    for number, line in enumerate(source.split("\n"), 1):
        code = normalised(line)
        header, reserved = _HEADERS.search(code), _RESERVED.search(code)
        if header:
            found.append(_refusal(number, source, f"{header['name']} is not available: {HINT}"))
        elif reserved:
            found.append(_refusal(number, source, f"{reserved[0].strip()} is reserved for the harness"))
    return tuple(found)


def foreign_includes(source: str) -> tuple[Diagnostic, ...]:
    """Includes by path: a candidate is one file. The sandbox stops what hides behind a macro."""
    return tuple(
        _refusal(
            number,
            source,
            f"{found[1]}: a kernel is one file and includes headers of the toolkit by name only",
        )
        for number, line in enumerate(source.split("\n"), 1)
        if (found := _FOREIGN.match(line))
    )


def forbidden_in(diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Of a compiler's errors, those that name an operation of PyTorch, with the hint."""
    found = []
    for diagnostic in diagnostics:
        name = _operation(diagnostic)
        if name:
            message = f"{name}: {HINT}"
            found.append(
                Diagnostic(
                    diagnostic.file,
                    diagnostic.line,
                    diagnostic.column,
                    "error",
                    message,
                    diagnostic.source_line,
                )
            )
    return tuple(found)


def _operation(diagnostic: Diagnostic) -> str:
    member = _NO_MEMBER.search(diagnostic.message)
    if member and member["scope"].split("::")[0] in ("torch", "at", "c10"):
        name = member["name"].rstrip("_").removesuffix("_out")
        return f"{member['scope']}::{member['name']}" if name in _OPERATIONS else ""
    library = _LIBRARY_NAME.search(diagnostic.message)
    if library:
        return library["name"]
    if _GATHERING in diagnostic.message:
        return "Tensor::index with a tensor"
    operator = _NO_OPERATOR.search(diagnostic.message)
    if operator and "torch::Tensor" in diagnostic.message.replace("at::Tensor", "torch::Tensor"):
        return f"operator {operator['name']} on tensors"
    if "must be a class or namespace name" in diagnostic.message:
        for qualified in _QUALIFIED.finditer(diagnostic.source_line):
            names = qualified[0].split("::")
            found = next((i for i, name in enumerate(names) if name in _OPERATIONS), 0)
            if found:
                return "::".join(names[: found + 1])
    return ""


def _refusal(line: int, source: str, message: str) -> Diagnostic:
    return Diagnostic("kernel.cu", line, 0, "error", message, source.split("\n")[line - 1].strip())
