// control: threads wait at a barrier in memory for what others have copied by cp.async
// problem: vector_add

#include <torch/extension.h>

__global__ void add(const float* a, const float* b, float* c, int64_t n) {
    __shared__ float tile[256];
    __shared__ unsigned long long arrived;
    unsigned barrier = __cvta_generic_to_shared(&arrived), to = __cvta_generic_to_shared(&tile[threadIdx.x]);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(blockDim.x));
    __syncthreads();
    int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (i < n) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(a + i));
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier));
    asm volatile(
        "{\n"
        ".reg .pred there;\n"
        "again_%=: mbarrier.test_wait.parity.shared.b64 there, [%0], 0;\n"
        "@!there bra again_%=;\n"
        "}" ::"r"(barrier)
        : "memory");
    int64_t other = i ^ 1;
    if (other < n) c[other] = tile[threadIdx.x ^ 1] + b[other];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    int64_t n = a.numel();
    add<<<(n + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
