"""Commands about texture and surface objects: wire format → what runtime/textures.py asks for."""

from collections.abc import Callable

from evoengineer.errors import UnsupportedError, UsageError
from evoengineer.sim.process.call_error import CallError
from evoengineer.sim.process.context import Context
from evoengineer.sim.runtime import structs
from evoengineer.sim.runtime.textures import (
    MAX_LEVELS,
    ArrayFlags,
    ChannelFormat,
    Image,
    Level,
    Resource,
    Sampling,
    TextureObjects,
)
from evoengineer.sim.wire import protocol
from evoengineer.sim.wire.protocol import CudaError, Op

ALL_FLAGS = sum(ArrayFlags)


class TextureCommands:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._objects = TextureObjects(context.runtime)
        self.forget = self._objects.destroy_all
        self.handlers: dict[int, Callable[[memoryview], bytes | None]] = {
            Op.TEXTURE_CREATE: self._create,
            Op.TEXTURE_DESTROY: self._destroy,
        }

    def _create(self, payload: memoryview) -> bytes:
        try:
            image, sampling = read_texture(payload)
            for level in image.levels:
                found = self._context.arenas.find(level.address)
                if found is None or not found.inside or not found.live or found.kind == structs.HEAP:
                    raise CallError(CudaError.INVALID_VALUE)
            if sampling is None:
                return protocol.ADDRESS.pack(self._objects.create_surface(image))
            return protocol.ADDRESS.pack(self._objects.create_texture(image, sampling))
        except UsageError as error:
            raise CallError(CudaError.INVALID_VALUE, str(error)) from error
        except UnsupportedError as error:
            raise CallError(CudaError.NOT_SUPPORTED, str(error)) from error

    def _destroy(self, payload: memoryview) -> None:
        (handle,) = protocol.ADDRESS.unpack(payload)
        if not self._objects.destroy(handle):
            raise CallError(CudaError.INVALID_HANDLE)


def read_texture(payload: memoryview) -> tuple[Image, Sampling | None]:
    """The image, and how it is sampled; None for a surface."""
    fields = iter(protocol.TEXTURE.unpack_from(payload))

    def take(count: int) -> tuple[int, ...]:
        return tuple(next(fields) for _ in range(count))

    surface, resource = take(2)
    address, width, height, depth, pitch, _ = take(6)
    red, green, blue, alpha = take(4)
    kind, flags, level_count = take(3)
    if resource not in set(Resource) or level_count > MAX_LEVELS or flags & ~ALL_FLAGS:
        raise UsageError(f"no such image: resource {resource}, {level_count} levels, flags {flags:#x}")
    levels = [Level(address, width, height, depth, pitch)]
    if resource in (Resource.ARRAY, Resource.MIPMAPPED_ARRAY):
        starts = (protocol.TEXTURE.size + number * protocol.LEVEL.size for number in range(level_count))
        levels = [Level(*protocol.LEVEL.unpack_from(payload, start)) for start in starts]
    image = Image(
        Resource(resource), ChannelFormat((red, green, blue, alpha), kind), levels, ArrayFlags(flags)
    )
    if surface:
        return image, None
    x, y, z = take(3)
    filter_mode, read_mode, srgb = take(3)
    border = take(4)
    normalized, mip_filter_mode = take(2)
    bias, low, high = take(3)
    return image, Sampling(
        address_modes=(x, y, z),
        filter_mode=filter_mode,
        read_mode=read_mode,
        srgb=bool(srgb),
        border=(border[0], border[1], border[2], border[3]),
        normalized_coordinates=bool(normalized),
        mip_filter_mode=mip_filter_mode,
        level_bias=bias,
        min_level=low,
        max_level=high,
    )
