// nvcc: --use_fast_math
// A whole program under --use_fast_math: ftz, approximate division, roots and transcendental functions.
#include "../check.h"

__device__ float gelu(float x) { return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x))); }

__global__ void activations(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i], *o = out + 8 * i;
    o[0] = 1.0f / (1.0f + expf(-x));
    o[1] = gelu(x);
    o[2] = x / (1.0f + fabsf(x));
    o[3] = logf(1.0f + expf(x));
    o[4] = sqrtf(x * x + 1.0f);
    o[5] = powf(fabsf(x) + 0.5f, 1.5f);
    o[6] = sinf(x) * cosf(x);
    o[7] = rsqrtf(x * x + 0.01f);
}

// Row softmax: one warp per row, 40 columns.
__global__ void softmax(const float* in, float* out, int columns) {
    const float* row = in + blockIdx.x * columns;
    float largest = -1e30f, total = 0;
    for (int c = threadIdx.x; c < columns; c += 32) largest = fmaxf(largest, row[c]);
    for (int s = 16; s; s >>= 1) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, s));
    for (int c = threadIdx.x; c < columns; c += 32) total += expf(row[c] - largest);
    for (int s = 16; s; s >>= 1) total += __shfl_xor_sync(~0u, total, s);
    for (int c = threadIdx.x; c < columns; c += 32) out[blockIdx.x * columns + c] = expf(row[c] - largest) / total;
}

int main() {
    const int n = 400, columns = 40;
    Random random(15);
    std::vector<float> in(n);
    for (float& x : in) x = float(random.range(-3, 3));
    Buffer<float> din(in), dout(8 * n), soft(n);
    activations<<<(n + 63) / 64, 64>>>(din, dout, n);
    auto got = dout.host();
    for (int i = 0; i < n; i++) {
        double x = in[i];
        double e[8] = {1 / (1 + std::exp(-x)), 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x))), x / (1 + std::fabs(x)),
                       std::log(1 + std::exp(x)), std::sqrt(x * x + 1), std::pow(std::fabs(x) + 0.5, 1.5), std::sin(x) * std::cos(x),
                       1 / std::sqrt(x * x + 0.01)};
        for (int k = 0; k < 8; k++) expect_near("activation", 8 * i + k, e[k], got[8 * i + k], 1e-5, k == 1 ? 2e-3 : 2e-6);
    }
    softmax<<<n / columns, 32>>>(din, soft, columns);
    auto s = soft.host();
    for (int r = 0; r < n / columns; r++) {
        double total = 0;
        for (int c = 0; c < columns; c++) total += std::exp(double(in[r * columns + c]));
        for (int c = 0; c < columns; c++) {
            expect_near("softmax", r * columns + c, std::exp(double(in[r * columns + c])) / total, s[r * columns + c], 1e-5);
        }
    }
    return passed();
}
