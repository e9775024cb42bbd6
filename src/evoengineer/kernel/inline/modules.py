"""Modules of torch.nn as far as __init__ needs them: names and shapes of their state, and attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from evoengineer.kernel.inline.values import Instance, Number, Parameter, Unreadable, Value

# Names of a constructor's arguments in order, and the values of those that may be left out.
_LINEAR = (("in_features", "out_features", "bias"), {"bias": True})
_CONVOLUTION = (
    ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "bias"),
    {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, "bias": True},
)
_TRANSPOSED = (
    (
        *(
            "in_channels",
            "out_channels",
            "kernel_size",
            "stride",
            "padding",
            "output_padding",
            "groups",
            "bias",
        ),
        "dilation",
    ),
    {"stride": 1, "padding": 0, "output_padding": 0, "groups": 1, "bias": True, "dilation": 1},
)
_BATCH_NORM = (
    ("num_features", "eps", "momentum", "affine", "track_running_stats"),
    {"eps": 1e-5, "momentum": 0.1, "affine": True, "track_running_stats": True},
)
_INSTANCE_NORM = (_BATCH_NORM[0], {**_BATCH_NORM[1], "affine": False, "track_running_stats": False})
_GROUP_NORM = (("num_groups", "num_channels", "eps", "affine"), {"eps": 1e-5, "affine": True})
_LAYER_NORM = (
    ("normalized_shape", "eps", "elementwise_affine", "bias"),
    {"eps": 1e-5, "elementwise_affine": True, "bias": True},
)
_RMS_NORM = (("normalized_shape", "eps", "elementwise_affine"), {"eps": None, "elementwise_affine": True})
_EMBEDDING: tuple[tuple[str, ...], dict[str, Value]] = (("num_embeddings", "embedding_dim"), {})
_WINDOW = (
    ("kernel_size", "stride", "padding", "dilation"),
    {"stride": None, "padding": 0, "dilation": 1},
)
_SLOPE = (("negative_slope",), {"negative_slope": 0.01})
_DIMENSION = (("dim",), {"dim": None})
_NOTHING: tuple[tuple[str, ...], dict[str, Value]] = ((), {})

_STATELESS = {
    **dict.fromkeys(
        (
            "ReLU",
            "GELU",
            "Sigmoid",
            "Tanh",
            "SiLU",
            "Softplus",
            "Softsign",
            "Mish",
            "Hardswish",
            "Hardsigmoid",
        ),
        _NOTHING,
    ),
    **dict.fromkeys(
        ("ELU", "SELU", "ReLU6", "Hardtanh", "LogSigmoid", "Flatten", "Identity", "Dropout"), _NOTHING
    ),
    **dict.fromkeys(("MSELoss", "L1Loss", "SmoothL1Loss", "CrossEntropyLoss", "KLDivLoss"), _NOTHING),
    **dict.fromkeys(("Softmax", "LogSoftmax"), _DIMENSION),
    "LeakyReLU": _SLOPE,
    **{
        f"{kind}Pool{rank}d": _WINDOW
        for kind in ("Max", "Avg", "AdaptiveAvg", "AdaptiveMax")
        for rank in (1, 2, 3)
    },
}
Given = Mapping[str, Value]


def _linear(given: Given) -> dict[str, Parameter]:
    shape = (given["out_features"], given["in_features"])
    return {"weight": Parameter(shape), **({"bias": Parameter(shape[:1])} if given["bias"] else {})}


def _convolution(rank: int, transposed: bool) -> Callable[[Given], dict[str, Parameter]]:
    def state(given: Given) -> dict[str, Parameter]:
        kernel = _spread(given["kernel_size"], rank)
        inner, outer = given["in_channels"], given["out_channels"]
        grouped = given["groups"] != 1
        channels = (inner, None if grouped else outer) if transposed else (outer, None if grouped else inner)
        bias = {"bias": Parameter((outer,))} if given["bias"] else {}
        return {"weight": Parameter((*channels, *kernel)), **bias}

    return state


def _batch_norm(given: Given) -> dict[str, Parameter]:
    size = Parameter((given["num_features"],))
    affine = {"weight": size, "bias": size} if given["affine"] else {}
    running = {"running_mean": size, "running_var": size, "num_batches_tracked": Parameter(())}
    return {**affine, **(running if given["track_running_stats"] else {})}


def _layer_norm(given: Given) -> dict[str, Parameter]:
    shape = given["normalized_shape"]
    whole = Parameter(tuple(shape) if isinstance(shape, (list, tuple)) else (shape,))
    if not given["elementwise_affine"]:
        return {}
    return {"weight": whole, **({"bias": whole} if given.get("bias", False) else {})}


def _group_norm(given: Given) -> dict[str, Parameter]:
    size = Parameter((given["num_channels"],))
    return {"weight": size, "bias": size} if given["affine"] else {}


def _embedding(given: Given) -> dict[str, Parameter]:
    return {"weight": Parameter((given["num_embeddings"], given["embedding_dim"]))}


_MODULES: dict[
    str, tuple[tuple[tuple[str, ...], dict[str, Value]], Callable[[Given], dict[str, Parameter]]]
] = {
    "Linear": (_LINEAR, _linear),
    "LayerNorm": (_LAYER_NORM, _layer_norm),
    "RMSNorm": (_RMS_NORM, _layer_norm),
    "GroupNorm": (_GROUP_NORM, _group_norm),
    "Embedding": (_EMBEDDING, _embedding),
    **{f"Conv{rank}d": (_CONVOLUTION, _convolution(rank, False)) for rank in (1, 2, 3)},
    **{f"ConvTranspose{rank}d": (_TRANSPOSED, _convolution(rank, True)) for rank in (1, 2, 3)},
    **{f"BatchNorm{rank}d": (_BATCH_NORM, _batch_norm) for rank in (1, 2, 3)},
    **{f"InstanceNorm{rank}d": (_INSTANCE_NORM, _batch_norm) for rank in (1, 2, 3)},
    **{name: (form, lambda given: {}) for name, form in _STATELESS.items()},
}
_BUFFERS = ("running_mean", "running_var", "num_batches_tracked")
_SPREAD = ("kernel_size", "stride", "padding", "dilation", "output_padding")


def make_module(name: str, values: Sequence[Value], named: Given) -> Instance:
    """`nn.Linear(…)` and its kin; raises Unreadable for a module that is not known here."""
    if name in ("Sequential", "ModuleList"):
        listed = values[0] if name == "ModuleList" and values else values
        if not isinstance(listed, (list, tuple)) or not all(isinstance(each, Instance) for each in listed):
            raise Unreadable(f"nn.{name}: its modules cannot be read without running the file")
        return Instance(name, children={str(place): each for place, each in enumerate(listed)})
    if name not in _MODULES:
        raise Unreadable(f"nn.{name} is not known here: hold its parameters as nn.Parameter")
    (names, defaults), state = _MODULES[name]
    given: dict[str, Value] = {**defaults, **dict(zip(names, values, strict=False)), **named}
    missing = [each for each in names if each not in given]
    if missing:
        raise Unreadable(f"nn.{name}: {missing[0]} is not given")
    if name.startswith("Conv"):
        rank = int(name[-2])
        given.update({each: _spread(given[each], rank) for each in _SPREAD if each in given})
    found = {each: Parameter(value.shape) for each, value in state(given).items()}
    return Instance(
        name,
        values={each: value for each, value in given.items() if each != "bias"},
        parameters={each: value for each, value in found.items() if each not in _BUFFERS},
        buffers={each: value for each, value in found.items() if each in _BUFFERS},
    )


def _spread(value: Value, rank: int) -> tuple[Value, ...]:
    """A size for every dimension, as PyTorch keeps it."""
    if isinstance(value, (list, tuple)):
        return tuple(value)
    return (value,) * rank if isinstance(value, (int, Number)) else (value,)
