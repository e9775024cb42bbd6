"""A runner in Python for the tests: loads a build and calls it over the plain C boundary, on CPU tensors only."""

from __future__ import annotations

import ctypes as c
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evoengineer.toolchain.compilers import find_toolchain
from evoengineer.toolchain.toolkit import toolkit_of

DTYPES = {
    "uint8": 0,
    "int32": 3,
    "int64": 4,
    "float16": 5,
    "float32": 6,
    "float64": 7,
    "bool": 11,
    "bfloat16": 15,
}
_FORMATS = {0: "B", 3: "i", 4: "q", 5: "e", 6: "f", 7: "d", 11: "?"}
NONE, TENSOR, INTEGER, FLOAT, BOOLEAN, STRING, LIST, TUPLE, DTYPE, DICT = range(10)
DIMENSIONS = 16


class Storage(c.Structure):
    _fields_ = (
        ("data", c.c_void_p),
        ("bytes", c.c_size_t),
        ("device_type", c.c_int32),
        ("device_index", c.c_int32),
    )


class EvoTensor(c.Structure):
    _fields_ = (
        ("storage", c.POINTER(Storage)),
        ("data", c.c_void_p),
        ("storage_offset", c.c_int64),
        ("dtype", c.c_int32),
        ("device_type", c.c_int32),
        ("device_index", c.c_int32),
        ("dimensions", c.c_int32),
        ("sizes", c.c_int64 * DIMENSIONS),
        ("strides", c.c_int64 * DIMENSIONS),
    )


class Value(c.Structure):
    pass


class _String(c.Structure):
    _fields_ = (("text", c.c_char_p), ("length", c.c_size_t))


class _Sequence(c.Structure):
    _fields_ = (("items", c.POINTER(Value)), ("count", c.c_size_t))


class _Content(c.Union):
    _fields_ = (
        ("integer", c.c_int64),
        ("number", c.c_double),
        ("tensor", c.POINTER(EvoTensor)),
        ("string", _String),
        ("sequence", _Sequence),
    )


Value._fields_ = (("kind", c.c_int32), ("content", _Content))


class EvoError(c.Structure):
    _fields_ = (("kind", c.c_int32), ("code", c.c_int32), ("message", c.c_char * 4088))


_ALLOCATE = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_size_t, c.c_int32, c.c_int32, c.POINTER(EvoError))
_COUNT = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p)
_WARN = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p)


class Host(c.Structure):
    _fields_ = (
        ("version", c.c_uint32),
        ("device_index", c.c_int32),
        ("context", c.c_void_p),
        ("stream", c.c_void_p),
        ("allocate", _ALLOCATE),
        ("adopt", c.c_void_p),
        ("retain", _COUNT),
        ("release", _COUNT),
        ("warn", _WARN),
    )


class Parameter(c.Structure):
    _fields_ = (("name", c.c_char_p), ("type", c.c_char_p), ("optional", c.c_int32))


class Function(c.Structure):
    _fields_ = (
        ("name", c.c_char_p),
        ("doc", c.c_char_p),
        ("parameters", c.POINTER(Parameter)),
        ("parameter_count", c.c_size_t),
    )


_CALL = c.CFUNCTYPE(
    c.c_int32,
    c.c_char_p,
    c.POINTER(Value),
    c.POINTER(c.c_char_p),
    c.c_size_t,
    c.POINTER(Value),
    c.POINTER(EvoError),
)


class EvoModule(c.Structure):
    _fields_ = (
        ("version", c.c_uint32),
        ("name", c.c_char_p),
        ("functions", c.POINTER(Function)),
        ("function_count", c.c_size_t),
        ("call", _CALL),
        ("dispose", c.CFUNCTYPE(None, c.POINTER(Value))),
    )


class CallError(Exception):
    def __init__(self, kind: int, code: int, message: str) -> None:
        super().__init__(message)
        self.kind, self.code, self.message = kind, code, message


@dataclass(frozen=True)
class Tensor:
    """What came back, copied out: sizes, strides and the elements in their logical order."""

    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    elements: tuple[float, ...]


@dataclass(frozen=True)
class Dtype:
    name: str


