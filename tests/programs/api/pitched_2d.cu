// cudaMallocPitch and cudaMemcpy2D between pitches of different widths; a kernel that uses the pitch.
#include "check.h"

__global__ void transpose(const char* in, size_t in_pitch, char* out, size_t out_pitch, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float* row = reinterpret_cast<const float*>(in + y * in_pitch);
    reinterpret_cast<float*>(out + x * out_pitch)[y] = row[x];
}

int main() {
    const int width = 45, height = 19, host_stride = 50;
    std::vector<float> in(host_stride * height), out(width * height, -1);
    for (size_t i = 0; i < in.size(); i++) in[i] = float(i) * 0.5f;
    char *a, *b, *c;
    size_t pitch_a, pitch_b, pitch_c;
    CHECK(cudaMallocPitch(&a, &pitch_a, width * sizeof(float), height));
    CHECK(cudaMallocPitch(&b, &pitch_b, height * sizeof(float), width));
    CHECK(cudaMallocPitch(&c, &pitch_c, 3 * width * sizeof(float), height));
    EXPECT(pitch_a >= width * sizeof(float) && pitch_a % 32 == 0);
    EXPECT(pitch_c >= 3 * width * sizeof(float));
    CHECK(cudaMemcpy2D(a, pitch_a, in.data(), host_stride * sizeof(float), width * sizeof(float), height,
                       cudaMemcpyHostToDevice));
    dim3 block(16, 8), grid((width + 15) / 16, (height + 7) / 8);
    transpose<<<grid, block>>>(a, pitch_a, b, pitch_b, width, height);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy2D(out.data(), height * sizeof(float), b, pitch_b, height * sizeof(float), width,
                       cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) EXPECT_EQ(out[x * height + y], in[y * host_stride + x]);

    // Device to device into a wider pitch, at a column offset; then back with cudaMemcpyDefault.
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemset2D(c, pitch_c, 0, 3 * width * sizeof(float), height));
    CHECK(cudaMemcpy2DAsync(c + width * sizeof(float), pitch_c, a, pitch_a, width * sizeof(float), height,
                            cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::vector<float> wide(3 * width * height);
    CHECK(cudaMemcpy2D(wide.data(), 3 * width * sizeof(float), c, pitch_c, 3 * width * sizeof(float), height,
                       cudaMemcpyDefault));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < 3 * width; x++) {
            float wanted = x >= width && x < 2 * width ? in[y * host_stride + x - width] : 0;
            EXPECT_EQ(wide[y * 3 * width + x], wanted);
        }

    // A pitch smaller than the width cannot be copied.
    EXPECT_ERROR(cudaMemcpy2D(a, 16, in.data(), 16, 32, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
    CHECK(cudaStreamDestroy(stream));
    return pass();
}
