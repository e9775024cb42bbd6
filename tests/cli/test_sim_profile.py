"""`evoengineer sim profile`: the explanation on stdout, the program's own output on stderr."""

import json
from pathlib import Path

import pytest

from evoengineer.cli import main

PROGRAM = """
#include <cstdio>
__global__ void scale(float* x, int stride) { x[(blockIdx.x * blockDim.x + threadIdx.x) * stride] *= 2.0f; }
int main() {
    float* x;
    cudaMalloc(&x, 64 << 20);
    for (int i = 0; i < 3; i++) scale<<<1024, 256>>>(x, 1);
    scale<<<1024, 256>>>(x, 32);
    cudaDeviceSynchronize();
    puts("done");
}
"""


def test_profile(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "scale.cu"
    source.write_text(PROGRAM)
    assert main(["sim", "profile", str(source)]) == 0
    shown, said = capfd.readouterr()
    assert "done" in said
    assert "done" not in shown
    assert "scale <<<1024, 256>>>" in shown
    assert "4 launches" in shown
    assert main(["sim", "profile", str(source), "--json", "--device", "sim:v100"]) == 0
    launches = json.loads(capfd.readouterr().out)
    assert [launch["sectors_per_request"] for launch in launches] == [4, 4, 4, 32]
    assert {launch["device"] for launch in launches} == {"sim:v100"}


def test_profiling_needs_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "scale.cu"
    source.write_text(PROGRAM)
    assert main(["sim", "profile", str(source), "--sample-blocks", "0"]) == 2
    assert "--sample-blocks must be at least 1" in capsys.readouterr().err


TEXTURES = """#include <cuda_runtime.h>
__global__ void blur(float* out, cudaTextureObject_t image, int width, int reach) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0.0f;
    for (int i = 0; i < reach; i++) sum += tex2D<float>(image, x + i + 0.5f, y + 0.5f);
    out[y * width + x] = sum;
}
int main() {
    const int width = 4096;
    float* out;
    cudaMalloc(&out, size_t(width) * width * sizeof(float));
    cudaArray_t array;
    auto channel = cudaCreateChannelDesc<float>();
    cudaMallocArray(&array, &channel, width, width);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc reading = {};
    reading.readMode = cudaReadModeElementType;
    cudaTextureObject_t image;
    cudaCreateTextureObject(&image, &resource, &reading, nullptr);
    for (int reach : {1, 16}) blur<<<dim3(width / 32, width / 8), dim3(32, 8)>>>(out, image, width, reach);
    return cudaDeviceSynchronize();
}
"""


def test_texture_reads_cost_what_reads_cost(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "blur.cu"
    source.write_text(TEXTURES)
    assert main(["sim", "profile", str(source), "--sampled-only", "--json", "--device", "sim:a100-40gb"]) == 0
    one, many = json.loads(capfd.readouterr().out)
    image = 4096 * 4096 * 4
    assert one["dram_bytes"] == pytest.approx(2 * image, rel=0.02)
    assert one["bound"] == "dram"
    assert many["bound"] == "texture"
    assert many["time_ns"] > 3 * one["time_ns"]
