"""PyTorch's names in ModelNew: what only shapes, allocates or asks becomes C++; what computes is forbidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evoengineer.kernel.forbidden import is_operation
from evoengineer.kernel.inline.arithmetic import is_number, literal
from evoengineer.kernel.inline.values import (
    Device,
    Dtype,
    Initial,
    MemoryFormat,
    Number,
    Shape,
    Tensor,
    Unreadable,
    Value,
)

_DTYPES = {
    **dict.fromkeys(("float", "float32"), "torch::kFloat32"),
    **dict.fromkeys(("double", "float64"), "torch::kFloat64"),
    **dict.fromkeys(("half", "float16"), "torch::kFloat16"),
    "bfloat16": "torch::kBFloat16",
    **dict.fromkeys(("int", "int32"), "torch::kInt32"),
    **dict.fromkeys(("long", "int64"), "torch::kInt64"),
    "int8": "torch::kInt8",
    "uint8": "torch::kUInt8",
    "bool": "torch::kBool",
}
_FORMATS = {
    "contiguous_format": "torch::MemoryFormat::Contiguous",
    "preserve_format": "torch::MemoryFormat::Preserve",
    "channels_last": "torch::MemoryFormat::ChannelsLast",
    "channels_last_3d": "torch::MemoryFormat::ChannelsLast3d",
}
_SAME = (
    "cuda",
    "cpu",
    "detach",
    "requires_grad_",
    "to_dense",
    "resolve_conj",
)  # of a tensor: the tensor itself
_CASTS = ("float", "double", "half", "bfloat16", "int", "long", "bool")
_SHAPED = ("view", "reshape", "permute", "expand")  # with one list in C++
_PLAIN = (
    "transpose",
    "unsqueeze",
    "squeeze",
    "flatten",
    "select",
    "narrow",
    "t",
    "view_as",
    "expand_as",
    "swapaxes",
)
_COPIES = ("contiguous", "clone", "zero_", "fill_", "copy_", "reshape_as", "unflatten")
_NUMBERS = {
    "dim": "int", "ndimension": "int", "numel": "int", "nelement": "int", "element_size": "int", "stride": "int",
    "is_contiguous": "bool", "get_device": "int", "storage_offset": "int",
}  # fmt: skip
_NEW = {"empty": (), "zeros": (), "ones": (), "full": ("fill_value",)}
_INITIAL = ("rand", "randn", "randint", "tensor", "arange", "eye", "linspace", "randperm", "normal", *_NEW)
_KNOWN = {
    "torch.cuda.is_available": True, "torch.is_grad_enabled": False, "torch.is_inference_mode_enabled": False,
    "torch.is_tensor": True, "torch.is_autocast_enabled": False,
}  # fmt: skip
_IGNORED = (
    *("torch.cuda.synchronize", "torch.manual_seed", "torch.cuda.empty_cache", "torch.set_grad_enabled"),
    *(
        "torch.no_grad",
        "torch.inference_mode",
        "torch.cuda.device",
        "torch.autocast",
        "torch.cuda.amp.autocast",
    ),
    *("torch.cuda.nvtx.range_push", "torch.cuda.nvtx.range_pop", "torch.set_float32_matmul_precision"),
)


def constant_named(path: str) -> Dtype | MemoryFormat | None:
    """`torch.float16`, `torch.channels_last`."""
    package, _, name = path.rpartition(".")
    if package != "torch":
        return None
    if name in _FORMATS:
        return MemoryFormat(_FORMATS[name])
    return Dtype(_DTYPES[name]) if name in _DTYPES else None


def call_torch(path: str, values: Sequence[Value], named: Mapping[str, Value], *, running: bool) -> Value:
    """A call of something of PyTorch's; `running`: in forward, where tensors are real. Raises Unreadable."""
    name = path.rpartition(".")[2]
    if path in _KNOWN:
        return _KNOWN[path]
    if path in _IGNORED:
        return None
    if path == "torch.device":
        return Device()
    if path == "torch.Size":
        return values[0] if values else []
    if not running:
        if path == f"torch.{name}" and name in _INITIAL:
            return Initial(_initial_shape(name, values, named))
        if path.startswith("torch.nn.init."):
            return values[0] if values else None
        raise Unreadable(f"{path} in __init__ is not understood")
    if path == f"torch.{name}" and name in _NEW:
        return _new(name, values, named)
    if (
        path == f"torch.{name}"
        and name.removesuffix("_like") in _NEW
        and values
        and isinstance(values[0], Tensor)
    ):
        given = "".join(f", {literal(each)}" for each in (*values[1:], *_fill(named)))
        asked = [f".dtype({each.code})" for each in named.values() if isinstance(each, Dtype)]
        asked += [f".memory_format({each.code})" for each in named.values() if isinstance(each, MemoryFormat)]
        options = f", {values[0].code}.options(){''.join(asked)}" if asked else ""
        return Tensor(f"torch::{name}({values[0].code}{given}{options})", values[0].rank)
    if path == f"torch.{name}" and values and isinstance(values[0], Tensor) and name in (*_SHAPED, *_PLAIN):
        return call_tensor(values[0], name, values[1:], named)
    if path.startswith("torch.ops."):
        raise Unreadable(f"{path}: only functions of a load_inline extension can be called")
    raise Unreadable(path, forbidden=_computes(path))


def _computes(path: str) -> bool:
    name = path.rpartition(".")[2]
    return path.startswith("torch.nn.functional.") or is_operation(name) or path.startswith("torch.linalg.")


def _fill(named: Mapping[str, Value]) -> list[Value]:
    return [named["fill_value"]] if "fill_value" in named else []


