// Asynchronous copies and kernels in order within a stream, in chunks over several streams.
#include "check.h"

__global__ void square(float* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = data[i] * data[i];
}

int main() {
    const int chunks = 4, chunk = 1000, n = chunks * chunk;
    float *h_in, *h_out, *d;
    CHECK(cudaMallocHost(&h_in, n * sizeof(float)));
    CHECK(cudaMallocHost((void**)&h_out, n * sizeof(float)));
    CHECK(cudaMalloc(&d, n * sizeof(float)));
    for (int i = 0; i < n; i++) h_in[i] = float(i % 777);
    cudaStream_t streams[chunks];
    for (auto& stream : streams) CHECK(cudaStreamCreate(&stream));
    for (int c = 0; c < chunks; c++) {
        int at = c * chunk;
        CHECK(cudaMemcpyAsync(d + at, h_in + at, chunk * sizeof(float), cudaMemcpyHostToDevice, streams[c]));
        square<<<(chunk + 255) / 256, 256, 0, streams[c]>>>(d + at, chunk);
        CHECK(cudaMemcpyAsync(h_out + at, d + at, chunk * sizeof(float), cudaMemcpyDeviceToHost, streams[c]));
    }
    for (auto& stream : streams) CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < n; i++) EXPECT_EQ(h_out[i], h_in[i] * h_in[i]);

    // Pageable host memory works as well, and cudaMemcpyDefault, and device to device.
    std::vector<float> page(n, 3.0f), back(n);
    float* e;
    CHECK(cudaMalloc(&e, n * sizeof(float)));
    CHECK(cudaMemcpyAsync(d, page.data(), n * sizeof(float), cudaMemcpyDefault, streams[0]));
    CHECK(cudaMemcpyAsync(e, d, n * sizeof(float), cudaMemcpyDeviceToDevice, streams[0]));
    CHECK(cudaMemcpyAsync(back.data(), e, n * sizeof(float), cudaMemcpyDefault, streams[0]));
    CHECK(cudaStreamSynchronize(streams[0]));
    EXPECT(back == page);

    // The legacy default stream waits for, and holds back, ordinary streams.
    CHECK(cudaMemsetAsync(e, 0, n * sizeof(float), streams[1]));
    square<<<(n + 255) / 256, 256>>>(d, n);
    CHECK(cudaMemcpyAsync(e, d, n * sizeof(float), cudaMemcpyDeviceToDevice, streams[2]));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(back.data(), e, n * sizeof(float), cudaMemcpyDeviceToHost));
    for (float v : back) EXPECT_EQ(v, 9.0f);
    for (auto& stream : streams) CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(h_in));
    CHECK(cudaFreeHost(h_out));
    CHECK(cudaFree(d));
    CHECK(cudaFree(e));
    return pass();
}
