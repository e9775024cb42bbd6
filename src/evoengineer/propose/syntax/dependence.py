"""Which dimensions of the outputs each variable of a kernel's body depends on, through data and through control.

What depends on no dimension is the same for all outputs; what depends on some can be shared by the outputs that
differ in the others. This is the knowledge behind coarsening and staging.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field

from tree_sitter import Node

from evoengineer.propose.syntax.tree import (
    NotUnderstood,
    field,
    identifiers,
    named,
    operator,
    render,
    stripped,
    text,
    walk,
)

Dims = frozenset[str]
NONE: Dims = frozenset()

_PURE = frozenset({
    "min", "max", "fmin", "fmax", "fminf", "fmaxf", "fabs", "fabsf", "abs", "sqrt", "sqrtf", "rsqrt",
    "rsqrtf", "exp", "expf", "exp2f", "log", "logf", "log2f", "log1pf", "expm1f", "pow", "powf", "sin",
    "sinf", "cos", "cosf", "tan", "tanf", "tanh", "tanhf", "erf", "erff", "floor", "floorf", "ceil",
    "ceilf", "round", "roundf", "rintf", "fma", "fmaf", "__fmaf_rn", "__ldg", "__expf", "__logf", "__powf",
    "__sinf", "__cosf", "__fdividef", "__float2half", "__half2float", "__float2bfloat16",
    "__bfloat162float", "__hadd", "__hmul", "__hfma", "lrintf", "copysignf", "isnan", "isinf", "__dp4a",
    "float", "int", "double", "int64_t", "long", "unsigned", "__int2float_rn", "__float2int_rn", "half",
    "__half", "make_float2", "make_float4",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Group:
    """`dim / size`: the same for a whole tile of outputs, where the tile's side divides the size."""

    dim: str
    size: str


@dataclass
class Dependence:
    """The result: dimensions by variable, and pointers' roots (the parameter that they walk in)."""

    dims: dict[str, Dims] = dataclass_field(default_factory=dict)
    stored: set[str] = dataclass_field(default_factory=set)  # variables that stores go through
    groups: dict[int, Group] = dataclass_field(default_factory=dict)  # by node: these depend on no dimension
    same: Mapping[int, str] = dataclass_field(default_factory=dict)  # by node: these are a dimension

    def of(self, *nodes: Node) -> Dims:
        return self.of_names(name for node in nodes for name in self._names(node))

    def _names(self, node: Node) -> Iterator[str]:
        if node.id in self.groups:
            return
        if node.id in self.same:
            yield self.same[node.id]
            return
        if node.type == "identifier":
            yield text(node)
        for child in node.children:
            yield from self._names(child)

    def of_names(self, names: Iterable[str]) -> Dims:
        return NONE.union(*(self.dims.get(name, NONE) for name in names))


def dependence(
    body: Iterable[Node],
    indices: Mapping[str, Dims],
    functions: frozenset[str],
    constants: frozenset[str] = frozenset(),
    same: Mapping[int, str] | None = None,
) -> Dependence:
    """Find the smallest solution; `indices` are the variables that name outputs, `functions` the pure ones,
    `constants` names that are the same for the whole kernel, `same` expressions that are one of the indices."""
    statements = list(body)
    sizes = _sizes(statements, constants)
    groups = {
        node.id: Group(text(stripped(field(node, "left"))), render(field(node, "right"), sizes))
        for statement in statements
        for node in walk(statement)
        if node.type == "binary_expression"
        and operator(node) == "/"
        and indices.get(left := text(stripped(field(node, "left"))))
        == frozenset((left,))  # no index over several dimensions
        and identifiers(field(node, "right")) <= constants | set(sizes)
    }
    result = Dependence(dict(indices), groups=groups, same=same or {})
    _require_understood(statements, functions)
    while True:
        before = dict(result.dims)
        _sequence(statements, result, NONE)
        if result.dims == before:
            return result


def _sizes(statements: list[Node], constants: frozenset[str]) -> dict[str, str]:
    """What the names of a body that follow from constants are in terms of these."""
    changed = {text(target) for each in statements for node in walk(each) if (target := target_of(node))}
    found: dict[str, str] = {}
    for statement in statements:
        for each in named(statement) if statement.type == "declaration" else ():
            if each.type != "init_declarator" or field(each, "declarator").type != "identifier":
                continue
            name, value = text(field(each, "declarator")), field(each, "value")
            mentioned = identifiers(value)
            if mentioned and mentioned <= constants | set(found) and name not in changed:
                found[name] = f"({render(value, found)})"
    return found


