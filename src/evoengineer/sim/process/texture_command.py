"""The command that makes a texture or surface object: wire format → what textures.py asks for."""

from evoengineer.errors import UsageError
from evoengineer.sim.runtime.textures import (
    MAX_LEVELS,
    ArrayFlags,
    ChannelFormat,
    Image,
    Level,
    Resource,
    Sampling,
)
from evoengineer.sim.wire import protocol

ALL_FLAGS = sum(ArrayFlags)


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
