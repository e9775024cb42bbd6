"""Devices: where kernels run. `sim:rtx4090` is the simulated GPU with that card's profile.

    with open_device("sim:rtx4090") as device:
        module = device.load(ptx_text)
        x = device.upload(numpy_array)
        device.launch(module["saxpy"], grid=4, block=256, arguments=[x, 2.0, n])
        result = device.download(x)

`Device` is the seam: what the judge needs of a device, whether simulated or real. Importing this package
pulls in neither LLVM nor NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from evoengineer.device.options import DEFAULT_CHECKS, DeviceOptions, Limits, default_threads
from evoengineer.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Buffer", "Device", "DeviceOptions", "Kernel", "Limits", "Module", "open_device"]

NO_LIMITS = Limits()
Extent = int | Sequence[int]
"""A grid or block: one to three sizes."""


class Buffer(Protocol):
    """Device memory; `dtype` and `shape` are those of the array it was made from."""

    @property
    def address(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def shape(self) -> tuple[int, ...]: ...


class Kernel(Protocol):
    @property
    def name(self) -> str: ...


class Module(Protocol):
    """Loaded device code: kernels and variables by their (mangled) names."""

    @property
    def kernels(self) -> Mapping[str, Kernel]: ...

    @property
    def variables(self) -> Mapping[str, Buffer]: ...

    def __getitem__(self, name: str) -> Kernel: ...


class Device(Protocol):
    """Every failure raises DeviceError, whose `report` says what the device found."""

    @property
    def name(self) -> str: ...

    def load(self, code: str | bytes | Path) -> Module: ...

    def unload(self, module: Any) -> None: ...

    def allocate(self, shape: Extent, dtype: Any = "uint8") -> Buffer: ...

    def free(self, buffer: Any) -> None: ...

    def upload(self, array: np.ndarray) -> Buffer: ...

    def write(self, buffer: Any, array: np.ndarray) -> None: ...

    def download(self, buffer: Any) -> np.ndarray: ...

    def launch(
        self,
        kernel: Any,
        grid: Extent,
        block: Extent,
        arguments: Sequence[Any] = (),
        *,
        shared_bytes: int = 0,
        cooperative: bool = False,
    ) -> None: ...

    def synchronize(self) -> None: ...

    def close(self) -> None: ...

    def __enter__(self) -> Device: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_device(
    name: str = "sim:rtx4090",
    threads: int | None = None,
    checks: frozenset[str] = DEFAULT_CHECKS,
    limits: Limits = NO_LIMITS,
) -> Device:
    """The device of that name, ready for use. Close it, or use it as a context manager."""
    if not name.startswith("sim:"):
        raise UsageError(
            f"unknown device {name!r}: only simulated devices (sim:…) can be opened from Python so far"
        )
    from evoengineer.device.sim.device import SimDevice

    return SimDevice(DeviceOptions(name, threads or default_threads(), checks, limits))
