"""cudaDeviceProp and cudaDeviceGetAttribute of the simulated card, made from its profile.

One table lists the fields of cudaDeviceProp in order, with the CUDA major versions that have them; packing
it with C's alignment gives the struct of any version. Figures that are the same on every card since Volta
(texture sizes and the like) stand here; all others come from the profile.
"""

import re
import struct
from collections.abc import Iterator
from typing import Any

from evoengineer.card.profile import Profile

PCI_BUS_ID = 1
_MAX_PITCH = 2147483647

# In order: name, its type as `struct` writes it unless it is an int, and the CUDA major versions that have it.
_FIELDS = """
    name:256s uuid:16s luid:8s luidDeviceNodeMask:I totalGlobalMem:Q sharedMemPerBlock:Q regsPerBlock
    warpSize memPitch:Q maxThreadsPerBlock maxThreadsDim:3i maxGridSize:3i clockRate@11-12 totalConstMem:Q
    major minor textureAlignment:Q texturePitchAlignment:Q deviceOverlap@11-12 multiProcessorCount
    kernelExecTimeoutEnabled@11-12 integrated canMapHostMemory computeMode@11-12 maxTexture1D
    maxTexture1DMipmap maxTexture1DLinear@11-12 maxTexture2D:2i maxTexture2DMipmap:2i maxTexture2DLinear:3i
    maxTexture2DGather:2i maxTexture3D:3i maxTexture3DAlt:3i maxTextureCubemap maxTexture1DLayered:2i
    maxTexture2DLayered:3i maxTextureCubemapLayered:2i maxSurface1D maxSurface2D:2i maxSurface3D:3i
    maxSurface1DLayered:2i maxSurface2DLayered:3i maxSurfaceCubemap maxSurfaceCubemapLayered:2i
    surfaceAlignment:Q concurrentKernels ECCEnabled pciBusID pciDeviceID pciDomainID tccDriver
    asyncEngineCount unifiedAddressing memoryClockRate@11-12 memoryBusWidth l2CacheSize
    persistingL2CacheMaxSize maxThreadsPerMultiProcessor streamPrioritiesSupported globalL1CacheSupported
    localL1CacheSupported sharedMemPerMultiprocessor:Q regsPerMultiprocessor managedMemory isMultiGpuBoard
    multiGpuBoardGroupID hostNativeAtomicSupported singleToDoublePrecisionPerfRatio@11-12
    pageableMemoryAccess concurrentManagedAccess computePreemptionSupported
    canUseHostPointerForRegisteredMem cooperativeLaunch cooperativeMultiDeviceLaunch@11-12
    sharedMemPerBlockOptin:Q pageableMemoryAccessUsesHostPageTables directManagedMemAccessFromHost
    maxBlocksPerMultiProcessor accessPolicyMaxWindowSize reservedSharedMemPerBlock:Q
    hostRegisterSupported@12- sparseCudaArraySupported@12- hostRegisterReadOnlySupported@12-
    timelineSemaphoreInteropSupported@12- memoryPoolsSupported@12- gpuDirectRDMASupported@12-
    gpuDirectRDMAFlushWritesOptions:I@12- gpuDirectRDMAWritesOrdering@12-
    memoryPoolSupportedHandleTypes:I@12- deferredMappingCudaArraySupported@12- ipcEventSupported@12-
    clusterLaunch@12- unifiedFunctionPointers@12- deviceNumaConfig@13- deviceNumaId@13- mpsEnabled@13-
    hostNumaId@13- gpuPciDeviceID:I@13- gpuPciSubsystemID:I@13- hostNumaMultinodeIpcSupported@13-
    reserved12:63i@12-12 reserved:56i@13-
"""
_FIELD = re.compile(r"(?P<name>\w+)(:(?P<count>\d*)(?P<code>\w))?(@(?P<first>\d+)-(?P<last>\d*))?")


