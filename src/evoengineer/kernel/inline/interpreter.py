"""Reading a Python file as if it ran: module, ModelNew.__init__, ModelNew.forward. Nothing is executed.

At module level and in __init__ what is not understood becomes `Unknown`, harmless until it is used. In forward,
tensors are C++ expressions, and statements go to `lines`; there, what is not understood ends the reading.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from evoengineer.kernel.inline.arithmetic import binary, is_number, literal
from evoengineer.kernel.inline.calls import set_attribute
from evoengineer.kernel.inline.expressions import MOST_ROUNDS, Expressions, named
from evoengineer.kernel.inline.reading import Returned, at_line, fixed, known, truth
from evoengineer.kernel.inline.values import (
    Instance,
    Many,
    Named,
    Number,
    PythonClass,
    PythonFunction,
    Scope,
    Tensor,
    Unknown,
    Unreadable,
    Value,
)


class Interpreter(Expressions):
    """Statements: of the module, of __init__, and of forward."""

    def run_module(self, tree: ast.Module) -> None:
        """Definitions and constants of a file."""
        self._block(tree.body, self.module)

    def _block(self, body: Sequence[ast.stmt], scope: Scope) -> Returned | None:
        for statement in body:
            self._step(statement)
            try:
                ended = self._statement(statement, scope)
            except Unreadable as error:
                if self.running:
                    raise at_line(error, statement) from None
                self.troubles.append(at_line(error, statement))
                self._forget(statement, scope, error)
                continue
            if ended is not None:
                return ended
        return None

    def _forget(self, statement: ast.stmt, scope: Scope, error: Unreadable) -> None:
        """What an assignment that is not understood would have set is unknown from then on."""
        unknown = Unknown(error.reason, error.line, error.forbidden)
        targets = (
            statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        )
        for target in targets:
            for node in ast.walk(target) if target is not None else ():
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    scope.set(node.id, unknown)
                elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    owner = scope.names.get(node.value.id)
                    if isinstance(owner, Instance):
                        owner.values[node.attr] = unknown

    def _statement(self, node: ast.stmt, scope: Scope) -> Returned | None:
        match node:
            case ast.Assign():
                value = self._value(node.value, scope)
                for target in node.targets:
                    self._assign(target, value, scope)
            case ast.AnnAssign(value=ast.expr() as expression):
                self._assign(node.target, self._value(expression, scope), scope)
            case ast.AugAssign():
                current = self._value(_load(node.target), scope)
                value = binary(type(node.op), current, self._value(node.value, scope))
                self._assign(node.target, value, scope)
            case ast.Return():
                return self._returned(None if node.value is None else self._value(node.value, scope))
            case ast.Expr():
                if not isinstance(node.value, ast.Constant):
                    self._value(node.value, scope)
            case ast.If():
                return self._if(node, scope)
            case ast.For():
                return self._for(node, scope)
            case ast.With():
                return self._with(node, scope)
            case ast.Try():
                return self._block([*node.body, *node.orelse, *node.finalbody], scope)
            case ast.FunctionDef():
                scope.set(node.name, PythonFunction(node, scope))
            case ast.ClassDef():
                scope.set(node.name, self._class(node, scope))
            case ast.Import() | ast.ImportFrom():
                self._import(node, scope)
            case ast.Global():
                scope.shared.update(node.names)
            case ast.Assert():
                self._assert(node, scope)
            case ast.Raise():
                if self.running:
                    self.lines.append('TORCH_CHECK(false, "ModelNew.forward raises");')
                    return Returned(ended=True)
                raise Unreadable("it raises an exception")
            case ast.Pass() | ast.Delete() | ast.AnnAssign():
                pass
            case _:
                raise Unreadable(f"a {type(node).__name__.lower()} statement is not understood")
        return None

    def _returned(self, value: Value) -> Returned:
        if self._depth > 1 or not self.running:
            return Returned(value)
        if value is None:
            raise Unreadable("ModelNew.forward returns nothing")
        if isinstance(value, (list, tuple)):
            codes = [self._tensor(each).code for each in value]
            code, kind = f"std::vector<torch::Tensor>{{{', '.join(codes)}}}", "std::vector<torch::Tensor>"
        elif isinstance(value, Many):
            code, kind = value.code, f"auto ({value.kind})"
        else:
            code, kind = self._tensor(value).code, "torch::Tensor"
        self.results.add(kind)
        self.lines.append(f"return {code};")
        return Returned(value, ended=True)

    def _tensor(self, value: Value) -> Tensor:
        found = known(value)
        if isinstance(found, Tensor):
            return found
        raise Unreadable(f"ModelNew.forward returns a {type(found).__name__} instead of tensors")

    def _if(self, node: ast.If, scope: Scope) -> Returned | None:
        condition = truth(self._value(node.test, scope))
        if not isinstance(condition, Number) or (not self.running and condition.value is not None):
            return self._block(node.body if fixed(condition) else node.orelse, scope)
        if not self.running:
            raise Unreadable("a condition in __init__ is not known")
        return self._branches(condition, node, scope)

    def _branches(self, condition: Number, node: ast.If, scope: Scope) -> Returned | None:
        """Both ways, as C++. What one of them sets becomes a variable of C++ that the other leaves as it was."""
        before, outside = dict(scope.names), self.lines
        ways: list[tuple[list[str], dict[str, Value], bool]] = []
        for body in (node.body, node.orelse):
            scope.names, self.lines = dict(before), []
            ended = self._block(body, scope)
            if ended is not None and not ended.ended:
                raise Unreadable("a function that forward calls returns inside a branch")
            ways.append((self.lines, scope.names, ended is not None))
        scope.names, self.lines = dict(before), outside
        going = [(lines, names) for lines, names, ended in ways if not ended]
        for name in sorted(
            {name for _, names in going for name in names if names[name] is not before.get(name)}
        ):
            values = [known(names.get(name, before.get(name))) for _, names in going]
            tensors = all(isinstance(each, Tensor) for each in values)
            if not tensors and not all(is_number(each) for each in values):
                scope.names[name] = Unknown(f"{name} is set in one branch only, or to unlike values")
                continue
            kind = (
                "torch::Tensor"
                if tensors
                else "double"
                if any(_is_float(each) for each in values)
                else "int64_t"
            )
            variable = self._fresh()
            outside.append(f"{kind} {variable};")
            for (lines, _), value in zip(going, values, strict=True):
                lines.append(f"{variable} = {value.code if tensors else literal(value)};")
            scope.names[name] = (
                Tensor(variable) if tensors else Number(variable, "float" if kind == "double" else "int")
            )
        outside.append(f"if ({condition.code}) {{")
        outside += [f"    {line}" for line in ways[0][0]]
        if ways[1][0]:
            outside.append("} else {")
            outside += [f"    {line}" for line in ways[1][0]]
        outside.append("}")
        return Returned(ended=True) if not going else None

    def _for(self, node: ast.For, scope: Scope) -> Returned | None:
        rounds = self._value(node.iter, scope)
        if isinstance(rounds, Instance) and rounds.own is None:
            rounds = list(rounds.children.values())
        if not isinstance(rounds, (list, tuple, range)) or len(rounds) > MOST_ROUNDS:
            raise Unreadable("a loop whose rounds are not known without running the file")
        for each in rounds:
            self._assign(node.target, each, scope)
            ended = self._block(node.body, scope)
            if ended is not None:
                return ended
        return self._block(node.orelse, scope)

    def _with(self, node: ast.With, scope: Scope) -> Returned | None:
        for item in node.items:
            value = self._value(item.context_expr, scope)
            if item.optional_vars is not None:
                self._assign(item.optional_vars, value, scope)
        return self._block(node.body, scope)

    def _assert(self, node: ast.Assert, scope: Scope) -> None:
        try:
            condition = self._value(node.test, scope)
        except Unreadable as error:
            if error.forbidden:
                raise
            return  # an assertion that holds changes nothing
        if self.running and isinstance(condition, (Number, bool)):
            self.lines.append(f'TORCH_CHECK({literal(condition)}, "an assertion of ModelNew does not hold");')

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        for each in node.names:
            if isinstance(node, ast.Import):
                path = each.name if each.asname else each.name.partition(".")[0]
                scope.set(each.asname or path, Named(path))
            else:
                scope.set(each.asname or each.name, named(f"{node.module}.{each.name}"))

    def _class(self, node: ast.ClassDef, scope: Scope) -> PythonClass:
        inside = Scope(outer=scope)
        self._block(node.body, inside)
        return PythonClass(node.name, tuple(self._value(base, scope) for base in node.bases), inside.names)

    def _assign(self, target: ast.expr, value: Value, scope: Scope) -> None:
        match target:
            case ast.Name():
                scope.set(target.id, value)
            case ast.Tuple() | ast.List():
                if any(isinstance(each, ast.Starred) for each in target.elts):
                    raise Unreadable("an assignment with * is not understood")
                for each, part in zip(target.elts, self._parts(value, len(target.elts)), strict=True):
                    self._assign(each, part, scope)
            case ast.Attribute():
                owner = self._value(target.value, scope)
                if isinstance(owner, Instance):
                    set_attribute(owner, target.attr, value)
                elif not isinstance(owner, Named):  # `ctx.x = …`, `F.x = …`
                    raise Unreadable(f"an attribute {target.attr} is set on what is no module")
            case ast.Subscript():
                owner, key = self._value(target.value, scope), self._value(target.slice, scope)
                if isinstance(owner, Tensor):
                    raise Unreadable("an assignment to a tensor's elements", forbidden=True)
                if not isinstance(owner, dict):
                    raise Unreadable("an assignment to an item is not understood")
                owner[key] = value
            case _:
                raise Unreadable("an assignment is not understood")


def _load(target: ast.expr) -> ast.expr:
    """The target of an assignment, to be read."""
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    if isinstance(target, ast.Attribute):
        return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
    if isinstance(target, ast.Subscript):
        return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    raise Unreadable("an assignment is not understood")


def _is_float(value: Value) -> bool:
    return isinstance(value, float) or (isinstance(value, Number) and value.kind == "float")
