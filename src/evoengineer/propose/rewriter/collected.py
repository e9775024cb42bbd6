"""A rewrite for sums by `atomicAdd` of every thread: blocks collect what their threads add, and add that.

    atomicAdd(out, x[i]);        →    sum += x[i];  … the block's sum …  if (threadIdx.x == 0) atomicAdd(out, sum);
    atomicAdd(&bins[x[i]], 1);   →    atomicAdd(&bins_of_block[x[i]], 1);  … then every bin once for the block

Blocks that have done so in shared memory, one element for each thread, are taken back to the first form before.
A place that is the same for all threads is collected in a register, places that differ in shared memory, where all of
them fit. Threads go over the data in strides of the grid, so that few blocks do it all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tree_sitter import Node

from evoengineer.propose.rewriter.change import Change, Task
from evoengineer.propose.rewriter.outputs import indices, total_of
from evoengineer.propose.rewriter.row_printing import STEP, reduction_function
from evoengineer.propose.syntax.dependence import has_load, is_target
from evoengineer.propose.syntax.kernels import Kernel, fresh_name
from evoengineer.propose.syntax.nest import Nest, nest_of
from evoengineer.propose.syntax.tree import (
    Edit,
    NotUnderstood,
    edited,
    field,
    identifiers,
    is_call_of,
    named,
    operator,
    render,
    stripped,
    text,
    walk,
)
from evoengineer.propose.syntax.unreducing import unreduced

_WAYS = (
    (256, 4),
    (256, 8),
    (512, 4),
    (256, 16),
    (1024, 2),
)  # threads of a block, blocks for every multiprocessor
_USUAL_MULTIPROCESSORS = 128
_SHARED_BYTES = 49152
_TENSOR = re.compile(r"\b(\w+)\s*\.\s*(?:mutable_)?data_ptr\b")
_BYTES = {"float": 4, "int": 4, "unsigned": 4, "unsigned int": 4}


@dataclass(frozen=True, slots=True)
class Collected:
    """The rewrite of this module."""

    name: str = "collect"
    thought: str = (
        "Atomic additions to one place wait for each other. A block that collects its threads' contributions first "
        "makes a few of them instead of one for every element."
    )
    treats: tuple[str, ...] = ("atomics", "l2_bound", "latency_bound")
    weight: float = 5.0  # it changes more than a constant does
    fresh: bool = True

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        multiprocessors = task.multiprocessors or _USUAL_MULTIPROCESSORS
        source = unreduced(source)
        for kernel in task.open(source):
            try:
                printer = _Printer(source, kernel)
            except NotUnderstood:
                continue
            for threads, blocks in _WAYS:
                words = f"{kernel.name}: {blocks * multiprocessors} blocks of {threads} collect what they add"
                yield Change(words, printer.text(threads, blocks * multiprocessors))


@dataclass(frozen=True, slots=True)
class _Addition:
    """`atomicAdd(&pointer[index], value);`"""

    statement: Node
    pointer: str
    kind: str
    index: str
    value: Node
    uniform: bool  # all threads add to the same place


def additions(nest: Nest) -> Iterator[_Addition]:
    """All that a nest adds atomically; `NotUnderstood` where it does more with such places."""
    calls = [node for each in nest.body for node in walk(each) if is_call_of(node, "atomicAdd")]
    parameters = {each.name for each in nest.kernel.parameters if not each.is_pointer}
    for call in calls:
        arguments = named(field(call, "arguments"))
        if call.parent is None or call.parent.type != "expression_statement" or len(arguments) != 2:
            raise NotUnderstood("an atomic addition whose result is used")
        pointer, index = _place(arguments[0])
        parameter = nest.kernel.parameter(pointer)
        if parameter is None or not parameter.is_pointer:
            raise NotUnderstood("an atomic addition to an unknown place")
        mentions = [
            node
            for each in nest.body
            for node in walk(each)
            if node.type == "identifier" and text(node) == pointer
        ]
        if len(mentions) != sum(_place(named(field(each, "arguments"))[0])[0] == pointer for each in calls):
            raise NotUnderstood(f"{pointer} is used otherwise, too")
        names = set() if index is None else identifiers(index)
        uniform = names <= parameters and (index is None or not has_load(index))
        yield _Addition(
            call.parent, pointer, parameter.element, text(index) if index else "0", arguments[1], uniform
        )


def _place(node: Node) -> tuple[str, Node | None]:
    """Pointer and index of `p`, `p + i` and `&p[i]`."""
    node = stripped(node)
    if node.type == "identifier":
        return text(node), None
    if node.type == "pointer_expression" and operator(node) == "&":
        inner = field(node, "argument")
        if inner.type == "subscript_expression" and field(inner, "argument").type == "identifier":
            return text(field(inner, "argument")), named(field(inner, "indices"))[0]
    if (
        node.type == "binary_expression"
        and operator(node) == "+"
        and field(node, "left").type == "identifier"
    ):
        return text(field(node, "left")), field(node, "right")
    raise NotUnderstood("an atomic addition to an unknown place")


class _Printer:
    def __init__(self, source: str, kernel: Kernel) -> None:
        self.source, self.nest = source, nest_of(source, kernel)
        self.total = total_of(self.nest)
        self.additions = list(additions(self.nest))
        places = {(each.pointer, each.index) for each in self.additions}
        if not self.additions or len(places) != 1 or len({each.uniform for each in self.additions}) != 1:
            raise NotUnderstood("not one place, or one array, that is added to")
        self.addition = self.additions[0]
        if self.addition.kind not in _BYTES or (self.addition.uniform and self.addition.kind != "float"):
            raise NotUnderstood(f"atomic additions of {self.addition.kind}")
        for each in self.nest.body:
            if any(is_target(node) and node.type == "subscript_expression" for node in walk(each)):
                raise NotUnderstood("a kernel that stores, too")
        if not self.addition.uniform:
            self.tensor = self._tensor()
        self.name = fresh_name(source, f"{kernel.name}_collected")
        self.stem = self.name.upper()
        self.threads, self.blocks = f"{self.stem}_THREADS", f"{self.stem}_BLOCKS"

    def text(self, threads: int, blocks: int) -> str:
        head = (
            f"constexpr int {self.threads} = {threads};\n"
            f"constexpr int {self.blocks} = {blocks};\n"
            f'static_assert({self.threads} >= 32 && {self.threads} <= 1024, "threads of a block");\n'
            f'static_assert(({self.threads} & ({self.threads} - 1)) == 0, "whole warps");\n\n'
        )
        function = reduction_function(f"{self.name}_sum", "+", self.threads) if self.addition.uniform else ""
        end, statement = self.nest.kernel.definition.end_byte, self.nest.launch.statement
        return edited(
            self.source,
            [
                Edit(end, end, "\n\n" + head + function + self._kernel()),
                Edit(statement.start_byte, statement.end_byte, self._launch()),
            ],
        )

    def _kernel(self) -> str:
        addition = self.addition
        collected = "sum_of_thread" if addition.uniform else f"{addition.pointer}_of_block"
        nodes = {}
        for each in self.additions:
            value = text(each.value)
            nodes[each.statement.id] = (
                f"{collected} += {value};"
                if addition.uniform
                else f"atomicAdd(&{collected}[{each.index}], {value});"
            )
        body = "".join(f"{STEP * 2}{render(each, {}, nodes)}\n" for each in self.nest.body)
        parameters = [*(each.declaration for each in self.nest.kernel.parameters), *self.nest.told]
        before, after = self._around(collected)
        if not addition.uniform:
            parameters.append("int count_of_places")
        return (
            f"__global__ void __launch_bounds__({self.threads}) {self.name}({', '.join(parameters)}) {{\n"
            f"{before}"
            f"{STEP}const int64_t count_of_outputs = {self.total};\n"
            f"{STEP}for (int64_t number_of_output = static_cast<int64_t>(blockIdx.x) * {self.threads} + threadIdx.x; "
            f"number_of_output < count_of_outputs; "
            f"number_of_output += static_cast<int64_t>({self.threads}) * gridDim.x) {{\n"
            + "".join(STEP + each for each in indices(self.nest, "number_of_output"))
            + f"{body}{STEP}}}\n{after}}}"
        )

    def _around(self, collected: str) -> tuple[str, str]:
        """What comes before and after the loop over the data."""
        addition = self.addition
        place = f"&{addition.pointer}[{addition.index}]"
        if addition.uniform:
            return (
                f"{STEP}float {collected} = 0;\n",
                f"{STEP}{collected} = {self.name}_sum({collected});\n"
                f"{STEP}if (threadIdx.x == 0) atomicAdd({place}, {collected});\n",
            )
        each = f"{STEP}for (int place = threadIdx.x; place < count_of_places; place += {self.threads})"
        return (
            f"{STEP}extern __shared__ {addition.kind} {collected}[];\n"
            f"{each} {collected}[place] = 0;\n{STEP}__syncthreads();\n",
            f"{STEP}__syncthreads();\n"
            f"{each}\n{STEP * 2}if ({collected}[place] != 0) "
            f"atomicAdd(&{addition.pointer}[place], {collected}[place]);\n",
        )

    def _launch(self) -> str:
        launch, total = self.nest.launch, self.nest.on_host(self.total)
        arguments = [*(text(each) for each in launch.arguments), *self.nest.telling]
        needed = f"static_cast<unsigned>(({total} + {self.threads} - 1) / {self.threads})"
        blocks = f"std::min({needed}, static_cast<unsigned>({self.blocks}))"
        stream = f", {text(launch.further[1])}" if len(launch.further) > 1 else ""
        tests, shared = [f"{total} > 0", f"{total} < (1LL << 31)"], f", 0{stream}" if stream else ""
        if not self.addition.uniform:
            size = f"{self.tensor}.numel()"
            tests.append(f"{size} * {_BYTES[self.addition.kind]} <= {_SHARED_BYTES}")
            shared = f", {size} * {_BYTES[self.addition.kind]}{stream}"
            arguments.append(f"static_cast<int>({size})")
        call = f"{self.name}<<<{blocks}, {self.threads}{shared}>>>({', '.join(arguments)});"
        return (
            f"if ({' && '.join(tests)}) {{\n        {call}\n    }} else {{\n        "
            f"{text(launch.statement)}\n    }}"
        )

    def _tensor(self) -> str:
        """The tensor whose elements are added to."""
        for parameter, argument in zip(self.nest.kernel.parameters, self.nest.launch.arguments, strict=True):
            found = _TENSOR.match(text(argument))
            if parameter.name == self.addition.pointer and found is not None:
                return found[1]
        raise NotUnderstood("a place whose size is not known")