@dataclass
class Runner:
    """One loaded build; counts storages, so that tests see leaks."""

    library: Path
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        c.CDLL(str(toolkit_of(find_toolchain()).cudart()), mode=c.RTLD_GLOBAL)
        self._references: dict[int, int] = {}
        self._memory: dict[int, Any] = {}
        self._host = Host(
            version=1,
            allocate=_ALLOCATE(self._allocate),
            retain=_COUNT(lambda _, storage: self._count(storage, 1)),
            release=_COUNT(lambda _, storage: self._count(storage, -1)),
            warn=_WARN(lambda _, text: self.warnings.append(text.decode())),
        )
        module, error = c.POINTER(EvoModule)(), EvoError()
        status = c.CDLL(str(self.library)).evo_open(c.byref(self._host), c.byref(module), c.byref(error))
        if status:
            raise CallError(error.kind, error.code, error.message.decode())
        self._module = module.contents

    @property
    def live_storages(self) -> int:
        return len(self._memory)

    @property
    def signatures(self) -> dict[str, list[tuple[str, str, bool]]]:
        found = {}
        for function in self._module.functions[: self._module.function_count]:
            parameters = function.parameters[: function.parameter_count]
            found[function.name.decode()] = [
                (p.name.decode(), p.type.decode(), bool(p.optional)) for p in parameters
            ]
        return found

    def call(self, name: str, *arguments: Any, **named: Any) -> Any:
        held: list[Any] = []
        values = [*arguments, *named.values()]
        array = (Value * len(values))(*(self._value(each, held) for each in values))
        names = (c.c_char_p * len(values))(*(None for _ in arguments), *(each.encode() for each in named))
        result, error = Value(), EvoError()
        status = self._module.call(name.encode(), array, names, len(values), c.byref(result), c.byref(error))
        try:
            if status:
                raise CallError(status, error.code, error.message.decode())
            answer = self._python(result)
            self._module.dispose(c.byref(result))
            return answer
        finally:
            for tensor in held:
                if isinstance(tensor, EvoTensor):
                    self._count(c.addressof(tensor.storage.contents), -1)

    def tensor(self, dtype: str, sizes: Sequence[int], elements: Sequence[float]) -> EvoTensor:
        data = struct.pack(f"{len(elements)}{_FORMATS[DTYPES[dtype]]}", *elements)
        address = self._allocate(None, len(data), 0, 0, None)
        storage = c.cast(address, c.POINTER(Storage))
        c.memmove(storage.contents.data, data, len(data))
        tensor = EvoTensor(
            storage=storage, data=storage.contents.data, dtype=DTYPES[dtype], dimensions=len(sizes)
        )
        step = 1
        for place in reversed(range(len(sizes))):
            tensor.sizes[place], tensor.strides[place] = sizes[place], step
            step *= sizes[place]
        return tensor

    def _allocate(self, _: Any, size: int, device_type: int, index: int, error: Any) -> int:
        if device_type != 0 or size > 1 << 30:
            error.contents.message = b"no such memory"
            return 0
        buffer = c.create_string_buffer(b"\xee" * (size + 256))
        storage = Storage(c.addressof(buffer) + -c.addressof(buffer) % 256, size, device_type, index)
        self._memory[c.addressof(storage)] = (storage, buffer)
        self._references[c.addressof(storage)] = 1
        return c.addressof(storage)

    def _count(self, storage: int, change: int) -> None:
        self._references[storage] += change
        if self._references[storage] == 0:
            del self._references[storage], self._memory[storage]

    def _value(self, value: Any, held: list[Any]) -> Value:
        made = Value()
        match value:
            case None:
                made.kind = NONE
            case bool():
                made.kind, made.content.integer = BOOLEAN, value
            case int():
                made.kind, made.content.integer = INTEGER, value
            case float():
                made.kind, made.content.number = FLOAT, value
            case str():
                made.kind, made.content.string = STRING, _String(value.encode(), len(value.encode()))
            case Dtype(name):
                made.kind, made.content.integer = DTYPE, DTYPES[name]
            case EvoTensor():
                held.append(value)
                made.kind, made.content.tensor = TENSOR, c.pointer(value)
            case list() | tuple() | dict():
                items = (
                    [each for pair in value.items() for each in pair] if isinstance(value, dict) else value
                )
                array = (Value * len(items))(*(self._value(each, held) for each in items))
                held.append(array)
                made.kind = DICT if isinstance(value, dict) else LIST if isinstance(value, list) else TUPLE
                made.content.sequence = _Sequence(array, len(items))
        return made

    def _python(self, value: Value) -> Any:
        content = value.content
        match value.kind:
            case 1:
                return self._copied(content.tensor.contents)
            case 2:
                return content.integer
            case 3:
                return content.number
            case 4:
                return bool(content.integer)
            case 5:
                return c.string_at(content.string.text, content.string.length).decode()
            case 6 | 7:
                items = [self._python(each) for each in content.sequence.items[: content.sequence.count]]
                return items if value.kind == LIST else tuple(items)
            case 8:
                return Dtype(next(name for name, number in DTYPES.items() if number == content.integer))
            case _:
                return None

    def _copied(self, tensor: EvoTensor) -> Tensor:
        sizes = tuple(tensor.sizes[: tensor.dimensions])
        strides = tuple(tensor.strides[: tensor.dimensions])
        places = [0]
        for size, stride in zip(sizes, strides, strict=True):
            places = [place + i * stride for place in places for i in range(size)]
        name = next(name for name, number in DTYPES.items() if number == tensor.dtype)
        return Tensor(name, sizes, strides, tuple(_element(tensor, name, place) for place in places))


def _element(tensor: EvoTensor, dtype: str, place: int) -> float:
    if dtype == "bfloat16":
        (bits,) = struct.unpack("<H", c.string_at(tensor.data + 2 * place, 2))
        return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0])
    code = _FORMATS[DTYPES[dtype]]
    size = struct.calcsize(code)
    return struct.unpack(code, c.string_at(tensor.data + size * place, size))[0]  # type: ignore[no-any-return]
