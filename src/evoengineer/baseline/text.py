"""The text of a baseline kernel: the parts of the library that a trace needs, and a `forward` that calls them."""

from __future__ import annotations

import keyword
import math
import operator
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from evoengineer.baseline.operations import OPERATIONS
from evoengineer.baseline.operations.pointwise import pointwise
from evoengineer.baseline.operations.views import part_of
from evoengineer.baseline.operations.writing import Unsupported, Writer, is_tensor
from evoengineer.baseline.trace import SizeOf, Trace

_LIBRARY = Path(__file__).parent / "library"

# In the order in which they stand in the text; each with the parts it needs.
_PARTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "walk": (),
        "apply": ("walk",),
        "combine": ("walk",),
        "write": ("walk",),
        "choose": ("combine",),
        "rows": ("walk",),
        "reduce": ("rows",),
        "softmax": ("rows",),
        "moments": ("rows",),
        "normalise": ("moments", "combine", "apply"),
        "batch_norm": ("normalise",),
        "group_norm": ("normalise",),
        "layer_norm": ("normalise",),
        "arg": ("rows",),
        "scan": ("reduce",),
        "matmul": (),
        "space": (),
        "convolution": ("space",),
        "transposed_convolution": ("space",),
        "pool_size": ("space",),
        "max_pool": ("pool_size",),
        "average_pool": ("pool_size",),
        "adaptive_pool": ("pool_size",),
        "nll": (),
        "triangle": ("walk",),
        "diagonal": ("walk",),
        "flip": (),
        "join": ("write",),
        "pad": ("write",),
        "gather": ("walk",),
        "count": (),
    }
)
_SIZES = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.floordiv: "/", operator.mod: "%",
    operator.truediv: "/", operator.pow: "std::pow", math.sqrt: "std::sqrt", torch.sym_sqrt: "std::sqrt",
    torch.sym_float: "",
}  # fmt: skip
_TYPES = {
    torch.bool: "torch::kBool", torch.int64: "torch::kInt64", torch.int32: "torch::kInt32",
    torch.float16: "torch::kFloat16", torch.bfloat16: "torch::kBFloat16", torch.uint8: "torch::kUInt8",
}  # fmt: skip
_PARTS_OF_PAIRS = ("values", "places")
# Names that a value of forward must not have: of C++, and of the library.
_RESERVED = {
    "auto", "bool", "case", "char", "class", "const", "default", "delete", "do", "double", "else", "enum",
    "float", "for", "forward", "if", "int", "long", "namespace", "new", "operator", "private", "public",
    "register", "return", "short", "signed", "static", "struct", "switch", "template", "this", "torch",
    "typename", "union", "unsigned", "using", "void", "while", "at", "c10", "std", "make", "apply", "combine",
    "joined", "reduced", "write", "filled",
}  # fmt: skip


def kernel_text(trace: Trace, title: str) -> str:
    """The whole file. Raises `Unsupported` naming every operation that the library does not have."""
    unknown = sorted({_name(node) for node in _calls(trace) if _writer(_name(node)) is None})
    if unknown:
        raise Unsupported(f"no kernel for {', '.join(unknown)}")
    return _Text(trace, title).whole_text()


def _calls(trace: Trace) -> list[torch.fx.Node]:
    return [
        node
        for node in trace.graph.nodes
        if node.op == "call_function" and node.target not in _SIZES and not _is_size_call(node)
    ]


def _is_size_call(node: torch.fx.Node) -> bool:
    return node.target is operator.getitem or "sym_" in str(node.target)


def _number_type(value: Any) -> str:
    return "double" if isinstance(value, (float, torch.SymFloat)) else "int64_t"


def _name(node: torch.fx.Node) -> str:
    return (
        node.target._schema.name.partition("::")[2] if hasattr(node.target, "_schema") else str(node.target)
    )


def _writer(name: str) -> Writer | None:
    """Also for operations in place, `relu_`: they differ in what the result is called."""
    return OPERATIONS.get(name) or pointwise(name) or (_writer(name[:-1]) if name.endswith("_") else None)


def supported() -> frozenset[str]:
    """Names of the operations that need not be taken apart."""
    from evoengineer.baseline.formulas import BINARY, UNARY

    return frozenset({*OPERATIONS, *UNARY, *BINARY})


def _needed(lines: Sequence[str], result: str) -> list[str]:
    """Without those whose value nobody uses: sizes, copies of running statistics."""
    kept: list[str] = []
    used = result
    for line in reversed(lines):
        name = line.partition(" = ")[0].split()[-1]
        if re.search(rf"\b{re.escape(name)}\b", used):
            kept.append(line)
            used += " " + line.partition(" = ")[2]
    return kept[::-1]


