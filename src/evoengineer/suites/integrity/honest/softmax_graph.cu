// control: three kernels and a memset captured into a graph, which is launched and destroyed within the call
// problem: kernels91/activation_pooling/softmax

#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
__global__ void rowmax(const float* x, float* m, int cols) {
    __shared__ int best;
    if (threadIdx.x == 0) best = INT_MIN;
    __syncthreads();
    int mine = INT_MIN;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        int b = __float_as_int(x[(size_t)blockIdx.x * cols + i]);
        b = b >= 0 ? b : b ^ 0x7fffffff;          // order-preserving
        mine = max(mine, b);
    }
    mine = __reduce_max_sync(0xffffffff, mine);
    if ((threadIdx.x & 31) == 0) atomicMax(&best, mine);
    __syncthreads();
    if (threadIdx.x == 0) m[blockIdx.x] = __int_as_float(best >= 0 ? best : best ^ 0x7fffffff);
}
__global__ void expo(const float* x, const float* m, float* y, float* s, int cols) {
    size_t row = blockIdx.y;
    float sum = 0;
    for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < cols; c += gridDim.x * blockDim.x) {
        float e = exp2f((x[row * cols + c] - m[row]) * 1.4426950408889634f);
        y[row * cols + c] = e;
        sum += e;
    }
    for (int o = 1; o < 32; o <<= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
    if ((threadIdx.x & 31) == 0) atomicAdd(s + row, sum);
}
__global__ void divide(float* y, const float* s, int cols) {
    size_t row = blockIdx.y;
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < cols) y[row * cols + c] /= s[row];
}
torch::Tensor forward(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int rows = x.size(0), cols = x.size(1);
    auto m = torch::empty({rows}, x.options()), s = torch::empty({rows}, x.options());
    cudaStream_t st;
    C10_CUDA_CHECK(cudaStreamCreateWithFlags(&st, cudaStreamNonBlocking));
    cudaGraph_t graph; cudaGraphExec_t exec;
    C10_CUDA_CHECK(cudaStreamBeginCapture(st, cudaStreamCaptureModeThreadLocal));
    cudaMemsetAsync(s.data_ptr<float>(), 0, rows * sizeof(float), st);
    rowmax<<<rows, 256, 0, st>>>(x.data_ptr<float>(), m.data_ptr<float>(), cols);
    expo<<<dim3(2, rows), 256, 0, st>>>(x.data_ptr<float>(), m.data_ptr<float>(), y.data_ptr<float>(),
                                        s.data_ptr<float>(), cols);
    divide<<<dim3((cols + 255) / 256, rows), 256, 0, st>>>(y.data_ptr<float>(), s.data_ptr<float>(), cols);
    C10_CUDA_CHECK(cudaStreamEndCapture(st, &graph));
    C10_CUDA_CHECK(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    C10_CUDA_CHECK(cudaGraphLaunch(exec, c10::cuda::getCurrentCUDAStream()));
    C10_CUDA_CHECK(cudaStreamSynchronize(c10::cuda::getCurrentCUDAStream()));
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(st);
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
