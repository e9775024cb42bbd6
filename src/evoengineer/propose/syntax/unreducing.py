"""Unreducing: a kernel whose blocks add up what each thread has and add that to one place, as if every thread did.

    s[t] = i < n ? a[i] * b[i] : 0;
    __syncthreads();
    for (h = 128; h > 0; h /= 2) { if (t < h) s[t] += s[t + h]; … }      →      atomicAdd(c, i < n ? a[i] * b[i] : 0);
    if (t == 0) atomicAdd(c, s[0]);

How often a block adds, and for how many elements, is then open again. A tree, or one thread that adds up all.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from evoengineer.propose.syntax.dependence import condition_of, statements_of, target_of
from evoengineer.propose.syntax.kernels import Kernel, dimensions, only_launch
from evoengineer.propose.syntax.reductions import combination, is_barrier, squeezed, tree_of
from evoengineer.propose.syntax.tree import (
    NotUnderstood,
    edited,
    field,
    identifiers,
    is_call_of,
    named,
    operator,
    render,
    replacing,
    stripped,
    terms,
    text,
    walk,
)

_THREAD = "threadIdx.x"
_ZEROS = ("0", "0.", "0.0", "0.f", "0.0f", "0.F", "0.0F")


def unreduced(source: str, kernel: Kernel) -> str:
    """The text with a kernel in which every thread adds for itself."""
    block = dimensions(only_launch(source, kernel).block)
    if any(each.strip() != "1" for each in block[1:]):
        raise NotUnderstood("more than one axis")
    body = _Reading(kernel, block[0]).body()
    return edited(source, [replacing(kernel.body, body)])


class _Reading:
    def __init__(self, kernel: Kernel, block: str) -> None:
        self.statements = named(kernel.body)
        self.block = "".join(block.split())
        self.threads = {_THREAD, *_names_of_thread(self.statements)}
        self.shared, self.elements = "", ""
        self.value: Node | None = None
        self.reduced = False

    def body(self) -> str:
        lines = ["{\n"]
        for statement in self.statements[:-1]:
            if is_barrier(statement) or self._declares_shared(statement) or self._reduces(statement):
                continue
            if self._fills(statement):
                continue
            if self.shared and self.shared in identifiers(statement):
                raise NotUnderstood("another use of shared memory")
            if self.value is not None or any(is_barrier(each) for each in walk(statement)):
                raise NotUnderstood("a block that does more")
            lines.append(text(statement) + "\n")
        lines.append(self._addition(self.statements[-1]))
        return "".join(lines) + "}"

    def _declares_shared(self, statement: Node) -> bool:
        if statement.type != "declaration" or "__shared__" not in [text(each) for each in statement.children]:
            return False
        arrays = [each for each in walk(statement) if each.type == "array_declarator"]
        if self.shared or len(arrays) != 1 or text(field(statement, "type")) != "float":
            raise NotUnderstood("several arrays in shared memory")
        self.shared = text(field(arrays[0], "declarator"))
        self.elements = squeezed(field(arrays[0], "size"))
        return True

    def _fills(self, statement: Node) -> bool:
        """`shared[thread] = value;`"""
        change = (
            named(statement)[0] if statement.type == "expression_statement" and named(statement) else None
        )
        target = target_of(change) if change is not None else None
        if change is None or target is None or target.type != "subscript_expression":
            return False
        if text(field(target, "argument")) != self.shared:
            return False
        at = squeezed(field(target, "indices"))[1:-1]
        if at not in self.threads or operator(change) != "=" or self.value is not None:
            raise NotUnderstood("shared memory that is not filled by every thread at its place")
        self.value = field(change, "right")
        return True

    def _reduces(self, statement: Node) -> bool:
        tree = tree_of(statement, frozenset(self.threads))
        if tree is None:
            return False
        if self.value is None or self.reduced or tree.how != "+" or tree.array != self.shared:
            raise NotUnderstood("a reduction of something else")
        self.reduced = True
        return True

    def _addition(self, last: Node) -> str:
        """What the first thread does at the end, done by every thread with its own value."""
        if (
            self.value is None
            or last.type != "if_statement"
            or last.child_by_field_name("alternative") is not None
        ):
            raise NotUnderstood("a block that adds nothing at its end")
        written = squeezed(stripped(condition_of(last)))
        if not any(written in (f"{each}==0", f"0=={each}", f"!{each}") for each in self.threads):
            raise NotUnderstood("more than one thread at the end")
        *before, statement = statements_of(field(last, "consequence"))
        whole = f"{self.shared}[0]"
        if before:
            if self.reduced:
                raise NotUnderstood("a thread that does more at the end")
            whole = self._serial(before)
        elif not self.reduced:
            raise NotUnderstood("nothing is reduced")
        call = (
            named(statement)[0]
            if statement.type == "expression_statement" and named(statement)
            else statement
        )
        if not is_call_of(call, "atomicAdd"):
            raise NotUnderstood("a result that is not added")
        place, added = named(field(call, "arguments"))
        factors = [each for each in terms(added, "*") if squeezed(each) == whole]
        mentions = [
            each for each in walk(call) if each.type == "identifier" and text(each) == whole.split("[")[0]
        ]
        if len(factors) != 1 or len(mentions) != 1:
            raise NotUnderstood("a result that is not added as it is")
        value = render(added, {}, {factors[0].id: f"({text(self.value)})"})
        return f"atomicAdd({text(place)}, {value});\n"

    def _serial(self, before: list[Node]) -> str:
        """The name of the sum in `float sum = 0; for (int i = 0; i < threads; ++i) sum += shared[i];`."""
        if len(before) != 2 or before[0].type != "declaration" or before[1].type != "for_statement":
            raise NotUnderstood("a thread that does more at the end")
        (declared,) = [each for each in named(before[0]) if each.type == "init_declarator"] or [before[0]]
        loop = before[1]
        if declared.type != "init_declarator" or squeezed(field(declared, "value")) not in _ZEROS:
            raise NotUnderstood("a sum that does not start with zero")
        name = text(field(declared, "declarator"))
        start = [each for each in named(field(loop, "initializer")) if each.type == "init_declarator"]
        inside = statements_of(field(loop, "body"))
        counter = text(field(start[0], "declarator")) if len(start) == 1 else ""
        bounds = {f"{counter}<{each}" for each in (self.elements, self.block, "blockDim.x")}
        found = combination(named(inside[0])[0]) if len(inside) == 1 and named(inside[0]) else None
        if (
            not counter
            or squeezed(field(start[0], "value")) != "0"
            or squeezed(field(loop, "condition")) not in bounds
            or squeezed(field(loop, "update")) not in (f"++{counter}", f"{counter}++")
            or found is None
            or (found[0], text(found[1]), squeezed(found[2])) != ("+", name, f"{self.shared}[{counter}]")
        ):
            raise NotUnderstood("a loop that does more than add up what the threads have")
        return name


def _names_of_thread(statements: list[Node]) -> Iterator[str]:
    for statement in statements:
        for each in named(statement) if statement.type == "declaration" else ():
            if each.type == "init_declarator" and squeezed(stripped(field(each, "value"))) == _THREAD:
                yield text(field(each, "declarator"))
