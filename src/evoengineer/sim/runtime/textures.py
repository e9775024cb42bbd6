"""Texture and surface objects of the simulated GPU.

    objects = TextureObjects(native.load_runtime())
    image = Image(Resource.ARRAY, ChannelFormat((32, 0, 0, 0), FLOAT), (Level(address, 64, 64),))
    handle = objects.create_texture(image, Sampling(address_modes=(1, 1, 1), filter_mode=LINEAR))
    objects.create_surface(image) … objects.destroy(handle) … objects.destroy_all()

Fields carry the numbers of the CUDA runtime's enumerations, extents its conventions (height and depth are
0 where there is none; the depth of a layered array is its number of layers, of a cubemap 6 per cube).
Images are pitch-linear device memory that the caller has allocated; a handle whose memory has been freed is
reported by the kernel that uses it. A description that CUDA rejects raises UsageError; what CUDA has and we
have not (sRGB, normalised and compressed channel kinds) raises UnsupportedError.
"""

import ctypes as c
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag

from evoengineer.errors import DeviceError, UnsupportedError, UsageError

SIGNED, UNSIGNED, FLOAT = range(3)  # cudaChannelFormatKind
WRAP, CLAMP, MIRROR, BORDER = range(4)  # cudaTextureAddressMode
POINT, LINEAR = range(2)  # cudaTextureFilterMode
ELEMENT, NORMALIZED_FLOAT = range(2)  # cudaTextureReadMode
MAX_LEVELS = 16
MAX_EXTENT = 1 << 31
MAX_BYTES = 1 << 47
FACES = 6
_TEXTURE, _SURFACE = 1, 2


class Resource(IntEnum):
    """cudaResourceType."""

    ARRAY = 0
    MIPMAPPED_ARRAY = 1
    LINEAR = 2
    PITCH_2D = 3


class ArrayFlags(IntFlag):
    """Flags of cudaMalloc3DArray."""

    NONE = 0
    LAYERED = 1
    SURFACE = 2
    CUBEMAP = 4
    GATHER = 8


@dataclass(frozen=True, slots=True)
class ChannelFormat:
    """cudaChannelFormatDesc: bits of x, y, z, w, and SIGNED, UNSIGNED or FLOAT."""

    bits: tuple[int, int, int, int]
    kind: int

    @property
    def channels(self) -> int:
        return sum(1 for bits in self.bits if bits)

    @property
    def element_bytes(self) -> int:
        return sum(self.bits) // 8

    def check(self) -> None:
        """Raise unless this is 1, 2 or 4 like channels of a kind we have."""
        if self.kind not in (SIGNED, UNSIGNED, FLOAT):
            raise UnsupportedError(
                f"channel format kind {self.kind} is not supported (only signed, unsigned and float are)"
            )
        used = self.bits[: self.channels]
        widths = (16, 32) if self.kind == FLOAT else (8, 16, 32)
        if self.channels not in (1, 2, 4) or len(set(used)) != 1 or used[0] not in widths:
            raise UsageError(
                f"invalid channel format {self.bits} of kind {self.kind}: 1, 2 or 4 channels of {widths} bits"
            )


@dataclass(frozen=True, slots=True)
class Level:
    """One image: a CUDA array, a level of a mipmapped one, or a range of memory. Extents in elements."""

    address: int
    width: int
    height: int = 0
    depth: int = 0
    row_bytes: int = 0  # from row to row; 0: rows are packed


