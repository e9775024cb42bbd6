"""Forms: the same initialisation, sum, extreme or loop in the one form that the model reads.

Each rule looks at a node and says what to write instead; see `plain.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from evoengineer.propose.syntax.dependence import target_of
from evoengineer.propose.syntax.tree import (
    Edit,
    field,
    identifiers,
    named,
    operator,
    replacing,
    stripped,
    terms,
    text,
    walk,
)


def comparisons(node: Node) -> Iterator[Edit]:
    """`!(a < b && c >= 0)` → `!((a < b) && (c >= 0))`: the grammar takes what lies between `<` and `>` for the argument
    of a template."""
    if node.type != "parenthesized_expression" or not any(
        each.type == "template_function" and re.search(r"&&|\|\|", text(each)) for each in walk(node)
    ):
        return
    parts, depth, start, written = [], 0, 1, text(node)
    for place, sign in enumerate(written):
        depth += (sign == "(") - (sign == ")")
        if depth == 1 and written[place : place + 2] in ("&&", "||"):
            parts += [f"({written[start:place].strip()})", written[place : place + 2]]
            start = place + 2
    if parts:
        yield replacing(node, f"({' '.join(parts)} ({written[start:-1].strip()}))")


def added(node: Node) -> Iterator[Edit]:
    """`s = s + e` → `s += e`."""
    if node.type != "assignment_expression" or operator(node) != "=":
        return
    target, value = field(node, "left"), field(node, "right")
    if target.type != "identifier" or value.type != "binary_expression" or operator(value) != "+":
        return
    if text(field(value, "left")) == text(target) and text(target) not in identifiers(field(value, "right")):
        yield replacing(node, f"{text(target)} += {text(field(value, 'right'))}")


def initialised(node: Node) -> Iterator[Edit]:
    """`float s{0}` and `float s(0)` → `float s = 0`."""
    if node.type != "init_declarator" or node.parent is None or node.parent.type != "declaration":
        return
    value, declarator = field(node, "value"), field(node, "declarator")
    if value.type not in ("initializer_list", "argument_list") or declarator.type != "identifier":
        return
    if field(node.parent, "type").type not in ("primitive_type", "sized_type_specifier"):
        return
    inside = named(value)
    if len(inside) <= 1:
        yield replacing(node, f"{text(declarator)} = {text(inside[0]) if inside else '0'}")


def one_each(node: Node) -> Iterator[Edit]:
    """`int row = blockIdx.x, thread = threadIdx.x;` → `int row = blockIdx.x; int thread = threadIdx.x;`"""
    if node.type != "declaration" or node.parent is None or node.parent.type != "compound_statement":
        return
    declared = [each for each in named(node) if each.type == "init_declarator"]
    if len(declared) < 2 or any(field(each, "declarator").type != "identifier" for each in declared):
        return
    kind = field(node, "type")
    others = [
        each
        for each in named(node)
        if each not in declared and each != kind and each.type != "type_qualifier"
    ]
    if others or not any("threadIdx" in text(each) for each in declared):
        return
    head = (node.text or b"")[: declared[0].start_byte - node.start_byte].decode()
    yield replacing(node, "\n    ".join(f"{head}{text(each)};" for each in declared))


def extremes(node: Node) -> Iterator[Edit]:
    """`if (x > m) m = x;` and `m = x > m ? x : m` → `m = fmaxf(m, x)`, which has the same idea of NaN, for floats."""
    if node.type == "if_statement" and node.child_by_field_name("alternative") is None:
        inner = field(node, "consequence")
        statements = named(inner) if inner.type == "compound_statement" else [inner]
        if len(statements) != 1 or statements[0].type != "expression_statement":
            return
        change = named(statements[0])[0] if named(statements[0]) else None
        condition = stripped(named(field(node, "condition"))[0])
        if change is None or change.type != "assignment_expression" or operator(change) != "=":
            return
        target, value = text(field(change, "left")), text(field(change, "right"))
        written = _extreme(condition, target, value, node)
        if written:
            yield replacing(node, f"{target} = {written};")
    elif node.type == "assignment_expression" and operator(node) == "=":
        choice, target = stripped(field(node, "right")), text(field(node, "left"))
        if choice.type != "conditional_expression":
            return
        values = [text(stripped(field(choice, name))) for name in ("consequence", "alternative")]
        condition = stripped(field(choice, "condition"))
        for kept, value in (values[::-1], values):
            if kept == target and value != target:
                written = _extreme(condition, target, value, node, turned=values[0] == target)
                if written:
                    yield replacing(field(node, "right"), written)


def _extreme(condition: Node, target: str, value: str, place: Node, *, turned: bool = False) -> str:
    """The function that keeps the value where the condition holds (`turned`: the target)."""
    if (
        condition.type != "binary_expression"
        or not target.isidentifier()
        or _type_of(target, place) != "float"
    ):
        return ""
    sides = text(stripped(field(condition, "left"))), text(stripped(field(condition, "right")))
    sign = operator(condition)[:1]
    if sign not in "<>" or "++" in value or "--" in value:
        return ""
    if sides == (target, value):
        sign = {"<": ">", ">": "<"}[sign]
    elif sides != (value, target):
        return ""
    return f"{'fmaxf' if (sign == '>') != turned else 'fminf'}({target}, {value})"


def _type_of(name: str, place: Node) -> str:
    """The type of a local variable."""
    scope: Node | None = place
    while scope is not None and scope.type != "function_definition":
        scope = scope.parent
    for node in walk(scope) if scope is not None else ():
        if node.type == "init_declarator" and text(field(node, "declarator")) == name:
            declaration = node.parent
            return text(field(declaration, "type")) if declaration is not None else ""
    return ""


def loops(node: Node) -> Iterator[Edit]:
    """`while (t < n) { …; ++t; }` → `for (; t < n; ++t) { … }`."""
    if node.type != "while_statement":
        return
    body = field(node, "body")
    statements = named(body) if body.type == "compound_statement" else []
    if not statements or statements[-1].type != "expression_statement" or not named(statements[-1]):
        return
    step = named(statements[-1])[0]
    target, test = target_of(step), stripped(named(field(node, "condition"))[0])
    if target is None or test.type != "binary_expression" or text(field(test, "left")) != text(target):
        return
    if any(each.type == "continue_statement" for each in walk(body)):
        return
    yield Edit(node.start_byte, body.start_byte, f"for (; {text(test)}; {text(step)}) ")
    yield replacing(statements[-1], "")


def unit_steps(node: Node) -> Iterator[Edit]:
    """`k += 1` and `k = k + 1` → `++k`, `n > k` → `k < n`, `auto k = 0` → `int k = 0` in the head of a loop."""
    if node.type != "for_statement":
        return
    update, test = node.child_by_field_name("update"), node.child_by_field_name("condition")
    start = node.child_by_field_name("initializer")
    if update is not None and update.type == "assignment_expression":
        name, right = text(field(update, "left")), "".join(text(field(update, "right")).split())
        steps = {"+=": ("1", "1u"), "=": (f"{name}+1", f"1+{name}")}.get(operator(update), ())
        if right in steps:
            yield replacing(update, f"++{name}")
    if test is not None and test.type == "binary_expression" and operator(test) in (">", ">="):
        declared = (
            [text(field(each, "declarator")) for each in named(start) if each.type == "init_declarator"]
            if start is not None
            else []
        )
        if text(field(test, "right")) in declared:
            sign = {">": "<", ">=": "<="}[operator(test)]
            yield replacing(test, f"{text(field(test, 'right'))} {sign} {text(field(test, 'left'))}")
    if start is not None and start.type == "declaration" and text(field(start, "type")) == "auto":
        values = [field(each, "value") for each in named(start) if each.type == "init_declarator"]
        if len(values) == 1 and values[0].type == "number_literal" and text(values[0]).isdigit():
            yield replacing(field(start, "type"), "int")


def own_counters(node: Node) -> Iterator[Edit]:
    """`int k; for (k = 0; …)` and `int k = 0; for (; …)` → `for (int k = 0; …)`, where nobody reads `k` elsewhere."""
    if node.type != "for_statement" or node.parent is None or node.parent.type != "compound_statement":
        return
    start, test = node.child_by_field_name("initializer"), node.child_by_field_name("condition")
    if (
        test is None
        or test.type != "binary_expression"
        or (start is not None and start.type == "declaration")
    ):
        return
    name = text(field(test, "left"))
    function: Node = node
    while function.parent is not None and function.type != "function_definition":
        function = function.parent
    inside = {each.id for each in walk(node)}
    declaration = None
    for each in walk(field(function, "body")):
        if each.type != "identifier" or text(each) != name or each.id in inside:
            continue
        holder = each.parent if each.parent is not None and each.parent.type == "init_declarator" else each
        if declaration is not None or holder.parent is None or holder.parent.type != "declaration":
            return
        declaration = holder.parent
    if (
        declaration is None
        or len([each for each in named(declaration) if each.type != "type_qualifier"]) != 2
    ):
        return
    holder = named(declaration)[-1]
    if start is not None:
        if start.type != "assignment_expression" or text(field(start, "left")) != name:
            return
        first, begin, end = text(field(start, "right")), start.start_byte, start.end_byte
    elif holder.type == "init_declarator" and _is_constant(field(holder, "value")):
        first = text(field(holder, "value"))
        begin = end = next(each for each in node.children if each.type == "(").end_byte
    else:
        return
    kind = text(field(declaration, "type"))
    yield Edit(begin, end, f"{kind} {name} = {first}")
    yield replacing(declaration, "")


def _is_constant(value: Node) -> bool:
    """A number, a thread's place in its block, or the block's size: the same wherever it is written."""
    value = stripped(value)
    if value.type == "binary_expression":
        return all(_is_constant(field(value, side)) for side in ("left", "right"))
    return value.type == "number_literal" or bool(re.fullmatch(r"(?:threadIdx|blockDim)\.[xyz]", text(value)))


def skipping(node: Node) -> Iterator[Edit]:
    """`for (…) { …; if (inside) sum += …; }` → `for (…) { …; if (!(inside)) continue; sum += …; }` in innermost loops:
    one form for what some iterations leave out."""
    if node.type != "if_statement" or node.child_by_field_name("alternative") is not None:
        return
    block = node.parent
    loop = block.parent if block is not None and block.type == "compound_statement" else None
    if loop is None or block is None or loop.type != "for_statement" or named(block)[-1] != node:
        return
    if field(loop, "update").type != "update_expression":  # threads that share a row
        return
    inner = field(node, "consequence")
    statements = named(inner) if inner.type == "compound_statement" else [inner]
    kinds = {each.type for each in statements}
    if not kinds <= {"declaration", "expression_statement"} or "expression_statement" not in kinds:
        return
    condition = text(stripped(named(field(node, "condition"))[0]))
    yield replacing(node, f"if (!({condition})) continue;\n" + "\n".join(text(each) for each in statements))


def remainders(node: Node) -> Iterator[Edit]:
    """`i = k / m; j = k - i * m` → `j = k % m`."""
    if node.type != "init_declarator" or field(node, "declarator").type != "identifier":
        return
    value = stripped(field(node, "value"))
    if value.type != "binary_expression" or operator(value) != "-":
        return
    whole, factors = stripped(field(value, "left")), terms(field(value, "right"), "*")
    if whole.type != "identifier" or len(factors) != 2:
        return
    for quotient, divisor in (factors, factors[::-1]):
        found = _value_of(quotient, whole, node)
        if found is None or found.type != "binary_expression" or operator(found) != "/":
            continue
        parts = [text(stripped(field(found, side))) for side in ("left", "right")]
        if parts == [text(whole), text(divisor)] and divisor.type in ("identifier", "number_literal"):
            yield replacing(field(node, "value"), f"{text(whole)} % {text(divisor)}")
            return


def _value_of(name: Node, whole: Node, place: Node) -> Node | None:
    """What a local variable that nobody changes was declared as, before this place and where `whole` still is what it
    was."""
    scope = place
    while scope.parent is not None and scope.type != "function_definition":
        scope = scope.parent
    declared = None
    for node in walk(scope):
        target = target_of(node)
        if target is not None and text(target) == text(name):
            return None
        if target is not None and text(target) == text(whole) and node.end_byte <= place.start_byte:
            declared = None
        if (
            node.type == "init_declarator"
            and text(field(node, "declarator")) == text(name)
            and node.end_byte <= place.start_byte
        ):
            declared = stripped(field(node, "value"))
    return declared


_UPPER = {"&&": ("<", ">"), "||": (">=", "<=")}


def bounds_first(node: Node) -> Iterator[Edit]:
    """`if (i >= 1 && i < n) { … }` → `if (i < n) { if (i >= 1) { … } }`, and the same where the others return: a
    bound of the outputs by itself, and a test that is left to the computation."""
    block = node.parent
    if (
        node.type != "if_statement"
        or node.child_by_field_name("alternative") is not None
        or block is None
        or block.type != "compound_statement"
        or block.parent is None
        or block.parent.type != "function_definition"
    ):
        return
    condition, inner = stripped(named(field(node, "condition"))[0]), field(node, "consequence")
    leaves = text(inner).replace(" ", "").replace("\n", "") in ("return;", "{return;}")
    sign = "||" if leaves else "&&"
    if not leaves and named(block)[-1] != node:
        return
    bounds: list[Node] = []
    others: list[Node] = []
    for term in terms(condition, sign):
        (bounds if _is_upper_bound(term, sign) else others).append(term)
    if not bounds or not others or any(not _is_lower_bound(each, sign) for each in others):
        return
    first, rest = (f" {sign} ".join(text(each) for each in part) for part in (bounds, others))
    if not leaves:
        yield replacing(node, f"if ({first}) {{ if ({rest}) {text(inner)} }}")
        return
    yield replacing(node, f"if ({first}) return;\n    if (!({rest})) {{")
    yield Edit(block.end_byte - 1, block.end_byte - 1, "}\n")


def _is_upper_bound(term: Node, sign: str) -> bool:
    """`i < n` by itself, with a name on its smaller side."""
    if term.type != "binary_expression" or operator(term) not in _UPPER[sign]:
        return False
    smaller, larger = field(term, "left"), field(term, "right")
    if operator(term) == _UPPER[sign][1]:
        smaller, larger = larger, smaller
    return stripped(smaller).type == "identifier" and stripped(larger).type != "number_literal"


def _is_lower_bound(term: Node, sign: str) -> bool:
    """`i > 0`, `i >= 1` by itself, for `||` the opposite."""
    if term.type != "binary_expression" or operator(term) not in ("<", "<=", ">", ">="):
        return False
    sides = {stripped(field(term, side)).type for side in ("left", "right")}
    return sides == {"identifier", "number_literal"}


def once_assigned(node: Node) -> Iterator[Edit]:
    """`int t = i / w; x = t % h; t /= h; y = t;` → `…; int t_then = t / (h); y = t_then;` for whole numbers that change
    in straight code only: every name has one value."""
    change = named(node)[0] if node.type == "expression_statement" and named(node) else node
    block = node.parent
    if change.type != "assignment_expression" or block is None or block.type != "compound_statement":
        return
    target, sign = field(change, "left"), operator(change)
    if target.type != "identifier" or sign not in ("=", "/=", "%=", "+=", "-=", "*="):
        return
    name, kind = text(target), ""
    for statement in named(block):
        for each in named(statement) if statement.type == "declaration" else ():
            if each.type == "init_declarator" and text(field(each, "declarator")) == name:
                kind = text(field(statement, "type"))
    if kind not in _WHOLE_NUMBERS:
        return
    for each in walk(block):
        other = target_of(each)
        straight = each.parent is not None and each.parent.parent == block
        if other is not None and text(other) == name and not straight:
            return
    value = text(field(change, "right"))
    if sign != "=":
        value = f"{name} {sign[0]} ({value})"
    function = block
    while function.parent is not None and function.type != "function_definition":
        function = function.parent
    later, number = f"{name}_then", 2
    while later in text(function):
        later, number = f"{name}_then{number}", number + 1
    yield replacing(node, f"{kind} {later} = {value};")
    for each in walk(block):
        if each.type == "identifier" and text(each) == name and each.start_byte >= node.end_byte:
            yield replacing(each, later)


_WHOLE_NUMBERS = (
    "int",
    "long",
    "unsigned",
    "unsigned int",
    "int64_t",
    "size_t",
    "long long",
    "int32_t",
    "uint",
)
