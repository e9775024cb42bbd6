// cudaMemset, its 2D and 3D forms, and the asynchronous variants: only the named bytes change.
#include "check.h"

int main() {
    const size_t n = 1003;
    unsigned char* d;
    std::vector<unsigned char> h(n);
    CHECK(cudaMalloc(&d, n));
    CHECK(cudaMemset(d, 0xab, n));
    CHECK(cudaMemset(d + 5, 0x1234, 7));  // only the low byte counts
    CHECK(cudaMemcpy(h.data(), d, n, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i++) EXPECT_EQ(int(h[i]), i >= 5 && i < 12 ? 0x34 : 0xab);

    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemsetAsync(d, 0, n, stream));
    CHECK(cudaMemsetAsync(d + 100, 0xff, 50, stream));
    CHECK(cudaMemcpyAsync(h.data(), d, n, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (size_t i = 0; i < n; i++) EXPECT_EQ(int(h[i]), i >= 100 && i < 150 ? 0xff : 0);
    CHECK(cudaFree(d));

    // 2D: width bytes of each row, the rest of the pitch stays.
    const size_t width = 37, height = 9;
    size_t pitch;
    CHECK(cudaMallocPitch(&d, &pitch, width, height));
    EXPECT(pitch >= width);
    CHECK(cudaMemset(d, 1, pitch * height));
    CHECK(cudaMemset2D(d + pitch * 2 + 3, pitch, 7, 20, 4));
    CHECK(cudaMemset2DAsync(d, pitch, 9, width, 1, stream));
    CHECK(cudaStreamSynchronize(stream));
    h.resize(pitch * height);
    CHECK(cudaMemcpy(h.data(), d, pitch * height, cudaMemcpyDeviceToHost));
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < pitch; x++) {
            int wanted = 1;
            if (y >= 2 && y < 6 && x >= 3 && x < 23) wanted = 7;
            if (y == 0 && x < width) wanted = 9;
            EXPECT_EQ(int(h[y * pitch + x]), wanted);
        }
    CHECK(cudaFree(d));

    // 3D: a box inside a pitched volume.
    cudaPitchedPtr volume;
    cudaExtent extent = make_cudaExtent(24, 6, 5);
    CHECK(cudaMalloc3D(&volume, extent));
    EXPECT(volume.pitch >= 24);
    CHECK(cudaMemset(volume.ptr, 2, volume.pitch * 6 * 5));
    CHECK(cudaMemset3D(volume, 5, make_cudaExtent(10, 3, 2)));
    CHECK(cudaMemset3DAsync(volume, 6, make_cudaExtent(4, 1, 1), stream));
    CHECK(cudaStreamSynchronize(stream));
    h.resize(volume.pitch * 6 * 5);
    CHECK(cudaMemcpy(h.data(), volume.ptr, h.size(), cudaMemcpyDeviceToHost));
    for (size_t z = 0; z < 5; z++)
        for (size_t y = 0; y < 6; y++)
            for (size_t x = 0; x < 24; x++) {
                int wanted = x < 10 && y < 3 && z < 2 ? 5 : 2;
                if (x < 4 && y == 0 && z == 0) wanted = 6;
                EXPECT_EQ(int(h[(z * 6 + y) * volume.pitch + x]), wanted);
            }
    CHECK(cudaFree(volume.ptr));
    CHECK(cudaStreamDestroy(stream));
    return pass();
}
