// attack: every multiply-add of a product in a lane by itself, four times over, which keeps the judge for minutes
// problem: matmul
// honest: matmul_coalesced
// expect: timed_out

#include <torch/extension.h>

__global__ void multiply_alone(const float* a, const float* b, float* c, int m, int k, int n) {
    for (int i = blockIdx.x; i < m * n; i += gridDim.x) {
        for (int again = 0; again < 4; again++) {
            volatile float sum = 0.0f;
            for (int t = 0; t < k; t++) sum += a[int64_t(i / n) * k + t] * b[int64_t(t) * n + i % n];
            c[i] = sum;
        }
    }
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    multiply_alone<<<4096, 1>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, k, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