def _initial_shape(
    name: str, values: Sequence[Value], named: Mapping[str, Value]
) -> tuple[Value, ...] | None:
    if name in ("tensor", "arange", "eye", "linspace", "randint", "randperm", "normal"):
        return None
    sizes = _sizes(named.get("size", values[:1] if name == "full" else values))
    return tuple(sizes) if all(map(is_number, sizes)) else None


def _sizes(value: Value) -> list[Value]:
    """`f(2, 3)`, `f((2, 3))` and `f([2, 3])` alike."""
    listed = list(value) if isinstance(value, (list, tuple)) else [value]
    if len(listed) == 1 and isinstance(listed[0], (list, tuple)):
        return list(listed[0])
    return listed


def _braced(sizes: Sequence[Value]) -> str:
    """A list of sizes for C++."""
    if len(sizes) == 1 and isinstance(sizes[0], Shape):
        return f"{sizes[0].tensor.code}.sizes()"
    if not all(map(is_number, sizes)):
        raise Unreadable("a size is no number")
    return "{" + ", ".join(f"static_cast<int64_t>({literal(each)})" for each in sizes) + "}"


def _new(
    name: str, values: Sequence[Value], named: Mapping[str, Value], like: Tensor | None = None
) -> Tensor:
    fill = list(values[1:2]) if name == "full" else []
    sizes = _sizes(named.get("size", values[:1] if name == "full" else values))
    dtype = named.get("dtype")
    if dtype is not None and not isinstance(dtype, Dtype):
        raise Unreadable(f"torch.{name}: the dtype is not understood")
    filled = "".join(f", {literal(each)}" for each in (*fill, *_fill(named)))
    options = "torch::TensorOptions().device(torch::kCUDA)" if like is None else f"{like.code}.options()"
    if dtype is not None:
        options += f".dtype({dtype.code})"
    rank = None if any(isinstance(each, Shape) for each in sizes) else len(sizes)
    return Tensor(f"torch::{name}({_braced(sizes)}{filled}, {options})", rank)


def tensor_attribute(tensor: Tensor, name: str) -> Value:
    """`x.shape` and other attributes that are no methods; NotImplemented for what is."""
    known: dict[str, Value] = {
        "shape": Shape(tensor),
        "dtype": Dtype(f"{tensor.code}.scalar_type()"),
        "device": Device(),
        "data": tensor,
        "is_cuda": True,
        "requires_grad": False,
        "grad": None,
        "T": Tensor(f"{tensor.code}.t()", tensor.rank),
        "mT": Tensor(f"{tensor.code}.transpose(-2, -1)", tensor.rank),
        "ndim": Number(f"{tensor.code}.dim()", "int", tensor.rank),
    }
    return known.get(name, NotImplemented)


def call_tensor(tensor: Tensor, name: str, values: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """A method of a tensor's."""
    code = tensor.code
    if name in _SAME:
        return tensor
    if name in ("to", "type"):
        return _cast(tensor, [*values, *named.values()])
    if name in _CASTS:
        return Tensor(f"{code}.to({_DTYPES[name]})", tensor.rank)
    if name == "type_as" and values and isinstance(values[0], Tensor):
        return Tensor(f"{code}.to({values[0].code}.scalar_type())", tensor.rank)
    if name == "size":
        if not values:
            return Shape(tensor)
        return Number(f"{code}.size({literal(values[0])})")
    if name in _NUMBERS and not any(isinstance(each, Tensor) for each in values):
        if name == "stride" and not values:
            raise Unreadable("Tensor.stride() without a dimension is not understood")
        given = "" if named else ", ".join(map(literal, values))
        known = tensor.rank if name in ("dim", "ndimension") else None
        if name == "is_contiguous":
            return Number(f"{code}.is_contiguous({_format(name, values, named)})", "bool")
        return Number(f"{code}.{_cpp_name(name)}({given})", _NUMBERS[name], known)
    if name in _SHAPED:
        sizes = _sizes(values)
        return Tensor(f"{code}.{name}({_braced(sizes)})", None if name == "expand" else len(sizes) or None)
    if name.startswith("new_") and name[4:] in _NEW:
        return _new(name[4:], values, named, tensor)
    if name in (*_PLAIN, *_COPIES):
        if name in ("contiguous", "clone"):
            return Tensor(f"{code}.{name}({_format(name, values, named)})", tensor.rank)
        given = ", ".join(
            each.code if isinstance(each, Tensor) else literal(each) for each in (*values, *named.values())
        )
        return Tensor(f"{code}.{_cpp_name(name)}({given})", tensor.rank if name in _COPIES else None)
    raise Unreadable(f"Tensor.{name}", forbidden=is_operation(name.rstrip("_")))


def _format(name: str, values: Sequence[Value], named: Mapping[str, Value]) -> str:
    """The memory format that a method is given, or nothing."""
    given = [*values, *named.values()]
    if not given:
        return ""
    if len(given) > 1 or not isinstance(given[0], MemoryFormat):
        raise Unreadable(f"Tensor.{name}: the memory format is not understood")
    return given[0].code


def _cpp_name(name: str) -> str:
    return {"ndimension": "dim", "nelement": "numel", "swapaxes": "transpose"}.get(name, name)


def _cast(tensor: Tensor, values: Sequence[Value]) -> Tensor:
    """`to` and `type`: other devices are the same here, other types are not."""
    for value in values:
        if isinstance(value, Dtype):
            return Tensor(f"{tensor.code}.to({value.code})", tensor.rank)
        if isinstance(value, Tensor):
            return Tensor(f"{tensor.code}.to({value.code}.scalar_type())", tensor.rank)
        if isinstance(value, MemoryFormat):
            return Tensor(f"{tensor.code}.contiguous({value.code})", tensor.rank)
        if not isinstance(value, (Device, str, bool, int, type(None))):
            raise Unreadable("Tensor.to: the target is not understood")
    return tensor