def ends_iteration(statement: Node) -> bool:
    """`if (…) continue;`"""
    if statement.type != "if_statement" or statement.child_by_field_name("alternative") is not None:
        return False
    inner = field(statement, "consequence")
    if inner.type == "compound_statement":
        children = named(inner)
        return len(children) == 1 and children[0].type == "continue_statement"
    return inner.type == "continue_statement"


def statements_of(node: Node) -> list[Node]:
    """The statements of a block, or the one statement that stands for it."""
    if node.type == "else_clause":
        node = named(node)[0]
    return named(node) if node.type == "compound_statement" else [node]


def condition_of(node: Node) -> Node:
    condition = field(node, "condition")
    return named(condition)[0] if condition.type == "condition_clause" else condition


def target_of(node: Node) -> Node | None:
    """What an assignment or an increment changes."""
    if node.type == "assignment_expression":
        return field(node, "left")
    if node.type == "update_expression":
        return field(node, "argument")
    return None


def is_load(node: Node) -> bool:
    return node.type == "subscript_expression" or (
        node.type == "pointer_expression" and operator(node) == "*"
    )


def is_target(node: Node) -> bool:
    """Whether a place in memory is written, not read."""
    parent = node.parent
    return parent is not None and parent.type == "assignment_expression" and field(parent, "left") == node


def has_load(node: Node) -> bool:
    return any(is_load(each) for each in walk(node))


def _sequence(statements: list[Node], result: Dependence, control: Dims) -> None:
    for statement in statements:
        if statement.type == "declaration":
            for each in named(statement):
                if each.type == "init_declarator":
                    value = field(each, "value")
                    extra = control if has_load(value) else NONE
                    _add(result, _declared(each), result.of(value) | extra)
        elif statement.type == "expression_statement":
            for each in walk(statement):
                _assignment(each, result, control)
        elif statement.type == "if_statement":
            inside = control | result.of(condition_of(statement))
            _sequence(statements_of(field(statement, "consequence")), result, inside)
            other = statement.child_by_field_name("alternative")
            if other is not None:
                _sequence(statements_of(other), result, inside)
            if ends_iteration(statement):
                control = inside
        elif statement.type == "for_statement":
            header = [each for each in named(statement) if each != field(statement, "body")]
            # Outputs walk together, also where their bounds differ: the counter depends on no dimension.
            inside = control | result.of(*header)
            _sequence(statements_of(field(statement, "body")), result, inside)
        elif statement.type == "compound_statement":
            _sequence(named(statement), result, control)


def _declared(node: Node) -> str:
    return text(next(each for each in walk(field(node, "declarator")) if each.type == "identifier"))


def _add(result: Dependence, name: str, dims: Dims) -> None:
    result.dims[name] = result.dims.get(name, NONE) | dims


def _assignment(node: Node, result: Dependence, control: Dims) -> None:
    target = target_of(node)
    if target is None:
        return
    if target.type == "identifier":
        source = [field(node, "right")] if node.type == "assignment_expression" else []
        _add(result, text(target), result.of(*source) | control)
    else:
        result.stored |= {text(each) for each in walk(_base(target)) if each.type == "identifier"}


def _base(node: Node) -> Node:
    """The pointer of a place in memory."""
    if node.type in ("subscript_expression", "pointer_expression"):
        return field(node, "argument")
    raise NotUnderstood(f"an assignment to {text(node)}")


_STATEMENTS = {
    "declaration",
    "expression_statement",
    "if_statement",
    "for_statement",
    "compound_statement",
    "continue_statement",
    "preproc_call",
    "else_clause",
}


def _require_understood(statements: list[Node], functions: frozenset[str]) -> None:
    for statement in statements:
        for node in walk(statement):
            if node.type.endswith("_statement") and node.type not in _STATEMENTS:
                raise NotUnderstood(f"a {node.type.replace('_', ' ')} in the computation")
            if node.type == "call_expression":
                callee = field(node, "function")
                name = text(field(callee, "name")) if callee.type == "template_function" else text(callee)
                if (
                    name not in _PURE
                    and name not in functions
                    and name not in ("static_cast", "reinterpret_cast")
                ):
                    raise NotUnderstood(f"a call of {name}")
            if node.type in (
                "array_declarator",
                "reference_declarator",
                "new_expression",
                "comma_expression",
            ):
                raise NotUnderstood(f"a {node.type.replace('_', ' ')} in the computation")