def _figures(profile: Profile) -> dict[str, Any]:
    """The fields that are not zero."""
    major, minor = profile.compute_capability
    ratio = profile.fp32_per_clock // max(profile.fp64_per_clock, 1)
    return {
        "name": profile.name.encode(),
        "uuid": b"EvoEngineer-sim\0",
        "totalGlobalMem": profile.dram_bytes,
        "sharedMemPerBlock": profile.shared_bytes_per_block,
        "regsPerBlock": profile.registers_per_block,
        "warpSize": profile.warp_size,
        "memPitch": _MAX_PITCH,
        "maxThreadsPerBlock": profile.max_threads_per_block,
        "maxThreadsDim": profile.max_block_dim,
        "maxGridSize": profile.max_grid_dim,
        "clockRate": profile.clock_khz,
        "totalConstMem": profile.constant_bytes,
        "major": major,
        "minor": minor,
        "textureAlignment": profile.texture_align_bytes,
        "texturePitchAlignment": profile.texture_pitch_align_bytes,
        "deviceOverlap": 1,
        "multiProcessorCount": profile.sm_count,
        "canMapHostMemory": 1,
        "maxTexture1D": 131072,
        "maxTexture1DMipmap": 32768,
        "maxTexture1DLinear": 268435456,
        "maxTexture2D": (131072, 65536),
        "maxTexture2DMipmap": (32768, 32768),
        "maxTexture2DLinear": (131072, 65000, 2097120),
        "maxTexture2DGather": (32768, 32768),
        "maxTexture3D": (16384, 16384, 16384),
        "maxTexture3DAlt": (8192, 8192, 32768),
        "maxTextureCubemap": 32768,
        "maxTexture1DLayered": (32768, 2048),
        "maxTexture2DLayered": (32768, 32768, 2048),
        "maxTextureCubemapLayered": (32768, 2046),
        "maxSurface1D": 32768,
        "maxSurface2D": (131072, 65536),
        "maxSurface3D": (16384, 16384, 16384),
        "maxSurface1DLayered": (32768, 2048),
        "maxSurface2DLayered": (32768, 32768, 2048),
        "maxSurfaceCubemap": 32768,
        "maxSurfaceCubemapLayered": (32768, 2046),
        "surfaceAlignment": profile.surface_align_bytes,
        "concurrentKernels": 1,
        "ECCEnabled": int(profile.ecc),
        "pciBusID": PCI_BUS_ID,
        "asyncEngineCount": profile.async_engines,
        "unifiedAddressing": 1,
        "memoryClockRate": profile.memory_clock_khz,
        "memoryBusWidth": profile.memory_bus_bits,
        "l2CacheSize": profile.l2_bytes,
        "persistingL2CacheMaxSize": profile.persisting_l2_bytes,
        "maxThreadsPerMultiProcessor": profile.max_threads_per_sm,
        "streamPrioritiesSupported": 1,
        "globalL1CacheSupported": 1,
        "localL1CacheSupported": 1,
        "sharedMemPerMultiprocessor": profile.shared_bytes_per_sm,
        "regsPerMultiprocessor": profile.registers_per_sm,
        "managedMemory": 1,
        "singleToDoublePrecisionPerfRatio": ratio,
        "concurrentManagedAccess": 1,
        "computePreemptionSupported": 1,
        "cooperativeLaunch": 1,
        "sharedMemPerBlockOptin": profile.shared_bytes_per_block_optin,
        "maxBlocksPerMultiProcessor": profile.max_blocks_per_sm,
        "accessPolicyMaxWindowSize": 134213632,
        "reservedSharedMemPerBlock": profile.shared_reserved_bytes,
        "hostRegisterSupported": 1,
        "memoryPoolsSupported": 1,
        "deviceNumaId": -1,
        "hostNumaId": -1,
    }


def _fields(cuda_major: int) -> Iterator[tuple[str, str, int]]:
    """Name, type and count of each field of that version."""
    for word in _FIELDS.split():
        field = _FIELD.fullmatch(word)
        assert field is not None, word
        if int(field["first"] or 0) <= cuda_major <= int(field["last"] or 99):
            yield field["name"], field["code"] or "i", int(field["count"] or 1)


def device_properties(profile: Profile, cuda_major: int) -> bytes:
    """cudaDeviceProp as CUDA `cuda_major` lays it out."""
    figures = _figures(profile)
    data = bytearray()
    for name, code, count in _fields(cuda_major):
        value = figures.get(name, b"" if code == "s" else 0)
        if code == "s":
            data += bytes(value)[:count].ljust(count, b"\0")
            continue
        _align(data, struct.calcsize(code))
        values = value if isinstance(value, tuple) else (value,) * count
        data += struct.pack(f"<{count}{code}", *values)
    _align(data, 8)
    return bytes(data)


def _align(data: bytearray, unit: int) -> None:
    data += b"\0" * (-len(data) % unit)


