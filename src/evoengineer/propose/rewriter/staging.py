"""Staging: a reduction loop walks in steps, whose operands a block first brings to shared memory.

An operand is staged when fewer dimensions of the tile than all decide it, so that several threads need it. Its
address is written anew in terms of the loop's counter and of the dimensions, by putting definitions in place of
local names, so that any thread can load any element.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tree_sitter import Node

from evoengineer.propose.rewriter.filling import Operand, Side
from evoengineer.propose.rewriter.widening import STEP, Loop, Mask, Widening
from evoengineer.propose.syntax.dependence import condition_of, ends_iteration, statements_of, target_of
from evoengineer.propose.syntax.nest import Nest
from evoengineer.propose.syntax.tree import (
    NotUnderstood,
    expression,
    field,
    identifiers,
    named,
    operator,
    render,
    text,
    walk,
)


@dataclass(frozen=True, slots=True)
class Staging:
    """Takes over loops that can be staged (a `Stager` of `Widening`)."""

    nest: Nest
    sides: tuple[Side, ...]
    step: str  # constant: iterations at once
    threads: str
    ahead: str  # constant: whether the next step is loaded while the present one is computed
    wide: bool  # operands may be loaded four elements at a time
    shared: list[str]  # collects the bytes of shared memory, as expressions

    def __call__(
        self, node: Node, loop: Loop, widening: Widening, pad: str, masks: tuple[Mask, ...]
    ) -> str | None:
        branches = self._branches(node, widening)
        if masks or branches is None:
            return None
        guards = [condition_of(each) for each in branches]
        definitions = definitions_of(self.nest)
        tiles: list[tuple[Node, str, tuple[Side, ...], str]] = []
        for statement in statements_of(field(node, "body")):
            if ends_iteration(statement):
                guards.append(condition_of(statement))
                continue
            if statement.type not in ("declaration", "expression_statement"):
                return None
            for load in widening.outer_loads(statement):
                if not all(is_of_others(guard, load, widening) for guard in guards):
                    continue
                try:
                    staged = self._operand(load, loop, widening, definitions)
                except NotUnderstood:
                    continue
                if staged is not None:
                    tiles.append((load, *staged))
        if not tiles:
            return None
        try:
            printed = self._print(node, loop, widening, pad, tiles)
        except NotUnderstood:
            return None
        widening.together |= {each.id for each in branches}
        return printed

    def _branches(self, node: Node, widening: Widening) -> list[Node] | None:
        """The conditions around the loop that differ between outputs, which the block's threads will have to pass
        together; None where they cannot come to the loop together."""
        branches: list[Node] = []
        top = {each.id for each in self.nest.body}
        inner, outer = node, node.parent
        # What is around the computation as a whole, such as its guard, is no longer there.
        while outer is not None and outer != self.nest.kernel.body and inner.id not in top:
            if outer.type == "if_statement" and outer.id in widening.branches:
                branches.append(outer)
            elif outer.type == "if_statement" and widening.dims_of(condition_of(outer)):
                return None
            if outer.type == "for_statement":
                header = [each for each in named(outer) if each != field(outer, "body")]
                if widening.dims_of(*header):
                    return None
            for each in named(outer):
                if ends_iteration(each) and widening.dims_of(condition_of(each)):
                    return None
            inner, outer = outer, outer.parent
        return branches

    def _operand(
        self, load: Node, loop: Loop, widening: Widening, definitions: Mapping[str, str]
    ) -> tuple[str, tuple[Side, ...], str] | None:
        """Type, sides and address of a load that is worth staging."""
        kind = widening.element_type(load)
        dims = widening.dependence.of(load)
        sides = tuple(side for side in self.sides if side.dim in dims)
        known = {side.dim for side in sides}
        if not kind or not sides or len(sides) == len(self.sides):
            return None
        replaced = {loop.name: f"{loop.name}_at", **{name: f"{name}_at" for name in known}}
        address = resolved(load, replaced, definitions, widening, 0)
        if f"{loop.name}_at" not in identifiers(expression(address)):
            return None
        return kind, sides, address

    def _print(
        self,
        node: Node,
        loop: Loop,
        widening: Widening,
        pad: str,
        tiles: list[tuple[Node, str, tuple[Side, ...], str]],
    ) -> str:
        inner = pad + STEP
        lines: list[str] = []
        seen: dict[str, Operand] = {}
        places: dict[int, str] = {}
        step = f"{loop.name}_step"
        for load, kind, sides, address in tiles:
            place = " ".join(f"({side.place})" for side in sides[:1])
            for side in sides[1:]:
                place = f"({place}) * {side.tile} + ({side.place})"
            if address not in seen:
                name = widening.fresh("staged")
                seen[address] = Operand(name, kind, sides, address, loop, self.step, self.threads, self.wide)
                lines.append(inner + seen[address].declaration)
                self.shared.append(seen[address].bytes)
            places[load.id] = f"{seen[address].name}[{step}][{place}]"
        kinds = {load.id: kind for load, kind, *_ in tiles}
        filling = tuple(seen.values())
        if widening.dims_of(loop.first, loop.last):
            lines.append(self._split(node, loop, widening, inner, places, kinds, filling))
        else:
            first, end = widening.expression(loop.first), loop.end(widening.expression(loop.last))
            lines.append(self._walk(node, loop, widening, inner, places, filling, first, end, ()))
        return f"{pad}{{\n" + "".join(lines) + f"{pad}}}\n"

    def _split(
        self,
        node: Node,
        loop: Loop,
        widening: Widening,
        pad: str,
        places: Mapping[int, str],
        kinds: Mapping[int, str],
        filling: Sequence[Operand],
    ) -> str:
        """Bounds differ between outputs: the block walks from the first of all to the last of all, with masks where
        not every output takes part. An operand that a mask belongs to counts as zero where it is off."""
        lines = []
        bounds: dict[str, str] = {}
        masks: list[Mask] = []
        tests: list[str] = []
        for place, (bound, least, most, sign) in enumerate((
            (loop.first, "from", "all_from", ">="), (loop.last, "all_to", "to", "<"),
        )):  # fmt: skip
            ends = self._at_corners(bound, widening)
            dims = widening.dims_of(bound)
            for stem, function in ((least, "min"), (most, "max")):
                value = ends[0]
                for other in ends[1:]:
                    value = (
                        f"{function}(static_cast<{loop.type}>({value}), static_cast<{loop.type}>({other}))"
                    )
                bounds[stem] = widening.fresh(stem)
                value = loop.end(value) if place else value
                lines.append(f"{pad}const {loop.type} {bounds[stem]} = {value};\n")
            if not dims:
                continue
            variable, mask = widening.fresh("bound"), Mask(widening.fresh("ok"), dims, edge=True)
            written = widening.expression(bound)
            lines.append(f"{pad}{loop.type} {variable}{widening.sizes(dims)};\n")
            written = loop.end(written) if place else written
            lines.append(widening.over(dims, f"{variable}{widening.indices(dims)} = {written};", pad))
            masks.append(mask)
            inner = pad + STEP * 4
            tests.append(
                f"{inner}bool {mask.name}{widening.sizes(dims)};\n"
                + widening.over(
                    dims,
                    f"{mask.name}{widening.indices(dims)} = "
                    f"{loop.name} {sign} {variable}{widening.indices(dims)};",
                    inner,
                )
            )
        middle, rest = widening.fresh("middle"), widening.fresh("rest")
        kind = loop.type
        lines += [
            f"{pad}const {kind} {middle} = min(max({bounds['from']}, {bounds['all_from']}), {bounds['to']});\n",
            f"{pad}const {kind} {rest} = min(max({middle}, {bounds['all_to']}), {bounds['to']});\n",
        ]
        zeroed: dict[int, str] = {}
        for load, where in places.items():
            dims = widening.dims_of(next(each for each in walk(node) if each.id == load))
            own = [mask for mask in masks if mask.dims <= dims]
            test = " && ".join(mask.name + widening.indices(mask.dims) for mask in own)
            zeroed[load] = f"({test} ? {where} : {kinds[load]}())" if own else where
            widening.zeroed[load] = {mask.name for mask in own}
        walk_along = partial(self._walk, node, loop, widening, pad)
        lines += [
            walk_along(zeroed, filling, bounds["from"], middle, tuple(masks), "".join(tests)),
            walk_along(places, filling, middle, rest, ()),
            walk_along(zeroed, filling, rest, bounds["to"], tuple(masks), "".join(tests)),
        ]
        return "".join(lines)

    def _at_corners(self, bound: Node, widening: Widening) -> list[str]:
        """The bound at the corners of the block's tile, where it is least and greatest: it must be made of sums,
        differences and products in which every dimension stands once."""
        sides = [side for side in self.sides if side.dim in widening.dependence.of(bound)]
        corners: list[dict[str, str]] = [{}]
        for side in sides:
            last = f"min({side.first} + {side.tile} - 1, static_cast<int>({side.extent}) - 1)"
            corners = [
                {**corner, side.dim: f"static_cast<{side.type}>({end})"}
                for corner in corners
                for end in (side.first, last)
            ]
        definitions = definitions_of(self.nest)
        names = {side.dim: f"{side.dim}_at" for side in sides}
        plain = resolved(bound, names, definitions, widening, 0)
        value = expression(plain)
        for each in walk(value):
            if each.type == "binary_expression" and operator(each) not in ("+", "-", "*"):
                raise NotUnderstood(f"the bound {text(bound)}")
        for name in names.values():
            if sum(text(each) == name for each in walk(value) if each.type == "identifier") != 1:
                raise NotUnderstood(f"the bound {text(bound)}")
        return [resolved(bound, corner, definitions, widening, 0) for corner in corners]

    def _walk(
        self,
        node: Node,
        loop: Loop,
        widening: Widening,
        pad: str,
        places: Mapping[int, str],
        filling: Sequence[Operand],
        first: str,
        end: str,
        masks: tuple[Mask, ...],
        tests: str = "",
    ) -> str:
        """The loop from `first` to `end` in steps."""
        outer, deeper = pad + STEP, pad + STEP * 2
        block, step = f"{loop.name}_block", f"{loop.name}_step"
        widening.loads.update(places)
        body = widening.sequence(statements_of(field(node, "body")), deeper + STEP, masks)
        for load in places:
            del widening.loads[load]
        counter = f"{deeper + STEP}const {loop.type} {loop.name} = {block} + {step};\n"
        compute = (
            f"{deeper}for (int {step} = 0; {step} < ",
            f"; ++{step}) {{\n{counter}{tests}{body}{deeper}}}\n",
        )
        sync, following = f"{deeper}__syncthreads();\n", f"{block} + {self.step}"
        if masks:  # few steps, where not every output takes part: short code rather than fast code
            last = f"min(static_cast<{loop.type}>({self.step}), static_cast<{loop.type}>({end} - {block}))"
            return "".join([
                f"{pad}for ({loop.type} {block} = {first}; {block} < {end}; {block} += {self.step}) {{\n{sync}",
                *(each.fill(deeper, block, end) for each in filling),
                f"{sync}{deeper}#pragma unroll 1\n{last.join(compute)}{pad}}}\n",
            ])  # fmt: skip
        loads = "".join(each.load(deeper + STEP, block) for each in filling)
        loads_next = "".join(each.load(deeper + STEP, f"({following})") for each in filling)
        return "".join([
            f"{pad}{{\n{outer}{loop.type} {block} = {first};\n",
            *(each.before(outer, block) for each in filling),
            f"{outer}if ({self.ahead} && {following} <= {end}) {{\n{loads}{outer}}}\n",
            f"{outer}for (; {following} <= {end}; {block} += {self.step}) {{\n",
            f"{deeper}if (!{self.ahead}) {{\n{loads}{deeper}}}\n",
            sync,
            *(each.store(deeper, block) for each in filling),
            sync,
            f"{deeper}if ({self.ahead} && {following} + {self.step} <= {end}) {{\n{loads_next}{deeper}}}\n",
            f"{deeper}#pragma unroll\n{self.step.join(compute)}{outer}}}\n",
            f"{outer}if ({block} < {end}) {{\n{sync}",
            *(each.fill(deeper, block, end) for each in filling),
            f"{sync}{f'{end} - {block}'.join(compute)}{outer}}}\n{pad}}}\n",
        ])  # fmt: skip


def is_of_others(condition: Node, load: Node, widening: Widening) -> bool:
    """Whether a condition concerns dimensions that the load has nothing to do with, so that it is not there to protect
    the load."""
    return bool(widening.dependence.of(condition) - widening.dependence.of(load))


def definitions_of(nest: Nest) -> dict[str, str]:
    """How names are defined that are defined once: `v = …` as `(…)`, `a += …` as `(a + (…))`, an index by what it is
    taken apart into; others are empty."""
    found: dict[str, str] = {}

    def add(name: str, value: str) -> None:
        found[name] = "" if name in found else value

    for linear in nest.linears:
        if linear.name not in {dim.name for dim in nest.dims}:
            add(linear.name, f"({nest.index_of(linear, {name: name for name in linear.dims})})")
    pointers = {each.name for each in nest.kernel.parameters}
    top = {each.id for each in nest.body}
    for statement in nest.body:
        for node in walk(statement):
            if node.type == "init_declarator":
                declarator = field(node, "declarator")
                name = text(next(each for each in walk(declarator) if each.type == "identifier"))
                add(name, f"({text(field(node, 'value'))})")
            target = target_of(node)
            if target is not None and target.type == "identifier":
                moved = (
                    node.type == "assignment_expression"
                    and operator(node) == "+="
                    and text(target) in pointers
                    and node.parent is not None
                    and node.parent.id in top
                )
                add(text(target), f"({text(target)} + ({text(field(node, 'right'))}))" if moved else "")
    return found


def resolved(
    node: Node,
    replaced: Mapping[str, str],
    definitions: Mapping[str, str],
    widening: Widening,
    depth: int,
) -> str:
    """The expression with definitions in place of names that differ within the block or within the loop."""
    if depth > 8:
        raise NotUnderstood("definitions that go round")
    names = dict(replaced)
    for name in identifiers(node):
        if name in replaced:
            continue
        parameter = widening.nest.kernel.parameter(name)
        definition = definitions.get(name)
        if definition is None:
            if any(dim.name == name for dim in widening.nest.dims):
                if any(each.dim == name for each in widening.coarse):
                    raise NotUnderstood(f"{name} is not known where the operand is loaded")
                continue  # no side of the tile: the same for the whole block
            if widening.dependence.dims.get(name):
                raise NotUnderstood(f"{name} depends on the output in an unknown way")
            continue
        if not definition:
            raise NotUnderstood(f"{name} changes on the way")
        inner = expression(definition)
        keep = {**replaced, name: name} if parameter is not None else replaced
        names[name] = resolved(inner, keep, definitions, widening, depth + 1)
    return render(node, names)
