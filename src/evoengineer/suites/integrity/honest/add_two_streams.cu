// control: halves on two streams, joined by events
// problem: vector_add

#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

// paste: add.cuh

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    static cudaStream_t side = [] { cudaStream_t s; cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); return s; }();
    static cudaEvent_t before = [] { cudaEvent_t e; cudaEventCreateWithFlags(&e, cudaEventDisableTiming); return e; }();
    static cudaEvent_t after = [] { cudaEvent_t e; cudaEventCreateWithFlags(&e, cudaEventDisableTiming); return e; }();
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    int64_t half = n / 2;
    cudaEventRecord(before, stream);
    cudaStreamWaitEvent(side, before, 0);
    if (half > 0) launch_add(A, B, C, half, stream);
    launch_add(A + half, B + half, C + half, n - half, side);
    cudaEventRecord(after, side);
    cudaStreamWaitEvent(stream, after, 0);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
