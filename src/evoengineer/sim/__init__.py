"""The simulated GPU: PTX translated to machine code, run in a process of its own.

    with open_device("sim:rtx4090") as device:
        module = device.load(ptx_text)
        x = device.upload(numpy_array)
        device.launch(module["saxpy"], grid=4, block=256, arguments=[x, 2.0, n])
        result = device.download(x)

    session.py   a CUDA program against it          device.py   kernels from Python
    control.py   a device process that we own       options.py  how a device runs
    cudart/      the program's side (C++)           process/    the device process's side
    wire/        what is said between the two
    engine/      modules, images, launches          ptx/ codegen/   from PTX to LLVM
    runtime/     warps, memory, checks (C++)        timing/     simulated time

Importing this package pulls in neither LLVM nor NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evoengineer.card.name import DEFAULT_DEVICE, DeviceName
from evoengineer.sim.options import DEFAULT_CHECKS, DeviceOptions, Limits, default_threads

if TYPE_CHECKING:
    from evoengineer.sim.device import SimDevice

_DEFAULT_LIMITS = Limits()


def open_device(
    name: str = str(DEFAULT_DEVICE),
    threads: int | None = None,
    checks: frozenset[str] = DEFAULT_CHECKS,
    limits: Limits = _DEFAULT_LIMITS,
) -> SimDevice:
    """The simulated device of that name, ready for use. Close it, or use it as a context manager."""
    from evoengineer.sim.device import SimDevice

    device, threads = DeviceName.parse(name), threads or default_threads()
    return SimDevice(DeviceOptions(device=device, threads=threads, checks=checks, limits=limits))
