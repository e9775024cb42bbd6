#include <torch/extension.h>

#include <cmath>

constexpr int THREADS = 256;

// scores[head][query][key] = query · key × scale, one thread per score; `head` counts the heads of all samples.
__global__ void dot_products(const float* query, const float* key, float* scores, int queries, int keys, int size,
                             float scale) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= queries || column >= keys) return;
    int64_t head = blockIdx.z;
    query += (head * queries + row) * size;
    key += (head * keys + column) * size;
    float sum = 0.0f;
    for (int i = 0; i < size; ++i) sum += query[i] * key[i];
    scores[(head * queries + row) * keys + column] = sum * scale;
}

// Softmax in place, one block per row.
__global__ void softmax(float* scores, int keys) {
    __shared__ float scratch[THREADS];
    int thread = threadIdx.x;
    scores += static_cast<int64_t>(blockIdx.x) * keys;

    float largest = -INFINITY;
    for (int i = thread; i < keys; i += THREADS) largest = fmaxf(largest, scores[i]);
    scratch[thread] = largest;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (thread < half) scratch[thread] = fmaxf(scratch[thread], scratch[thread + half]);
        __syncthreads();
    }
    largest = scratch[0];
    __syncthreads();

    float sum = 0.0f;
    for (int i = thread; i < keys; i += THREADS) {
        float weight = expf(scores[i] - largest);
        scores[i] = weight;
        sum += weight;
    }
    scratch[thread] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (thread < half) scratch[thread] += scratch[thread + half];
        __syncthreads();
    }
    sum = scratch[0];

    for (int i = thread; i < keys; i += THREADS) scores[i] /= sum;
}

// Weighted sums of the values, one thread per element of the output.
__global__ void weighted_values(const float* weights, const float* value, float* output, int queries, int keys,
                                int size) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= queries || column >= size) return;
    int64_t head = blockIdx.z;
    weights += (head * queries + row) * keys;
    value += head * keys * size;
    float sum = 0.0f;
    for (int i = 0; i < keys; ++i) sum += weights[i] * value[static_cast<int64_t>(i) * size + column];
    output[(head * queries + row) * size + column] = sum;
}

torch::Tensor forward(torch::Tensor query, torch::Tensor key, torch::Tensor value) {
    for (const auto& each : {query, key, value}) {
        TORCH_CHECK(each.is_cuda() && each.scalar_type() == torch::kFloat32,
                    "inputs must be float32 tensors on the GPU");
        TORCH_CHECK(each.dim() == 4 && each.size(0) == query.size(0) && each.size(1) == query.size(1) &&
                        each.size(3) == query.size(3),
                    "inputs must be [batch][heads][length][size]");
    }
    TORCH_CHECK(key.size(2) == value.size(2), "key and value must have the same length");
    query = query.contiguous();
    key = key.contiguous();
    value = value.contiguous();
    int heads = query.size(0) * query.size(1), queries = query.size(2), keys = key.size(2), size = query.size(3);
    TORCH_CHECK(heads <= 65535, "at most 65535 heads in all");
    auto scores = torch::empty({heads, queries, keys}, query.options());
    auto output = torch::empty_like(query);
    dim3 threads(16, 16);
    dim3 score_blocks((keys + 15) / 16, (queries + 15) / 16, heads);
    dim3 output_blocks((size + 15) / 16, (queries + 15) / 16, heads);
    dot_products<<<score_blocks, threads>>>(query.data_ptr<float>(), key.data_ptr<float>(), scores.data_ptr<float>(),
                                            queries, keys, size, 1.0f / sqrtf(size));
    softmax<<<static_cast<int64_t>(heads) * queries, THREADS>>>(scores.data_ptr<float>(), keys);
    weighted_values<<<output_blocks, threads>>>(scores.data_ptr<float>(), value.data_ptr<float>(),
                                                output.data_ptr<float>(), queries, keys, size);
    return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Scaled dot-product attention");
}