# cudaDeviceAttr: number → field of cudaDeviceProp, with an index where that is an array.
_ATTRIBUTES: dict[int, str | tuple[str, int]] = {
    1: "maxThreadsPerBlock", 2: ("maxThreadsDim", 0), 3: ("maxThreadsDim", 1), 4: ("maxThreadsDim", 2),
    5: ("maxGridSize", 0), 6: ("maxGridSize", 1), 7: ("maxGridSize", 2), 8: "sharedMemPerBlock",
    9: "totalConstMem", 10: "warpSize", 11: "memPitch", 12: "regsPerBlock", 13: "clockRate",
    14: "textureAlignment", 15: "deviceOverlap", 16: "multiProcessorCount", 18: "integrated",
    19: "canMapHostMemory", 21: "maxTexture1D", 22: ("maxTexture2D", 0), 23: ("maxTexture2D", 1),
    24: ("maxTexture3D", 0), 25: ("maxTexture3D", 1), 26: ("maxTexture3D", 2),
    27: ("maxTexture2DLayered", 0), 28: ("maxTexture2DLayered", 1), 29: ("maxTexture2DLayered", 2),
    30: "surfaceAlignment", 31: "concurrentKernels", 32: "ECCEnabled", 33: "pciBusID", 34: "pciDeviceID",
    36: "memoryClockRate", 37: "memoryBusWidth", 38: "l2CacheSize", 39: "maxThreadsPerMultiProcessor",
    40: "asyncEngineCount", 41: "unifiedAddressing", 42: ("maxTexture1DLayered", 0),
    43: ("maxTexture1DLayered", 1), 45: ("maxTexture2DGather", 0), 46: ("maxTexture2DGather", 1),
    47: ("maxTexture3DAlt", 0), 48: ("maxTexture3DAlt", 1), 49: ("maxTexture3DAlt", 2), 50: "pciDomainID",
    51: "texturePitchAlignment", 52: "maxTextureCubemap", 53: ("maxTextureCubemapLayered", 0),
    54: ("maxTextureCubemapLayered", 1), 55: "maxSurface1D", 56: ("maxSurface2D", 0), 57: ("maxSurface2D", 1),
    58: ("maxSurface3D", 0), 59: ("maxSurface3D", 1), 60: ("maxSurface3D", 2), 61: ("maxSurface1DLayered", 0),
    62: ("maxSurface1DLayered", 1), 63: ("maxSurface2DLayered", 0), 64: ("maxSurface2DLayered", 1),
    65: ("maxSurface2DLayered", 2), 66: "maxSurfaceCubemap", 67: ("maxSurfaceCubemapLayered", 0),
    68: ("maxSurfaceCubemapLayered", 1), 69: "maxTexture1DLinear", 70: ("maxTexture2DLinear", 0),
    71: ("maxTexture2DLinear", 1), 72: ("maxTexture2DLinear", 2), 73: ("maxTexture2DMipmap", 0),
    74: ("maxTexture2DMipmap", 1), 75: "major", 76: "minor", 77: "maxTexture1DMipmap",
    78: "streamPrioritiesSupported", 79: "globalL1CacheSupported", 80: "localL1CacheSupported",
    81: "sharedMemPerMultiprocessor", 82: "regsPerMultiprocessor", 83: "managedMemory",
    87: "singleToDoublePrecisionPerfRatio", 89: "concurrentManagedAccess", 90: "computePreemptionSupported",
    91: "canUseHostPointerForRegisteredMem", 95: "cooperativeLaunch", 97: "sharedMemPerBlockOptin",
    99: "hostRegisterSupported", 106: "maxBlocksPerMultiProcessor", 108: "persistingL2CacheMaxSize",
    109: "accessPolicyMaxWindowSize", 111: "reservedSharedMemPerBlock", 115: "memoryPoolsSupported",
    131: "deviceNumaId", 134: "hostNumaId",
}  # fmt: skip
_ATTRIBUTE_COUNT = 148


def device_attributes(profile: Profile) -> list[int]:
    """Values by cudaDeviceAttr; those that are not listed are 0."""
    values = [0] * _ATTRIBUTE_COUNT
    for number, value in _attribute_values(_figures(profile)):
        values[number] = value
    return values


def _attribute_values(figures: dict[str, Any]) -> Iterator[tuple[int, int]]:
    for number, source in _ATTRIBUTES.items():
        if isinstance(source, tuple):
            yield number, figures[source[0]][source[1]]
        else:
            yield number, figures.get(source, 0)
