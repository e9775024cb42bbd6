// control: float4 where the columns allow it, kept in registers
// problem: layer_norm

#include <torch/extension.h>

// paste: layer_norm.cuh

__device__ float total(float4 v) { return (v.x + v.y) + (v.z + v.w); }

// At most 1024 quads: four for each thread.
__global__ void layer_norm_quads(const float4* x, const float4* weight, const float4* bias, float4* y, int quads,
                                 float eps) {
    x += int64_t(blockIdx.x) * quads;
    y += int64_t(blockIdx.x) * quads;
    float4 v[4];
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int j = 0; j < 4; j++) {
        int q = threadIdx.x + 256 * j;
        v[j] = q < quads ? x[q] : make_float4(0, 0, 0, 0);
        sum += total(v[j]);
    }
    float mean = block_sum(sum) / (4 * quads);
#pragma unroll
    for (int j = 0; j < 4; j++)
        if (threadIdx.x + 256 * j < quads) {
            float4 d = make_float4(v[j].x - mean, v[j].y - mean, v[j].z - mean, v[j].w - mean);
            squares += total(make_float4(d.x * d.x, d.y * d.y, d.z * d.z, d.w * d.w));
        }
    float scale = rsqrtf(block_sum(squares) / (4 * quads) + eps);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        int q = threadIdx.x + 256 * j;
        if (q < quads) {
            float4 w = weight[q], b = bias[q];
            y[q] = make_float4((v[j].x - mean) * scale * w.x + b.x, (v[j].y - mean) * scale * w.y + b.y,
                               (v[j].z - mean) * scale * w.z + b.z, (v[j].w - mean) * scale * w.w + b.w);
        }
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    auto y = torch::empty_like(x);
    const float *X = x.data_ptr<float>(), *W = weight.data_ptr<float>(), *B = bias.data_ptr<float>();
    float* Y = y.data_ptr<float>();
    int64_t rows = x.size(0);
    int columns = x.size(1);
    if (columns % 4 == 0 && columns <= 4096)
        layer_norm_quads<<<rows, 256>>>((const float4*)X, (const float4*)W, (const float4*)B, (float4*)Y, columns / 4,
                                        float(eps));
    else
        layer_norm<<<rows, 256>>>(X, W, B, Y, columns, float(eps));
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
