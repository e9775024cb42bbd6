// control: a kernel that fills a table runs in the first call only
// problem: vector_add

#include <torch/extension.h>

__global__ void fill_table(float* table) { table[threadIdx.x] = 1.0f; }

__global__ void add_scaled(const float* a, const float* b, float* c, const float* table, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) c[i] = table[0] * a[i] + table[1] * b[i];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    static torch::Tensor table;
    if (!table.defined()) {
        table = torch::empty({2}, a.options());
        fill_table<<<1, 2>>>(table.data_ptr<float>());
    }
    add_scaled<<<(n + 255) / 256, 256>>>(A, B, C, table.data_ptr<float>(), n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
