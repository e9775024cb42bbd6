// As given to load_inline: no include, no module.
__global__ void scale_kernel(const float* x, float* y, float s, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = s * x[i];
}
torch::Tensor scale_cuda(torch::Tensor x, double s) {
    std::vector<int64_t> shape = x.sizes().vec();
    auto y = torch::empty(shape, x.options());
    scale_kernel<<<(x.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), s, x.numel());
    return y;
}