@dataclass(frozen=True, slots=True)
class Image:
    """What an object is made from (cudaResourceDesc). `levels` has one entry unless mipmapped."""

    resource: Resource
    format: ChannelFormat
    levels: Sequence[Level]
    flags: ArrayFlags = ArrayFlags.NONE


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a texture is read (cudaTextureDesc); the defaults are those of a zeroed descriptor."""

    address_modes: tuple[int, int, int] = (WRAP, WRAP, WRAP)
    filter_mode: int = POINT
    read_mode: int = ELEMENT
    srgb: bool = False
    border: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    normalized_coordinates: bool = False
    mip_filter_mode: int = POINT
    level_bias: float = 0.0
    min_level: float = 0.0
    max_level: float = 0.0


class _NativeLevel(c.Structure):
    _fields_ = (
        ("address", c.c_uint64),
        ("row_bytes", c.c_uint64),
        ("slice_bytes", c.c_uint64),
        ("width", c.c_uint32),
        ("height", c.c_uint32),
        ("depth", c.c_uint32),
        ("reserved", c.c_uint32),
    )


class _NativeObject(c.Structure):
    """TextureObject of runtime/texture.h."""

    _fields_ = (
        ("kind", c.c_uint32),
        ("resource", c.c_uint32),
        ("channel_kind", c.c_uint32),
        ("channel_bits", c.c_uint32),
        ("channels", c.c_uint32),
        ("layers", c.c_uint32),
        ("cubemap", c.c_uint32),
        ("address_mode", c.c_uint32 * 3),
        ("filter_mode", c.c_uint32),
        ("mip_filter_mode", c.c_uint32),
        ("normalized_coordinates", c.c_uint32),
        ("normalized_reads", c.c_uint32),
        ("border", c.c_float * 4),
        ("level_bias", c.c_float),
        ("min_level", c.c_float),
        ("max_level", c.c_float),
        ("level_count", c.c_uint32),
        ("levels", _NativeLevel * MAX_LEVELS),
    )


@dataclass
class TextureObjects:
    """The table of objects in the runtime library; handles are what kernels receive."""

    library: c.CDLL
    _kinds: dict[int, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.library.rt_texture_create.restype = c.c_uint64
        self.library.rt_texture_create.argtypes = [c.POINTER(_NativeObject)]
        self.library.rt_texture_destroy.argtypes = [c.c_uint64, c.c_uint32]
        size = self.library.rt_texture_object_bytes()
        if size != c.sizeof(_NativeObject):
            raise DeviceError(
                f"TextureObject has {size} bytes in C++ and {c.sizeof(_NativeObject)} in Python"
            )

    def create_texture(self, image: Image, sampling: Sampling) -> int:
        """A handle for cudaCreateTextureObject."""
        native = _describe(image)
        _check_sampling(image, sampling)
        native.kind = _TEXTURE
        native.address_mode[:] = sampling.address_modes
        native.filter_mode = sampling.filter_mode
        native.mip_filter_mode = sampling.mip_filter_mode
        # Directions are the coordinates of a cubemap, always: its faces are addressed in [0, 1].
        native.normalized_coordinates = sampling.normalized_coordinates or bool(native.cubemap)
        native.normalized_reads = sampling.read_mode == NORMALIZED_FLOAT and image.format.kind != FLOAT
        native.border[:] = sampling.border
        native.level_bias = sampling.level_bias
        native.min_level = sampling.min_level
        native.max_level = sampling.max_level
        if native.cubemap:
            native.address_mode[:] = (CLAMP, CLAMP, CLAMP)
        return self._create(native)

    def create_surface(self, image: Image) -> int:
        """A handle for cudaCreateSurfaceObject."""
        if image.resource not in (Resource.ARRAY, Resource.MIPMAPPED_ARRAY):
            raise UsageError(f"a surface object needs a CUDA array, not resource type {image.resource.name}")
        native = _describe(image)
        native.kind = _SURFACE
        return self._create(native)

    def destroy(self, handle: int) -> bool:
        """Destroy a texture or surface object; False if there is no such object."""
        kind = self._kinds.pop(handle, 0)
        return kind != 0 and self.library.rt_texture_destroy(handle, kind) == 0

    def destroy_all(self) -> None:
        """Forget every object: a device reset."""
        self._kinds.clear()
        self.library.rt_texture_destroy_all()

    def _create(self, native: _NativeObject) -> int:
        handle = int(self.library.rt_texture_create(c.byref(native)))
        if handle == 0:
            raise DeviceError("too many texture and surface objects: destroy some (65536 may exist)")
        self._kinds[handle] = int(native.kind)
        return handle


def _describe(image: Image) -> _NativeObject:
    image.format.check()
    if not 1 <= len(image.levels) <= MAX_LEVELS:
        raise UsageError(f"an image has 1 to {MAX_LEVELS} levels, not {len(image.levels)}")
    native = _NativeObject()
    native.resource = image.resource
    native.channel_kind = image.format.kind
    native.channel_bits = image.format.bits[0]
    native.channels = image.format.channels
    native.cubemap = bool(image.flags & ArrayFlags.CUBEMAP)
    layered = image.flags & (ArrayFlags.LAYERED | ArrayFlags.CUBEMAP)
    native.layers = max(image.levels[0].depth, 1) if layered else 0
    if native.cubemap and native.layers % FACES:
        raise UsageError(f"a cubemap has {FACES} faces per cube, but its depth is {native.layers}")
    native.level_count = len(image.levels)
    for target, level in zip(native.levels, image.levels, strict=False):
        if not 1 <= level.width < MAX_EXTENT:
            raise UsageError(f"the width of an image is 1 to {MAX_EXTENT - 1} elements, not {level.width}")
        _check_extent(image, level, native.layers)
        target.address = level.address
        target.width, target.height = level.width, max(level.height, 1)
        target.depth = 1 if layered else max(level.depth, 1)
        target.row_bytes = level.row_bytes or level.width * image.format.element_bytes
        target.slice_bytes = target.row_bytes * target.height
    return native


def _check_extent(image: Image, level: Level, layers: int) -> None:
    """Sizes whose product is a size, too: the runtime's own sums must not run over."""
    packed = level.width * image.format.element_bytes
    row_bytes = level.row_bytes or packed
    if max(level.height, level.depth) >= MAX_EXTENT or row_bytes < packed:
        raise UsageError(
            f"an image of {level.width} x {level.height} x {level.depth} in rows of {row_bytes} bytes"
        )
    total = row_bytes * max(level.height, 1) * max(level.depth, layers, 1)
    if total >= MAX_BYTES or not 0 <= level.address < MAX_BYTES:
        raise UsageError(f"an image of {total} bytes at 0x{level.address:x}")


def _check_sampling(image: Image, sampling: Sampling) -> None:
    if sampling.srgb:
        raise UnsupportedError("sRGB textures (cudaTextureDesc::sRGB) are not supported")
    integers = image.format.kind != FLOAT
    if sampling.read_mode == NORMALIZED_FLOAT and integers and image.format.bits[0] > 16:
        raise UsageError("cudaReadModeNormalizedFloat needs 8-bit or 16-bit channels, not 32-bit ones")
    if sampling.filter_mode == LINEAR and integers and sampling.read_mode != NORMALIZED_FLOAT:
        raise UsageError("linear filtering of integers needs cudaReadModeNormalizedFloat")
    if sampling.filter_mode not in (POINT, LINEAR) or sampling.mip_filter_mode not in (POINT, LINEAR):
        raise UsageError(f"invalid filter modes {sampling.filter_mode}, {sampling.mip_filter_mode}")
    if any(mode not in (WRAP, CLAMP, MIRROR, BORDER) for mode in sampling.address_modes):
        raise UsageError(f"invalid address modes {sampling.address_modes}")