class _Text:
    """The text in the making (`operations.Writing`)."""

    def __init__(self, trace: Trace, title: str) -> None:
        self._trace, self._title = trace, title
        self._used: set[str] = set()
        self._functors: dict[str, str] = {}  # definition → name
        self._names: dict[torch.fx.Node, str] = {}
        self._lines: list[str] = []
        self._arguments = self._argument_names()

    # -- what writers ask for ------------------------------------------------------------------------

    def use(self, fragment: str) -> None:
        if fragment not in self._used:
            self._used.add(fragment)
            for each in _PARTS[fragment]:
                self.use(each)

    def functor(self, name: str, formula: str, arguments: str, values: Mapping[str, Any]) -> str:
        wanted = list(dict.fromkeys(re.findall(r"{(\w+)}", formula)))
        fields, given = [], []
        for each in wanted:
            value = values[each]
            if isinstance(value, (str, torch.fx.Node, SizeOf)):  # known when it runs
                fields.append(each)
                given.append(f"static_cast<float>({value if isinstance(value, str) else self.whole(value)})")
                formula = formula.replace(f"{{{each}}}", each)
            else:
                formula = formula.replace(f"{{{each}}}", self.real(value))
        parameters = ", ".join(f"float {each}" for each in arguments.split(", "))
        body = f"    __device__ float operator()({parameters}) const {{ return {formula}; }}\n"
        definition = "".join(f"    float {each};\n" for each in fields) + body
        known = self._functors.get(definition)
        if known is None:
            wish = "".join(part.capitalize() for part in name.strip("_").split("_"))
            taken = set(self._functors.values()) | {"Add", "Larger", "Smaller", "Times", "Same", "Minus", "Product",
                                                     "Plus", "ToScale"}  # fmt: skip
            known = next(f"{wish}{n or ''}" for n in (0, *range(2, 1000)) if f"{wish}{n or ''}" not in taken)
            self._functors[definition] = known
        return f"{known}{{{', '.join(given)}}}"

    def tensor(self, value: Any) -> str:
        return "torch::Tensor()" if value is None else self._names[value]

    def whole(self, value: Any) -> str:
        if isinstance(value, SizeOf):
            return " * ".join(f"{self._names[value.node]}.size({dim})" for dim in value.dims)
        if isinstance(value, torch.fx.Node):
            return self._names[value]
        if isinstance(value, float) and not value.is_integer():
            raise Unsupported(f"the number {value} where a whole one is needed")
        return str(int(value))

    def dims(self, values: Sequence[Any]) -> str:
        return "{" + ", ".join(self.whole(value) for value in values) + "}"

    def real(self, value: Any) -> str:
        if isinstance(value, (torch.fx.Node, SizeOf)):
            return f"static_cast<float>({self.whole(value)})"
        number = float(value)
        if math.isnan(number):
            return "NAN"
        if abs(number) > 3.4028234e38:
            return "INFINITY" if number > 0 else "-INFINITY"
        return f"{number!r}f" if number >= 0 else f"({number!r}f)"

    def anyone(self) -> str:
        return next(name for name, kind in self._arguments if kind == "tensor")

    # -- the text --------------------------------------------------------------------------------------

    def whole_text(self) -> str:
        result = self._body()
        parts = [name for name in _PARTS if name in self._used]
        library = "\n".join(
            (_LIBRARY / f"{name}.cu").read_text(encoding="utf-8") for name in ("common", *parts)
        )
        functors = "\n".join(
            f"struct {name} {{\n{definition}}};\n" for definition, name in self._functors.items()
        )
        kinds = {"tensor": "torch::Tensor", "float": "double", "int": "int64_t", "bool": "bool"}
        parameters = ", ".join(f"{kinds[kind]} {name}" for name, kind in self._arguments)
        count = result.count(",") + 1
        returned = "torch::Tensor" if count == 1 else "std::vector<torch::Tensor>"
        body = "\n".join(f"    {line}" for line in _needed(self._lines, result))
        return (
            f"// {self._title}\n"
            "// A plain baseline: a kernel for each operation of the reference. By `evoengineer problems adopt`.\n"
            f"{library}\n{functors}\n"
            f"{returned} forward({parameters}) {{\n{body}\n"
            f"    return {result if count == 1 else '{' + result + '}'};\n}}\n\n"
            'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }\n'
        )

    def _argument_names(self) -> list[tuple[str, str]]:
        return [
            (f"{name}_" if name in _RESERVED or keyword.iskeyword(name) else name, kind)
            for name, kind in self._trace.arguments
        ]

    def _body(self) -> str:
        """Fills the lines; gives the results."""
        followed = iter([(name, kind) for name, kind in self._arguments if kind in ("tensor", "float")])
        taken = {name for name, _ in self._arguments} | _RESERVED
        for node in self._trace.graph.nodes:
            if node.op == "placeholder":
                name, kind = next(followed)
                self._names[node] = name
                if kind == "float" and node.users:
                    self._names[node] = f"{name}_tensor"
                    self.use("write")
                    self._lines.append(f"auto {name}_tensor = filled({{}}, {name}, {self.anyone()});")
            elif node.op == "output":
                results = node.args[0] if isinstance(node.args[0], (list, tuple)) else [node.args[0]]
                return ", ".join(f"{self._names[each]}.contiguous()" for each in results)
            else:
                name = node.name if node.name not in taken else f"{node.name}_"
                self._write(node, name)
        raise Unsupported("a reference without results")

    def _write(self, node: torch.fx.Node, name: str) -> None:
        if node.op == "get_attr":
            self.use("write")
            self._names[node] = name.strip("_")
            number = self.real(node.meta["constant"])
            self._lines.append(f"auto {self._names[node]} = filled({{}}, {number}, {self.anyone()});")
            return
        if node.target is operator.getitem:
            self._names[node] = self._part(node)
            return
        value = node.meta.get("val")
        self._names[node] = name
        if node.target in _SIZES:
            self._lines.append(f"const {_number_type(value)} {name} = {self._arithmetic(node)};")
        elif "sym_size" in str(node.target):
            self._lines.append(f"const int64_t {name} = {self.tensor(node.args[0])}.size({node.args[1]});")
        elif "sym_numel" in str(node.target):
            self._lines.append(f"const int64_t {name} = {self.tensor(node.args[0])}.numel();")
        elif _is_size_call(node):
            raise Unsupported(f"{node.target} of sizes")
        else:
            text = self._call(node)
            wanted = _TYPES.get(value.dtype) if isinstance(value, torch.Tensor) else None
            if isinstance(value, torch.Tensor) and value.dtype not in (torch.float32, *_TYPES):
                raise Unsupported(f"results of type {value.dtype}")
            if wanted is not None or _name(node) == "_to_copy":
                text += f".to({wanted or 'torch::kFloat32'})"
            self._lines.append(f"auto {name} = {text};")
            if _name(node).endswith("_"):
                written: Any = node.args[0]
                self._names[written] = name  # whoever uses what was written to means the result

    def _arithmetic(self, node: torch.fx.Node) -> str:
        """Of sizes, which may become fractions and roots."""
        given = [self.number(each) for each in node.args]
        sign = _SIZES[node.target]
        if sign.startswith("std::"):
            return f"{sign}({', '.join(given)})"
        if node.target is operator.truediv:
            return f"static_cast<double>({given[0]}) / {given[1]}"
        return f"{given[0]} {sign} {given[1]}" if sign else f"static_cast<double>({given[0]})"

    def number(self, value: Any) -> str:
        """A number of any kind, exactly."""
        if isinstance(value, (torch.fx.Node, SizeOf)):
            return self.whole(value)
        return repr(value) if isinstance(value, float) else str(int(value))

    def _call(self, node: torch.fx.Node) -> str:
        writer = _writer(_name(node))
        assert writer is not None
        return writer(self, self._given(node))

    def _given(self, node: torch.fx.Node) -> dict[str, Any]:
        """Arguments by the names of the operation's schema, with defaults; numbers that are sizes, as such."""

        def followed(value: Any, where: tuple[int, ...]) -> Any:
            if isinstance(value, (list, tuple)):
                return [followed(each, (*where, place)) for place, each in enumerate(value)]
            return self._trace.sizes.get((node, where), value)

        operation: Any = node.target
        schema = operation._schema.arguments
        given = {each.name: each.default_value for each in schema if each.has_default_value()}
        for place, (each, value) in enumerate(zip(schema, node.args, strict=False)):
            given[each.name] = followed(value, (place,))
        return {**given, **node.kwargs}

    def _part(self, node: torch.fx.Node) -> str:
        """Of an operation with several results, the one that is used."""
        source: Any = node.args[0]
        number: Any = node.args[1]
        whole = self._names[source]
        part = part_of(self, _name(source), self._given(source), number)
        if part is not None:
            return part
        if _name(source) in ("max", "min"):
            return f"{whole}.{_PARTS_OF_PAIRS[number]}"
        if number != 0 or not is_tensor(node):
            raise Unsupported(f"result {number} of {_name(source)}")
        return whole
