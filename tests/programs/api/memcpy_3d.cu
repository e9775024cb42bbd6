// cudaMalloc3D, cudaMemcpy3D with positions and extents, cudaMemcpy3DAsync.
#include "check.h"

__global__ void scale(cudaPitchedPtr volume, int width, int height, int depth, float factor) {
    int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    if (x >= width || y >= height || z >= depth) return;
    char* slice = static_cast<char*>(volume.ptr) + z * volume.pitch * height;
    reinterpret_cast<float*>(slice + y * volume.pitch)[x] *= factor;
}

int main() {
    const int width = 11, height = 7, depth = 5;
    const size_t row = width * sizeof(float);
    std::vector<float> in(width * height * depth), out(in.size(), -1);
    for (size_t i = 0; i < in.size(); i++) in[i] = float(i) + 0.25f;
    cudaPitchedPtr volume;
    CHECK(cudaMalloc3D(&volume, make_cudaExtent(row, height, depth)));
    EXPECT_EQ(volume.xsize, row);
    EXPECT_EQ(volume.ysize, size_t(height));

    cudaMemcpy3DParms up = {};
    up.srcPtr = make_cudaPitchedPtr(in.data(), row, width, height);
    up.dstPtr = volume;
    up.extent = make_cudaExtent(row, height, depth);
    up.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&up));
    scale<<<dim3(height, depth), 32>>>(volume, width, height, depth, 2.0f);
    cudaMemcpy3DParms down = {};
    down.srcPtr = volume;
    down.dstPtr = make_cudaPitchedPtr(out.data(), row, width, height);
    down.extent = up.extent;
    down.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&down));
    for (size_t i = 0; i < in.size(); i++) EXPECT_EQ(out[i], 2 * in[i]);

    // A box: 4 floats x 3 rows x 2 slices, from one position to another, within the device.
    cudaPitchedPtr other;
    CHECK(cudaMalloc3D(&other, make_cudaExtent(2 * row, height + 2, depth)));
    CHECK(cudaMemset3D(other, 0, make_cudaExtent(2 * row, height + 2, depth)));
    cudaMemcpy3DParms box = {};
    box.srcPtr = volume;
    box.srcPos = make_cudaPos(3 * sizeof(float), 2, 1);
    box.dstPtr = other;
    box.dstPos = make_cudaPos(5 * sizeof(float), 1, 3);
    box.extent = make_cudaExtent(4 * sizeof(float), 3, 2);
    box.kind = cudaMemcpyDeviceToDevice;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemcpy3DAsync(&box, stream));
    std::vector<float> wide(2 * width * (height + 2) * depth, -1);
    cudaMemcpy3DParms all = {};
    all.srcPtr = other;
    all.dstPtr = make_cudaPitchedPtr(wide.data(), 2 * row, 2 * width, height + 2);
    all.extent = make_cudaExtent(2 * row, height + 2, depth);
    all.kind = cudaMemcpyDefault;
    CHECK(cudaMemcpy3DAsync(&all, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int z = 0; z < depth; z++)
        for (int y = 0; y < height + 2; y++)
            for (int x = 0; x < 2 * width; x++) {
                float wanted = 0;
                if (x >= 5 && x < 9 && y >= 1 && y < 4 && z >= 3)
                    wanted = 2 * in[((z - 2) * height + y + 1) * width + x - 2];
                EXPECT_EQ(wide[(z * (height + 2) + y) * 2 * width + x], wanted);
            }
    CHECK(cudaFree(volume.ptr));
    CHECK(cudaFree(other.ptr));
    CHECK(cudaStreamDestroy(stream));
    return pass();
}
