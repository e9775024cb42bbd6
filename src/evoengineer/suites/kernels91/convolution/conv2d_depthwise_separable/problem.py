"""Depthwise-separable convolution of images (2-D): depthwise with a square kernel, then pointwise."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, channels=1, size=1, filters=1, kernel=1, stride=1, padding=0, dilation=1),
    Case.check(batch=2, channels=7, size=17, filters=5, kernel=3, stride=1, padding=1, dilation=1),
    Case.check(batch=1, channels=16, size=16, filters=32, kernel=3, stride=2, padding=2, dilation=2),
    Case.check(
        batch=3, channels=11, size=19, filters=13, kernel=4, stride=3, padding=0, dilation=1, channels_last=1
    ),
    Case.check(batch=1, channels=5, size=32, filters=7, kernel=3, stride=1, padding=1, dilation=1),
    Case.bench(batch=8, channels=64, size=112, filters=64, kernel=3, stride=1, padding=1, dilation=1),
]
flops = (
    "2*batch*channels*(kernel*kernel + filters)*((size + 2*padding - dilation*(kernel-1) - 1)//stride + 1)**2"
)


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.size, case.size, case.channels).permute(0, 3, 1, 2)
    else:
        x = generator.values(case.batch, case.channels, case.size, case.size)
    return {
        "x": x,
        "depthwise_weight": generator.normal(case.channels, 1, case.kernel, case.kernel),
        "pointwise_weight": generator.normal(case.filters, case.channels, 1, 1),
        "bias": generator.normal(case.filters),
        "stride": case.stride,
        "padding": case.padding,
        "dilation": case.dilation,
    }


def reference(
    x: torch.Tensor,
    depthwise_weight: torch.Tensor,
    pointwise_weight: torch.Tensor,
    bias: torch.Tensor,
    stride: int,
    padding: int,
    dilation: int,
) -> torch.Tensor:
    conv2d = torch.nn.functional.conv2d
    channels = x.shape[1]
    filtered = conv2d(x, depthwise_weight, None, stride, padding, dilation, groups=channels)
    return conv2d(filtered, pointwise_weight, bias)
