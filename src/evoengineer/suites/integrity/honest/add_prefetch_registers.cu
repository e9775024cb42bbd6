// control: the next element is loaded before the present one is stored; the last load is not used
// problem: vector_add

#include <torch/extension.h>

__global__ void add_ahead(const float* a, const float* b, float* c, int64_t n) {
    int64_t step = int64_t(gridDim.x) * blockDim.x, i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float u = a[i], v = b[i];
    for (; i < n; i += step) {
        int64_t next = min(i + step, n - 1);
        float u_next = a[next], v_next = b[next];
        c[i] = u + v;
        u = u_next;
        v = v_next;
    }
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    add_ahead<<<512, 256>>>(A, B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
