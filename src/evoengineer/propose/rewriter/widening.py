"""Widening: the body of a nest for several outputs at once, in each of the coarsened dimensions.

A variable that depends on coarsened dimensions becomes an array over them, a statement a loop over the ones it
depends on (unrolled, so that arrays are registers), and conditions that differ between outputs become masks. A
load that depends on fewer dimensions than the statement around it is made once for all the others: that is the
reuse that coarsening is for. Loops whose bounds differ between outputs are split: where all outputs take part
there is no mask.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from tree_sitter import Node

from evoengineer.propose.syntax.addresses import has_unit_stride
from evoengineer.propose.syntax.arithmetic import value_of
from evoengineer.propose.syntax.dependence import (
    NONE,
    Dependence,
    Dims,
    condition_of,
    ends_iteration,
    has_load,
    is_load,
    is_target,
    statements_of,
    target_of,
)
from evoengineer.propose.syntax.nest import Linear, Nest
from evoengineer.propose.syntax.tree import (
    NotUnderstood,
    field,
    named,
    operator,
    render,
    stripped,
    text,
    walk,
)

STEP = "    "
# Of innermost statements, by unrolled loops: more is slow to compile and leaves the instruction cache.
_COPIES_INSIDE = 128  # the same without tests
_COPIES = 40


@dataclass(frozen=True, slots=True)
class Coarse:
    """A coarsened dimension: `factor` is the constant's name, `index` the variable that counts."""

    dim: str
    factor: str
    index: str
    run: str = (
        ""  # constant: how many neighbours in a row a thread computes, where it is worth storing them at once
    )


@dataclass(frozen=True, slots=True)
class Mask:
    """A condition that must hold for an output."""

    name: str
    dims: Dims
    edge: bool = False  # nearly always on


@dataclass(frozen=True, slots=True)
class Loop:
    """`for (type name = first; name < end; ++name)`, with `end` past the last."""

    name: str
    type: str
    first: Node
    last: Node
    inclusive: bool

    def end(self, last: str) -> str:
        return f"{last} + 1" if self.inclusive else last


Stager = Callable[[Node, Loop, "Widening", str, tuple[Mask, ...]], str | None]


class Settled(Protocol):
    """Conditions that all outputs of some blocks pass; see `interior.py`."""

    def settles(self, condition: Node, form: str, widening: Widening) -> bool: ...


