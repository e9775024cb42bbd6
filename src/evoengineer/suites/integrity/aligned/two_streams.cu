// attack: a stream adds to what another one writes, and nothing orders the two
// problem: vector_add
// honest: add_stages_of_streams
// expect: race wrong

#include <torch/extension.h>

// paste: add.cuh

__global__ void copy(const float* a, float* c, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i];
}

__global__ void add_to(const float* b, float* c, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) c[i] += b[i];
}

struct Streams {
    cudaStream_t first, second;
    Streams() {
        cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
        cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    }
};

void launch_both(const float* a, const float* b, float* c, int64_t n) {
    static Streams streams;
    copy<<<(n + 255) / 256, 256, 0, streams.first>>>(a, c, n);
    add_to<<<(n + 255) / 256, 256, 0, streams.second>>>(b, c, n);
    cudaDeviceSynchronize();
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    launch_both(A, B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
