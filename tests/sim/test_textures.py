"""Texture and surface objects against a plain model of the CUDA programming guide's texture fetching."""

import copy
import ctypes
import math
import struct
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evoengineer.errors import UnsupportedError, UsageError
from evoengineer.sim.runtime import native, structs, textures
from evoengineer.sim.runtime.textures import (
    BORDER,
    CLAMP,
    FLOAT,
    LINEAR,
    MIRROR,
    NORMALIZED_FLOAT,
    POINT,
    SIGNED,
    UNSIGNED,
    WRAP,
    ArrayFlags,
    ChannelFormat,
    Image,
    Level,
    Resource,
    Sampling,
)

FULL = 0xFFFFFFFF
ONE_FLOAT = ChannelFormat((32, 0, 0, 0), FLOAT)
GEOMETRY = {"1d": 0, "2d": 1, "3d": 2, "a1d": 3, "a2d": 4, "cube": 5, "acube": 6}
TRAP, CLAMP_OUTSIDE, ZERO_OUTSIDE = range(3)
OUT_OF_BOUNDS, MISALIGNED, FREED, INVALID_CALL = 1, 2, 3, 14


class Device:
    """Images in device memory and fetches from them, for one test."""

    def __init__(self, kernels: Any) -> None:
        self.memory, self.library = kernels.memory, kernels.runtime
        self.objects = textures.TextureObjects(kernels.runtime)
        self.addresses = list[int]()

    def level(self, data: np.ndarray, channels: int = 1) -> Level:
        """An image [depth][height][width × channels] in memory."""
        data = np.ascontiguousarray(data)
        address = self.memory.allocate(structs.ARRAY, data.nbytes)
        ctypes.memmove(address, data.ctypes.data, data.nbytes)
        self.addresses.append(address)
        extents = (*data.shape[::-1], 0, 0)
        return Level(address, extents[0] // channels, *extents[1:3])

    def array(self, data: np.ndarray, flags: ArrayFlags = ArrayFlags.NONE) -> Image:
        return Image(Resource.ARRAY, ONE_FLOAT, (self.level(data.astype(np.float32)),), flags)

    def fetch(
        self,
        handle: int,
        geometry: str,
        coordinates: np.ndarray,
        extra: np.ndarray | None = None,
        **mode: int,
    ) -> np.ndarray:
        """tex: 4 registers of 32 lanes, as bits. `mode`: level=1, gradient=1, or gather=component + 1."""
        integer = coordinates.dtype == np.int32
        kind = 1 if mode.get("level") else 2 if mode.get("gradient") else 0
        desc = GEOMETRY[geometry] | 2 << 4 | (not integer) << 6 | kind << 8 | mode.get("gather", 0) << 10
        result, handles = np.zeros((4, 32), np.uint32), np.full(32, handle, np.uint64)
        self._call("rt_tex", 0, FULL, desc, result, handles, np.ascontiguousarray(coordinates), extra)
        return result

    def load(self, handle: int, coordinates: np.ndarray, outside: int) -> np.ndarray:
        """suld.b.2d.b32."""
        result, handles = np.zeros(32, np.uint32), np.full(32, handle, np.uint64)
        self._call("rt_suld", 0, FULL, 1 | 2 << 4 | 1 << 6 | outside << 9, result, handles, coordinates)
        return result

    def save(self, handle: int, coordinates: np.ndarray, data: np.ndarray, outside: int) -> None:
        """sust.b.2d.b32."""
        handles = np.full(32, handle, np.uint64)
        self._call("rt_sust", 0, FULL, 1 | 2 << 4 | 1 << 6 | outside << 9, data, handles, coordinates)

    def query(self, handle: int, what: int) -> int:
        result = np.zeros(32, np.uint32)
        self._call("rt_txq", FULL, what, result, np.full(32, handle, np.uint64))
        return int(result[0])

    def _call(self, name: str, *arguments: int | np.ndarray | None) -> None:
        passed: list[Any] = [None]
        for each in arguments:
            if isinstance(each, np.ndarray):
                passed.append(ctypes.c_void_p(each.ctypes.data))
            else:
                passed.append(ctypes.c_void_p(None) if each is None else ctypes.c_uint32(each))
        getattr(self.library, name)(*passed)


@pytest.fixture
def device(kernels: Any) -> Iterator[Device]:
    device = Device(kernels)
    yield device
    device.objects.destroy_all()
    for address in device.addresses:
        device.memory.free(address)


def addressed(mode: int, normalized: bool, index: int, size: int) -> int | None:
    if 0 <= index < size:
        return index
    if mode == BORDER:
        return None
    if mode == WRAP and normalized:
        return index % size
    if mode == MIRROR and normalized:
        return min(index % (2 * size), 2 * size - 1 - index % (2 * size))
    return min(max(index, 0), size - 1)


def model(image: np.ndarray, sampling: Sampling, at: tuple[float, float]) -> float:
    height, width = image.shape
    normalized = sampling.normalized_coordinates

    def texel(x: int, y: int) -> float:
        column = addressed(sampling.address_modes[0], normalized, x, width)
        row = addressed(sampling.address_modes[1], normalized, y, height)
        return sampling.border[0] if column is None or row is None else float(image[row, column])

    u, v = (at[0] * width, at[1] * height) if normalized else at
    if sampling.filter_mode == POINT:
        return texel(math.floor(u), math.floor(v))
    # Weights have 8 fraction bits.
    (x, a), (y, b) = (divmod(math.floor((p - 0.5) * 256 + 0.5), 256) for p in (u, v))
    a, b = a / 256, b / 256
    low = (1 - a) * texel(x, y) + a * texel(x + 1, y)
    return (1 - b) * low + b * (a * texel(x + 1, y + 1) + (1 - a) * texel(x, y + 1))


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("filter_mode", [POINT, LINEAR])
@pytest.mark.parametrize("channels", [1, 4])
def test_fetch_of_a_2d_image(device: Device, normalized: bool, filter_mode: int, channels: int) -> None:
    rng = np.random.default_rng(1)
    height, width = 8, 16  # powers of two: normalised coordinates are exact
    data = rng.random((height, width * channels), dtype=np.float32)
    bits = (32, 32, 32, 32) if channels == 4 else (32, 0, 0, 0)
    image = Image(Resource.ARRAY, ChannelFormat(bits, FLOAT), (device.level(data, channels),))
    for modes in product((WRAP, CLAMP, MIRROR, BORDER), repeat=2):
        sampling = Sampling(
            (*modes, CLAMP), filter_mode, border=(0.25, 0, 0, 0), normalized_coordinates=normalized
        )
        handle = device.objects.create_texture(image, sampling)
        at = rng.integers(-4096, 4096, (2, 32)).astype(np.float32) / 2048
        if not normalized:
            at *= np.array([[width], [height]], np.float32)
        got = device.fetch(handle, "2d", at).view(np.float32)[0]
        wanted = [model(data[:, ::channels], sampling, (float(x), float(y))) for x, y in at.T]
        np.testing.assert_allclose(got, wanted, atol=1e-6)


@pytest.mark.parametrize(
    "kind, dtype", [(UNSIGNED, np.uint8), (SIGNED, np.int8), (UNSIGNED, np.uint16), (SIGNED, np.int16)]
)
def test_integers_in_linear_memory(device: Device, kind: int, dtype: Any) -> None:
    limits = np.iinfo(dtype)
    data = np.random.default_rng(2).integers(limits.min, limits.max, (40, 4), dtype, endpoint=True)
    bits = limits.bits
    image = Image(Resource.LINEAR, ChannelFormat((bits,) * 4, kind), (device.level(data.ravel(), 4),))
    at = np.arange(-4, 60, 2, dtype=np.int32)
    inside = (at >= 0) & (at < 40)
    wanted = np.where(inside[:, None], data[at % 40], 0)  # outside reads as zero
    plain = device.fetch(device.objects.create_texture(image, Sampling()), "1d", at[None])
    np.testing.assert_array_equal(plain.view(np.int32).T, wanted)
    handle = device.objects.create_texture(image, Sampling(read_mode=NORMALIZED_FLOAT))
    floats = device.fetch(handle, "1d", at[None]).view(np.float32).T
    np.testing.assert_allclose(floats, np.maximum(wanted / limits.max, -1), rtol=1e-6)


def test_halves_and_missing_channels(device: Device) -> None:
    data = np.arange(32).astype(np.float16)
    image = Image(Resource.ARRAY, ChannelFormat((16, 0, 0, 0), FLOAT), (device.level(data),))
    handle = device.objects.create_texture(image, Sampling((CLAMP,) * 3))
    got = device.fetch(handle, "1d", np.arange(32, dtype=np.float32)[None] + 0.5).view(np.float32)
    np.testing.assert_array_equal(got, [data, 0 * data, 0 * data, 0 * data + 1])


def test_volumes_and_layers(device: Device) -> None:
    data = np.random.default_rng(3).random((5, 4, 6), dtype=np.float32)
    lane = np.arange(32)
    x, y, z = lane % 6, lane % 4, lane % 5
    clamped = Sampling((CLAMP,) * 3, LINEAR)
    volume = device.objects.create_texture(device.array(data), clamped)
    at = np.stack([x + 1.0, y + 0.5, z + 0.5, 0 * z]).astype(np.float32)
    wanted = (data[z, y, x] + data[z, y, np.minimum(x + 1, 5)]) / 2
    np.testing.assert_allclose(device.fetch(volume, "3d", at).view(np.float32)[0], wanted, rtol=1e-6)
    layered = device.objects.create_texture(device.array(data, ArrayFlags.LAYERED), clamped)
    layers = (lane % 7).astype(np.int32)  # layers past the last one mean the last one
    at = np.stack([layers.view(np.float32), x + 0.5, y + 0.5, 0 * z]).astype(np.float32)
    at[0] = layers.view(np.float32)
    wanted = data[np.minimum(layers, 4), y, x]
    np.testing.assert_allclose(device.fetch(layered, "a2d", at).view(np.float32)[0], wanted)


def test_faces_of_a_cube(device: Device) -> None:
    data = np.arange(24, dtype=np.float32).reshape(6, 2, 2)
    handle = device.objects.create_texture(device.array(data, ArrayFlags.CUBEMAP), Sampling())
    directions = [(1, -.5, -.5), (-1, -.5, -.5), (.5, 1, .5), (.5, -1, .5), (.5, -.5, 1), (.5, -.5, -1)]  # fmt: skip
    at = np.zeros((4, 32), np.float32)
    at[:3] = np.resize(np.array(directions, np.float32), (32, 3)).T
    got = device.fetch(handle, "cube", at).view(np.float32)[0, :6]
    np.testing.assert_array_equal(got, [3, 6, 11, 13, 19, 22])


def test_levels_of_detail(device: Device) -> None:
    levels = tuple(
        device.level(np.full((size, size), value, np.float32)) for value, size in enumerate((4, 2, 1))
    )
    image = Image(Resource.MIPMAPPED_ARRAY, ONE_FLOAT, levels)
    at = np.full((2, 32), 0.4, np.float32)
    lod = np.linspace(-1, 3, 32).astype(np.float32)
    gradients = np.zeros((4, 32), np.float32)
    gradients[0] = 2.0**lod / 4
    for mip_filter, wanted in ((LINEAR, np.clip(lod, 0, 2)), (POINT, np.floor(np.clip(lod, 0, 2) + 0.5))):
        sampling = Sampling(
            (CLAMP,) * 3, LINEAR, normalized_coordinates=True, mip_filter_mode=mip_filter, max_level=10
        )
        handle = device.objects.create_texture(image, sampling)
        for mode, extra in (({"level": 1}, lod), ({"gradient": 1}, gradients)):
            got = device.fetch(handle, "2d", at, extra, **mode).view(np.float32)[0]
            np.testing.assert_allclose(got, wanted, atol=1 / 128)
        np.testing.assert_array_equal(device.fetch(handle, "2d", at)[0], 0)
    assert device.query(handle, 6) == 3


def test_gather_goes_counterclockwise_from_lower_left(device: Device) -> None:
    data = np.arange(64, dtype=np.float32).reshape(8, 8)
    handle = device.objects.create_texture(device.array(data), Sampling((CLAMP,) * 3))
    got = device.fetch(handle, "2d", np.full((2, 32), 3, np.float32), gather=1).view(np.float32)[:, 0]
    np.testing.assert_array_equal(got, [data[3, 2], data[3, 3], data[2, 3], data[2, 2]])


def test_surfaces(device: Device) -> None:
    data = np.arange(4 * 8, dtype=np.float32).reshape(4, 8)
    image = device.array(data, ArrayFlags.SURFACE)
    handle = device.objects.create_surface(image)
    lane = np.arange(32)
    at = np.stack([lane % 8 * 4, lane // 8]).astype(np.int32)
    device.save(handle, at, (lane * 2).astype(np.float32).view(np.uint32), TRAP)
    np.testing.assert_array_equal(device.load(handle, at, TRAP).view(np.float32), lane * 2)
    beyond = at + np.array([[32], [0]], np.int32)
    device.save(handle, beyond, np.zeros(32, np.uint32), ZERO_OUTSIDE)  # dropped
    np.testing.assert_array_equal(device.load(handle, beyond, ZERO_OUTSIDE), 0)
    np.testing.assert_array_equal(
        device.load(handle, beyond, CLAMP_OUTSIDE).view(np.float32), (lane // 8 * 8 + 7) * 2
    )
    assert (device.query(handle, 0), device.query(handle, 1)) == (8, 4)


def test_handles_end_with_destruction(device: Device) -> None:
    image = device.array(np.zeros((2, 2)))
    first = device.objects.create_texture(image, Sampling())
    assert device.objects.destroy(first)
    assert not device.objects.destroy(first)
    assert device.objects.create_texture(image, Sampling()) != first


@pytest.fixture(scope="module")
def texture_kernels(kernels: Any) -> Any:
    ours = copy.copy(kernels)
    flags = (*native.RUNTIME_FLAGS, f"-I{native.RUNTIME_SOURCES}")
    source = Path(__file__).with_name("texture_kernels.cpp")
    ours.library = ctypes.CDLL(str(native.build_shared([source], "libtexturekernels.so", flags)))
    return ours


def test_bad_handles_are_reported(device: Device, texture_kernels: Any) -> None:
    image = device.array(np.zeros((2, 2)))
    handle = device.objects.create_texture(image, Sampling())

    def launch(handle: int) -> structs.ErrorRecord:
        return texture_kernels.launch(
            "fetch_texture", params=struct.pack("<3Q", handle, 1 | 2 << 4 | 1 << 6, 0)
        )

    assert launch(handle).code == 0
    for wrong in (0, 1234, device.objects.create_surface(image)):
        error = launch(wrong)
        assert error.code == INVALID_CALL
        assert b"not a texture object" in error.text
    device.memory.free(device.addresses.pop())
    assert launch(handle).code == FREED
    device.objects.destroy(handle)
    assert launch(handle).code == INVALID_CALL


@pytest.mark.parametrize("x, code", [(4, 0), (8, OUT_OF_BOUNDS), (-4, OUT_OF_BOUNDS), (2, MISALIGNED)])
def test_surface_stores_outside_are_trapped(device: Device, texture_kernels: Any, x: int, code: int) -> None:
    handle = device.objects.create_surface(device.array(np.zeros((2, 2))))
    params = struct.pack("<2QI4x", handle, 1 | 2 << 4 | 1 << 6, x & FULL)
    error = texture_kernels.launch("store_surface", params=params)
    assert (error.code, error.lanes if code else 8) == (code, 8)


@pytest.mark.parametrize(
    "error, channels, sampling",
    [
        (UnsupportedError, ONE_FLOAT, Sampling(srgb=True)),
        (UnsupportedError, ChannelFormat((8, 0, 0, 0), 5), Sampling()),
        (UsageError, ChannelFormat((8, 8, 8, 0), UNSIGNED), Sampling()),
        (UsageError, ChannelFormat((8, 0, 0, 0), UNSIGNED), Sampling(filter_mode=LINEAR)),
        (UsageError, ChannelFormat((32, 0, 0, 0), UNSIGNED), Sampling(read_mode=NORMALIZED_FLOAT)),
    ],
)
def test_what_is_refused(
    device: Device, error: type[Exception], channels: ChannelFormat, sampling: Sampling
) -> None:
    with pytest.raises(error):
        device.objects.create_texture(Image(Resource.ARRAY, channels, (Level(1 << 40, 4),)), sampling)