class Widening:
    """Prints the body. `stager` may take over a loop."""

    def __init__(
        self,
        nest: Nest,
        dependence: Dependence,
        coarse: Iterable[Coarse],
        in_range: str,
        stager: Stager | None = None,
        fixed: Mapping[int, str] | None = None,
        trips: Mapping[str, int] | None = None,
        interior: Settled | None = None,
    ) -> None:
        """`in_range` tells whether an output exists; `fixed` are expressions that are constants now, by node, and
        `trips` their values, by text. `interior` tells which conditions always hold in blocks that are `WHOLE`."""
        self.nest = nest
        self.dependence = dependence
        self.coarse = tuple(coarse)
        self.in_range = in_range
        self.stager = stager
        self.fixed = fixed or {}
        self.trips = trips or {}
        self.interior = interior
        self.loads = dict(self.fixed)  # expressions that are written otherwise, by node: staged loads, too
        self.tables: dict[int, str] = {}  # types of loads that can be made whatever the masks are, by node
        self.zeroed: dict[int, set[str]] = {}  # loads that count as zero where these masks are off, by node
        self.branches: dict[
            int, Mask
        ] = {}  # the mask of each condition whose branch is being printed, by node
        self.together: set[int] = set()  # conditions that the threads of a block must pass together
        self._fresh = 0
        self._types = {each.name: each.type for each in nest.kernel.parameters}
        self._moved = self._changed_parameters()

    # -- names --------------------------------------------------------------------------------------------

    def dims_of(self, *nodes: Node) -> Dims:
        return self.narrow(self.dependence.of(*nodes))

    def narrow(self, dims: Dims) -> Dims:
        return dims & {each.dim for each in self.coarse}

    def names(self) -> dict[str, str]:
        """How each variable is written: arrays with their indices."""
        written = {}
        for name, dims in self.dependence.dims.items():
            base = self._moved.get(name, name)
            written[name] = base + self.indices(self.narrow(dims))
        return written

    def indices(self, dims: Dims) -> str:
        return "".join(f"[{each.index}]" for each in self.coarse if each.dim in dims)

    def sizes(self, dims: Dims) -> str:
        return "".join(f"[{each.factor}]" for each in self.coarse if each.dim in dims)

    def fresh(self, stem: str) -> str:
        self._fresh += 1
        return f"{stem}_{self._fresh}"

    def over(self, dims: Dims, statement: str, pad: str, masks: tuple[Mask, ...] = ()) -> str:
        """The statement for every output along these dimensions that all masks are on for. A mask over other
        dimensions holds for some output, or the code would not be reached."""
        lines = []
        tests = [mask for mask in masks if mask.dims <= dims]
        tested = NONE.union(*(mask.dims for mask in tests))
        for group in (
            dims & tested,
            dims - tested,
        ):  # a test is made once for all that it does not tell apart
            for each in self.coarse:
                if each.dim in group:
                    lines += [
                        f"{pad}#pragma unroll\n",
                        f"{pad}for (int {each.index} = 0; {each.index} < {each.factor}; ++{each.index})\n",
                    ]
                    pad += STEP
            if tests:
                lines.append(
                    f"{pad}if ({' && '.join(mask.name + self.indices(mask.dims) for mask in tests)})\n"
                )
                pad += STEP
                tests = []
        return "".join(lines) + f"{pad}{statement}\n"

    def expression(self, node: Node, loads: dict[int, str] | None = None) -> str:
        return render(node, self.names(), {**self.loads, **(loads or {})})

    # -- statements ---------------------------------------------------------------------------------------

    def body(self, pad: str = STEP) -> str:
        parts = []
        for name, moved in self._moved.items():
            dims = self.narrow(self.dependence.dims[name])
            parts.append(f"{pad}{self._types[name]} {moved}{self.sizes(dims)};\n")
            parts.append(self.over(dims, f"{moved}{self.indices(dims)} = {name};", pad))
        parts += [self._linear(linear, pad) for linear in self.nest.linears if self._uses(linear.name)]
        return "".join(parts) + self.sequence(self.nest.body, pad, ())

    def sequence(self, statements: Iterable[Node], pad: str, masks: tuple[Mask, ...]) -> str:
        parts = []
        statements = list(statements)
        for place, statement in enumerate(statements):
            if statement.type == "preproc_call":
                continue  # pragmas of the original loops; the new ones have their own
            if ends_iteration(statement) and self.dims_of(condition_of(statement)):
                condition = condition_of(statement)
                edge = self._is_edge(condition, statements[place + 1 :])
                printed, mask = self._mask(condition, pad, "!({})", "" if edge else "continue;", masks)
                mask = replace(mask, edge=edge)
                parts.append(printed)
                masks = (*masks, mask)
            else:
                parts.append(self._statement(statement, pad, masks))
        return "".join(parts)

    def _statement(self, node: Node, pad: str, masks: tuple[Mask, ...]) -> str:
        match node.type:
            case "declaration":
                return self._declaration(node, pad, masks)
            case "expression_statement":
                return self._expression_statement(node, pad, masks)
            case "if_statement":
                return self._if(node, pad, masks)
            case "for_statement":
                return self._for(node, pad, masks)
            case "compound_statement":
                return f"{pad}{{\n{self.sequence(named(node), pad + STEP, masks)}{pad}}}\n"
            case "continue_statement":
                return f"{pad}continue;\n"
        raise NotUnderstood(f"a {node.type}")

    def _declaration(self, node: Node, pad: str, masks: tuple[Mask, ...]) -> str:
        kind = self._declared_type(node)
        parts = []
        for each in named(node):
            if each.type == "type_qualifier" or each == field(node, "type"):
                continue
            declarator = field(each, "declarator") if each.type == "init_declarator" else each
            name = text(next(part for part in walk(declarator) if part.type == "identifier"))
            stars = "*" * text(declarator).count("*")
            self._types[name] = kind + stars
            dims = self.narrow(self.dependence.dims.get(name, NONE))
            parts.append(f"{pad}{kind}{stars} {name}{self.sizes(dims)};\n")
            if each.type == "init_declarator":
                value = field(each, "value")
                target = f"{name}{self.indices(dims)}"
                parts.append(self._assign(target, "=", value, dims, pad, masks if has_load(value) else ()))
        return "".join(parts)

    def _declared_type(self, node: Node) -> str:
        kind = text(field(node, "type"))
        if kind == "auto":
            raise NotUnderstood("a variable of type auto")
        pointer = any(
            (field(each, "declarator") if each.type == "init_declarator" else each).type
            == "pointer_declarator"
            for each in named(node)
        )
        constant = any(text(each) == "const" for each in named(node) if each.type == "type_qualifier")
        return f"const {kind}" if constant and pointer else kind

    def _assign(
        self, target: str, sign: str, value: Node, dims: Dims, pad: str, masks: tuple[Mask, ...]
    ) -> str:
        hoisted, loads = self._hoist(value, dims, pad, masks)
        if sign == "+=" and self._is_zero_if_masked(value, loads, masks):
            masks = tuple(mask for mask in masks if not mask.edge)
        return hoisted + self.over(dims, f"{target} {sign} {self.expression(value, loads)};", pad, masks)

    def _is_zero_if_masked(self, value: Node, loads: dict[int, str], masks: tuple[Mask, ...]) -> bool:
        """Whether the value is a product with a load that counts as zero where any mask is off, as libraries pad
        with zeros: then it can be added where the test is for an edge only."""
        factors = [stripped(value)]
        while any(each.type == "binary_expression" and operator(each) == "*" for each in factors):
            factors = [
                stripped(part)
                for each in factors
                for part in (
                    (field(each, "left"), field(each, "right"))
                    if each.type == "binary_expression" and operator(each) == "*"
                    else (each,)
                )
            ]
        covered: set[str] = set()
        for each in factors:
            covered |= self.zeroed.get(each.id, set())
            if each.id in loads:
                covered |= {mask.name for mask in masks if mask.dims <= self.dims_of(each)}
        return all(mask.name in covered for mask in masks if mask.edge)

    def _expression_statement(self, node: Node, pad: str, masks: tuple[Mask, ...]) -> str:
        inner = named(node)[0] if named(node) else None
        if inner is None:
            return ""
        target = target_of(inner)
        if target is None or sum(target_of(each) is not None for each in walk(inner)) != 1:
            raise NotUnderstood(f"the statement {text(node)[:40]}")
        if target.type == "identifier":
            dims = self.narrow(self.dependence.dims.get(text(target), NONE))
            written = self.names().get(text(target), text(target))
            if inner.type == "update_expression":
                return self.over(dims, f"{written} {operator(inner)[0]}= 1;", pad, masks)
            return self._assign(written, operator(inner), field(inner, "right"), dims, pad, masks)
        return self._store(inner, target, pad, masks)

    def _store(self, node: Node, target: Node, pad: str, masks: tuple[Mask, ...]) -> str:
        every = frozenset(each.dim for each in self.coarse)
        if not every <= self.dims_of(target):
            raise NotUnderstood("outputs share a place in memory")
        if node.type != "assignment_expression" or operator(node) != "=":
            raise NotUnderstood("an output that is read before it is written")
        value = field(node, "right")
        hoisted, loads = self._hoist(value, every, pad, masks)
        guard = " && ".join([self.in_range, *(mask.name + self.indices(mask.dims) for mask in masks)])
        stored = f"{self.expression(target)} = {{}};"
        along = next((each for each in self.coarse if each.run), None)
        if along is None or not self._is_row_of_floats(target, along.dim):
            statement = f"if ({guard}) {stored.format(self.expression(value, loads))}"
            return hoisted + self.over(every, statement, pad)
        written = self.expression(value, loads)
        if any(is_load(each) and text(each) == text(target) for each in walk(value)):
            written = f"({guard}) ? {written} : 0.0f"  # copies past an edge must not read what others store
        return hoisted + self._store_runs(along, guard, self.expression(target), written, pad)

    def _is_row_of_floats(self, target: Node, dim: str) -> bool:
        """Whether outputs along a dimension are neighbours in memory that a wide store could take."""
        if self.element_type(target) != "float" or target.type != "subscript_expression":
            return False
        linears = [linear.name for linear in self.nest.linears if linear.dims[0] == dim]
        return any(has_unit_stride(text(target), name) for name in (dim, *linears))

    def _store_runs(self, along: Coarse, guard: str, target: str, value: str, pad: str) -> str:
        """Neighbours are stored four at once where all of them exist and the address is aligned."""
        others = frozenset(each.dim for each in self.coarse if each is not along)
        # A run of another length is not stored at once; its values are kept within bounds all the same.
        run, values, first = along.run, self.fresh("values"), self.fresh("first")
        inner, deeper = pad + STEP, pad + STEP * 2
        each = f"{deeper}const int {along.index} = {first} + place;\n"
        loop = f"{inner}#pragma unroll\n{inner}for (int place = 0; place < {run}; ++place) {{\n{each}"
        body = (
            f"{{\n{inner}float {values}[4];\n{inner}bool together = {run} == 4;\n"
            f"{loop}{deeper}{values}[place % 4] = {value};\n{deeper}together = together && ({guard});\n{inner}}}\n"
            f"{inner}const int {along.index} = {first};\n"
            f"{inner}float* const run_at = &{target};\n"
            f"{inner}if (together && reinterpret_cast<size_t>(run_at) % 16 == 0) {{\n"
            f"{deeper}*reinterpret_cast<float4*>(run_at) = "
            f"make_float4({', '.join(f'{values}[{place}]' for place in range(4))});\n"
            f"{inner}}} else {{\n{loop}{deeper}if ({guard}) {target} = {value};\n{inner}}}\n{inner}}}\n{pad}}}"
        )
        head = f"#pragma unroll\n{pad}for (int {first} = 0; {first} < {along.factor}; {first} += {run}) "
        return self.over(others, f"{{\n{pad}{head}{body}\n{pad}}}", pad)

    def _if(self, node: Node, pad: str, masks: tuple[Mask, ...]) -> str:
        condition = condition_of(node)
        other = node.child_by_field_name("alternative")
        if not self.dims_of(condition):
            printed = f"{pad}if ({self.expression(condition)}) {{\n"
            printed += self.sequence(statements_of(field(node, "consequence")), pad + STEP, masks)
            if other is not None:
                printed += f"{pad}}} else {{\n{self.sequence(statements_of(other), pad + STEP, masks)}"
            return printed + f"{pad}}}\n"
        if any(each.type == "continue_statement" for each in walk(node)):
            raise NotUnderstood("a loop that some outputs continue from within a branch")
        printed, mask = self._mask(condition, pad, "({})", "", masks)
        printed += self._branch(node, field(node, "consequence"), mask, pad, masks)
        if other is not None:
            opposite, negated = self._mask(condition, pad, "!({})", "", masks)
            # The first branch may have changed what the condition reads, so both masks are set before it.
            printed = opposite + printed
            printed += self._branch(node, other, negated, pad, masks)
        return printed

    def _branch(self, node: Node, body: Node, mask: Mask, pad: str, masks: tuple[Mask, ...]) -> str:
        """What is done for outputs whose mask is on. Where operands are staged, all threads of the block take part as
        soon as one of them has such an output, and what others have computed is forgotten at the end."""
        statements = statements_of(body)
        if self.stager is not None and self._is_harmless(node, statements):
            self.branches[node.id] = mask
            printed = self.sequence(statements, pad + STEP, masks)
            del self.branches[node.id]
            if node.id in self.together:
                self.together.discard(node.id)
                kept, forgotten = self._kept(statements, mask, pad + STEP)
                return f"{pad}if (__syncthreads_or({mask.name}_any)) {{\n{kept}{printed}{forgotten}{pad}}}\n"
        printed = self.sequence(statements, pad + STEP, (*masks, mask))
        return f"{pad}if ({mask.name}_any) {{\n{printed}{pad}}}\n"

    def _is_harmless(self, node: Node, statements: list[Node]) -> bool:
        """Whether a branch could be taken for outputs that it is not meant for: it stores nothing, and its condition
        concerns dimensions that its loads have nothing to do with, so that it is not there to protect them."""
        concerned = self.dependence.of(condition_of(node))
        for statement in statements:
            for each in walk(statement):
                target = target_of(each)
                if target is not None and target.type != "identifier":
                    return False
                if is_load(each) and not concerned - self.dependence.of(each):
                    return False
        return True

    def _kept(self, statements: list[Node], mask: Mask, pad: str) -> tuple[str, str]:
        """Copies of the variables that a branch changes, and how outputs with the mask off get theirs back."""
        declared: set[str] = set()
        changed: dict[str, None] = {}
        for statement in statements:
            for each in walk(statement):
                target = target_of(each)
                if target is not None:
                    changed[text(target)] = None
                if each.type in ("init_declarator", "declaration"):
                    inner = field(each, "declarator")
                    declared |= {text(part) for part in walk(inner) if part.type == "identifier"}
        kept = forgotten = ""
        for name in changed:
            if name in declared:
                continue
            dims = self.narrow(self.dependence.dims.get(name, NONE))
            if not mask.dims <= dims:
                raise NotUnderstood(f"{name} is shared by outputs that a branch tells apart")
            copy, place = self.fresh("kept"), self.indices(dims)
            written = self._moved.get(name, name) + place
            kept += f"{pad}{self._types[name]} {copy}{self.sizes(dims)};\n"
            kept += self.over(dims, f"{copy}{place} = {written};", pad)
            test = f"!{mask.name}{self.indices(mask.dims)}"
            forgotten += self.over(dims, f"if ({test}) {written} = {copy}{place};", pad)
        return kept, forgotten

    def _mask(
        self, condition: Node, pad: str, form: str, otherwise: str, masks: tuple[Mask, ...]
    ) -> tuple[str, Mask]:
        dims = self.dims_of(condition)
        hoisted, loads = self._hoist(condition, dims, pad, masks) if has_load(condition) else ("", {})
        if has_load(condition):
            dims = dims.union(*(mask.dims for mask in masks))
        mask = Mask(self.fresh("ok"), dims)
        test = form.format(self.expression(condition, loads))
        if has_load(condition):
            test = " && ".join([*(each.name + self.indices(each.dims) for each in masks), test])
        if self.interior is not None and self.interior.settles(condition, form, self):
            test = f"WHOLE || {test}"
        place = mask.name + self.indices(dims)
        printed = hoisted + f"{pad}bool {mask.name}{self.sizes(dims)}, {mask.name}_any = false;\n"
        printed += self.over(dims, f"{mask.name}_any |= {place} = {test};", pad)
        if otherwise:
            printed += f"{pad}if (!{mask.name}_any) {otherwise}\n"
        return printed, mask

    def _is_edge(self, condition: Node, rest: Iterable[Node]) -> bool:
        """Whether a condition is hardly ever true for all outputs of a thread, and nothing behind it needs the
        test: every load is one that the mask itself keeps back. Without a branch, iterations overlap."""
        dims = self.dims_of(condition)
        if any(operator(each) == "%" for each in walk(condition)):
            return False
        return all(
            each.id in self.loads or is_target(each) or dims <= self.dims_of(each)
            for statement in rest
            for each in self.outer_loads(statement)
        )

    def _hoist(
        self, value: Node, dims: Dims, pad: str, masks: tuple[Mask, ...]
    ) -> tuple[str, dict[int, str]]:
        """Loads that depend on fewer dimensions, made once before the statement."""
        printed, loads = "", {}
        for node in self.outer_loads(value):
            if node.id in self.tables and (own := self.dims_of(node)) != dims:
                name = self.fresh("value")
                printed += f"{pad}{self.tables[node.id]} {name}{self.sizes(own)};\n"
                printed += self.over(own, f"{name}{self.indices(own)} = {self.loads[node.id]};", pad)
                loads[node.id] = name + self.indices(own)
            if node.id in self.loads:
                continue
            own = self.dims_of(node)
            partly = any(mask.dims & own and not mask.dims <= own for mask in masks)
            kind = self.element_type(node)
            if own == dims or partly or not kind:
                continue
            name = self.fresh("value")
            guards = [mask.name + self.indices(mask.dims) for mask in masks if mask.dims <= own and mask.dims]
            read = self.expression(node)
            if guards:
                read = f"{' && '.join(guards)} ? {read} : {kind}()"
            printed += f"{pad}{kind} {name}{self.sizes(own)};\n"
            printed += self.over(own, f"{name}{self.indices(own)} = {read};", pad)
            loads[node.id] = name + self.indices(own)
        return printed, loads

    def outer_loads(self, node: Node) -> list[Node]:
        """Loads that are made whenever the expression is evaluated, the outermost of nested ones."""
        if is_load(node):
            return [node]
        if node.type == "conditional_expression":
            return self.outer_loads(field(node, "condition"))
        if node.type == "binary_expression" and operator(node) in ("&&", "||"):
            return self.outer_loads(field(node, "left"))
        return [load for child in node.named_children for load in self.outer_loads(child)]

    def element_type(self, load: Node) -> str:
        base = field(load, "argument")
        kind = self._types.get(text(base), "") if base.type == "identifier" else ""
        return kind.replace("const", "").replace("*", "").strip() if kind.count("*") == 1 else ""

    # -- loops --------------------------------------------------------------------------------------------

    def _for(self, node: Node, pad: str, masks: tuple[Mask, ...]) -> str:
        body = field(node, "body")
        header = [each for each in named(node) if each != body]
        if self.stager is not None:
            loop = counted(node)
            staged = self.stager(node, loop, self, pad, masks) if loop is not None else None
            if staged is not None:
                return staged
        if self.dims_of(*header):
            return self._split_loop(node, pad, masks)
        opening = render_header(node, body, self.names(), self.loads)
        factor, _ = self._unrolling(node)
        when = " && ".join((["ASSUMED"] if self.trips else []) + (["WHOLE"] if self.interior else []))
        unroll = f"{pad}#pragma unroll ({when} ? {factor} : 1)\n" if factor > 1 else ""
        if factor == 1 and self._has_known_course(node):
            unroll = f"{pad}#pragma unroll 1\n"  # the compiler would, since it knows how long the loop is
        printed = self.sequence(statements_of(body), pad + STEP, masks)
        return f"{unroll}{pad}{opening} {{\n{printed}{pad}}}\n"

    def _unrolling(self, node: Node) -> tuple[int, int]:
        """How often a loop is unrolled, and how many copies of its innermost statements that makes."""
        inside = [each for each in walk(field(node, "body")) if each.type == "for_statement"]
        copies = max((self._unrolling(each)[1] for each in inside), default=1)
        loop = counted(node)
        trips = (self._trips(loop) or 1) if loop is not None else 1
        outer = node.parent
        while outer is not None and outer.type != "for_statement":
            outer = outer.parent
        plain = not any(each.type == "if_statement" for each in walk(field(node, "body")))
        known = outer is not None and self._has_known_course(outer)
        if not inside and plain and known and self.interior is None:
            trips = min(trips, 4)  # what unrolling gains there is in the loops around, whose tests it settles
        if trips * copies > (_COPIES if self.interior is None else _COPIES_INSIDE):
            return 1, copies
        return trips, trips * copies

    def _has_known_course(self, node: Node) -> bool:
        loop = counted(node)
        return loop is not None and self._trips(loop) is not None

    def _trips(self, loop: Loop) -> int | None:
        """How often a loop is gone through, if that follows from the parameters that a special version knows, or, in
        blocks without tests, from the loop alone."""
        written = f"{text(loop.first)} {text(loop.last)}"
        given = any(re.search(rf"\b{re.escape(name)}\b", written) for name in self.trips)
        if not given and self.interior is None:
            return None
        try:
            first, last = (value_of(text(each), self.trips) for each in (loop.first, loop.last))
        except NotUnderstood:
            return None
        return max(0, last - first + loop.inclusive)

    def _split_loop(self, node: Node, pad: str, masks: tuple[Mask, ...]) -> str:
        """Bounds differ between outputs: before all have begun and after the first has ended, outputs are masked."""
        loop = counted(node)
        if loop is None:
            raise NotUnderstood(f"a loop whose course differs between outputs: {text(node)[:40]}")
        first, last = self.dims_of(loop.first), self.dims_of(loop.last)
        low, high = self.fresh("first"), self.fresh("end")
        mask = Mask(self.fresh("ok"), first | last)
        kind, name = loop.type, loop.name
        begin, end = self.expression(loop.first), loop.end(self.expression(loop.last))
        lines = [
            f"{pad}{kind} {low}{self.sizes(first)}, {high}{self.sizes(last)};\n",
            self.over(first, f"{low}{self.indices(first)} = {begin};", pad),
            self.over(last, f"{high}{self.indices(last)} = {end};", pad),
        ]
        bounds = {}
        for stem, variable, dims, function in (
            ("from", low, first, "min"),
            ("all_from", low, first, "max"),
            ("all_to", high, last, "min"),
            ("to", high, last, "max"),
        ):
            bound = bounds[stem] = self.fresh(stem)
            start = variable + "".join("[0]" for each in self.coarse if each.dim in dims)
            lines.append(f"{pad}{kind} {bound} = {start};\n")
            if dims:
                place = variable + self.indices(dims)
                lines.append(self.over(dims, f"{bound} = {function}({bound}, {place});", pad))
        inner = pad + STEP
        statements = statements_of(field(node, "body"))
        test = f"{mask.name}_any |= {mask.name}{self.indices(mask.dims)} = "
        test += f"{name} >= {low}{self.indices(first)} && {name} < {high}{self.indices(last)};"
        masked = f"{inner}bool {mask.name}{self.sizes(mask.dims)}, {mask.name}_any = false;\n"
        masked += self.over(mask.dims, test, inner) + f"{inner}if (!{mask.name}_any) continue;\n"
        masked += self.sequence(statements, inner, (*masks, mask))
        clear = self.sequence(statements, inner, masks)
        lines += [
            f"{pad}{kind} {name} = {bounds['from']};\n",
            f"{pad}for (; {name} < {bounds['all_from']} && {name} < {bounds['to']}; ++{name}) {{\n{masked}{pad}}}\n",
            f"{pad}for (; {name} < {bounds['all_to']}; ++{name}) {{\n{clear}{pad}}}\n",
            f"{pad}for (; {name} < {bounds['to']}; ++{name}) {{\n{masked}{pad}}}\n",
        ]
        return f"{pad}{{\n" + "".join(lines) + f"{pad}}}\n"

    # -- the beginning ------------------------------------------------------------------------------------

    def _changed_parameters(self) -> dict[str, str]:
        """Parameters that the body moves, such as `a += row * k`, need a copy for each output; who stages an
        operand starts from the parameter as it was."""
        changed = set()
        for statement in self.nest.body:
            for node in walk(statement):
                target = target_of(node)
                if target is not None and target.type == "identifier":
                    changed.add(text(target))
        return {each.name: f"{each.name}_at" for each in self.nest.kernel.parameters if each.name in changed}

    def _uses(self, name: str) -> bool:
        return any(text(each) == name for part in self.nest.body for each in walk(part))

    def _linear(self, linear: Linear, pad: str) -> str:
        place = self.nest.index_of(linear, self.names())
        dims = self.narrow(self.dependence.dims[linear.name])
        return f"{pad}{linear.type} {linear.name}{self.sizes(dims)};\n" + self.over(
            dims, f"{linear.name}{self.indices(dims)} = {place};", pad
        )


