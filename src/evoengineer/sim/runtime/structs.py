"""ctypes mirrors of the structs of `runtime/abi.h` that Python fills or reads."""

import ctypes as c
from collections.abc import Callable
from typing import Any

CompileFn = c.CFUNCTYPE(None, c.c_uint32, c.c_uint32)
"""Called by the runtime for a block function it needs: (function, block). Runs under a lock."""

ALLOCATION_KINDS = ("none", "device", "managed", "pinned", "heap", "symbol", "constant", "array")
DEVICE, MANAGED, PINNED, HEAP, SYMBOL, CONSTANT, ARRAY = range(1, 8)
STATE_NONE, STATE_LIVE, STATE_FREED = range(3)


class Conversion(c.Structure):
    """How a value that FAST keeps as scalars maps to SLOW's vector."""

    _fields_ = (
        ("scalar_offset", c.c_uint32),
        ("vector_offset", c.c_uint32),
        ("bytes", c.c_uint8),
        ("segments", c.c_uint8),
        ("reserved", c.c_uint16),
        ("reserved2", c.c_uint32),
        ("steps", c.POINTER(c.c_int64)),
    )


class BlockInfo(c.Structure):
    """A basic block as the dispatcher sees it."""

    _fields_ = (
        ("fn", c.c_void_p),
        ("flags", c.c_uint32),
        ("fast_entry", c.c_int32),
        ("first_conversion", c.c_uint32),
        ("conversions", c.c_uint32),
        ("member", c.c_uint32),
        ("barrier_id", c.c_uint32),
        ("barrier_count", c.c_uint32),
        ("barrier_kind", c.c_uint32),
        ("barrier_pred", c.c_uint32),
        ("site", c.c_uint32),
        ("count_fn", c.c_void_p),
        ("instructions", c.c_uint32),
        ("idles", c.c_uint32),
        ("region_fn", c.c_void_p),
    )


class Function(c.Structure):
    """A kernel (the first of a launch) or a device function."""

    _fields_ = (
        ("blocks", c.POINTER(BlockInfo)),
        ("conversions", c.POINTER(Conversion)),
        ("reach", c.POINTER(c.c_uint64)),
        ("fast", c.c_void_p),
        ("block_count", c.c_uint32),
        ("reach_words", c.c_uint32),
        ("frame_bytes", c.c_uint32),
        ("local_bytes", c.c_uint32),
        ("param_bytes", c.c_uint32),
        ("result_bytes", c.c_uint32),
        ("first_count", c.c_uint32),
        ("reserved", c.c_uint32),
    )


class Site(c.Structure):
    """A place in the program that may fail."""

    _fields_ = (
        ("bytes", c.c_uint32),
        ("align", c.c_uint8),
        ("space", c.c_uint8),
        ("access", c.c_uint8),
        ("lanes", c.c_uint8),
    )


class ErrorRecord(c.Structure):
    """What went wrong in a launch."""

    _fields_ = (
        ("code", c.c_uint32),
        ("function", c.c_uint32),
        ("site", c.c_uint32),
        ("access", c.c_uint32),
        ("space", c.c_uint32),
        ("ctaid", c.c_uint32 * 3),
        ("tid", c.c_uint32 * 3),
        ("lanes", c.c_uint32),
        ("other_tid", c.c_uint32 * 3),
        ("other_site", c.c_uint32),
        ("address", c.c_uint64),
        ("bytes", c.c_uint64),
        ("allocation", c.c_uint64),
        ("allocation_bytes", c.c_uint64),
        ("allocation_state", c.c_uint32),
        ("other_ctaid", c.c_uint32 * 3),
        ("text", c.c_char * 512),
    )


class UndefinedNote(c.Structure):
    """Undefined bits that a launch has put into device memory."""

    _fields_ = (
        ("address", c.c_uint64),
        ("bytes", c.c_uint64),
        ("site", c.c_uint32),
        ("read_site", c.c_uint32),
        ("function", c.c_uint32),
        ("ctaid", c.c_uint32 * 3),
        ("tid", c.c_uint32 * 3),
        ("reserved", c.c_uint32),
    )


class Busy(c.Structure):
    """A block of the grid, and how many instructions its warps ran."""

    _fields_ = (("block", c.c_uint64), ("instructions", c.c_uint64))


class Launch(c.Structure):
    """All that rt_launch needs, and the error record that it fills."""

    _fields_ = (
        ("functions", c.POINTER(Function)),
        ("sites", c.POINTER(Site)),
        ("params", c.c_void_p),
        ("symbols", c.POINTER(c.c_uint64)),
        ("compile", CompileFn),
        ("function_count", c.c_uint32),
        ("site_count", c.c_uint32),
        ("grid", c.c_uint32 * 3),
        ("block", c.c_uint32 * 3),
        ("shared_bytes", c.c_uint32),
        ("flags", c.c_uint32),
        ("threads", c.c_uint32),
        ("max_resident", c.c_uint32),
        ("instruction_limit", c.c_uint64),
        ("wall_limit_seconds", c.c_double),
        ("samples", c.POINTER(c.c_uint64)),
        ("sample_count", c.c_uint32),
        ("count_total", c.c_uint32),
        ("count_bytes", c.POINTER(c.c_uint8)),
        ("trace_limit", c.c_uint64),
        ("clock_start", c.c_uint64),
        ("chosen", c.POINTER(c.c_uint64)),
        ("chosen_count", c.c_uint64),
        ("noise", c.c_uint64),
        ("zeroed_start", c.c_uint32),
        ("zeroed_bytes", c.c_uint32),
        ("totals", c.POINTER(c.c_uint64)),
        ("total_lanes", c.POINTER(c.c_uint64)),
        ("instructions", c.c_uint64),
        ("busiest", Busy * 8),
        ("error", ErrorRecord),
    )


SIZES: dict[str, type[c.Structure]] = {
    "conversion": Conversion,
    "block_info": BlockInfo,
    "function": Function,
    "site": Site,
    "error_record": ErrorRecord,
    "launch": Launch,
    "undefined_note": UndefinedNote,
}


def compile_callback(call: Callable[[int, int], Any]) -> Any:
    """A C function pointer for Launch.compile; the caller keeps it alive as long as the launch."""
    return CompileFn(call)