def render_header(node: Node, body: Node, names: dict[str, str], nodes: dict[int, str]) -> str:
    """`for (…)` of a loop with variables as they are written now."""
    data = node.text or b""
    parts, position = [], node.start_byte
    for child in node.children:
        if child == body:
            break
        parts.append(data[position - node.start_byte : child.start_byte - node.start_byte].decode())
        if child.type != "comment":
            parts.append(render(child, names, nodes))
        position = child.end_byte
    return "".join(parts)


def counted(node: Node) -> Loop | None:
    """A loop that counts up by one in a variable of its own; None for any other."""
    start, test = node.child_by_field_name("initializer"), node.child_by_field_name("condition")
    update = node.child_by_field_name("update")
    if start is None or test is None or update is None or start.type != "declaration":
        return None
    declared = [each for each in named(start) if each.type == "init_declarator"]
    if len(declared) != 1 or test.type != "binary_expression" or operator(test) not in ("<", "<="):
        return None
    name = text(field(declared[0], "declarator"))
    steps = update.type == "update_expression" and operator(update) == "++"
    if text(field(test, "left")) != name or not steps or text(field(update, "argument")) != name:
        return None
    for each in walk(field(node, "body")):
        target = target_of(each)
        if target is not None and text(target) == name:
            return None
    kind = text(field(start, "type"))
    if kind == "auto":
        return None
    return Loop(name, kind, field(declared[0], "value"), field(test, "right"), operator(test) == "<=")
