// control: decoupled look-back in one pass: state and sum packed in 64 bits, blocks numbered by a ticket
// problem: kernels91/cumulative/cumsum

#include <torch/extension.h>
#include <cuda/atomic>
constexpr int T = 256, I = 4, TILE = T * I;
using State = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>;

__global__ void scan(const float* __restrict__ x, float* __restrict__ y, unsigned long long* state, unsigned* order,
                     int cols, int tiles) {
    __shared__ unsigned id;
    __shared__ float warps[8];
    __shared__ float before;
    if (threadIdx.x == 0) id = atomicAdd(order, 1u);
    __syncthreads();
    int row = id / tiles, tile = id % tiles;
    const float* p = x + (size_t)row * cols;
    float v[I];
    int c0 = tile * TILE + threadIdx.x * I;
    for (int i = 0; i < I; i++) v[i] = c0 + i < cols ? p[c0 + i] : 0.f;
    for (int i = 1; i < I; i++) v[i] += v[i - 1];
    float s = v[I - 1];
    int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    for (int o = 1; o < 32; o *= 2) { float t = __shfl_up_sync(~0u, s, o); if (lane >= o) s += t; }
    if (lane == 31) warps[w] = s;
    __syncthreads();
    float add = 0;
    for (int i = 0; i < w; i++) add += warps[i];
    float total = 0;
    for (int i = 0; i < 8; i++) total += warps[i];
    unsigned long long* mine = state + (size_t)row * tiles;
    if (threadIdx.x == 0) {
        auto pack = [](unsigned flag, float f) { return ((unsigned long long)flag << 32) | __float_as_uint(f); };
        if (tile == 0) {
            State(mine[0]).store(pack(2, total), cuda::memory_order_release);
            before = 0;
        } else {
            State(mine[tile]).store(pack(1, total), cuda::memory_order_release);
            float sum = 0;
            for (int t = tile - 1; t >= 0;) {
                unsigned long long got = State(mine[t]).load(cuda::memory_order_acquire);
                unsigned flag = got >> 32;
                if (flag == 0) continue;
                sum += __uint_as_float((unsigned)got);
                if (flag == 2) break;
                --t;
            }
            before = sum;
            State(mine[tile]).store(pack(2, sum + total), cuda::memory_order_release);
        }
    }
    __syncthreads();
    float base = before + add + s - v[I - 1];
    for (int i = 0; i < I; i++) if (c0 + i < cols) y[(size_t)row * cols + c0 + i] = base + v[i];
}
torch::Tensor forward(torch::Tensor x) {
    x = x.contiguous();
    int rows = x.size(0), cols = x.size(1), tiles = (cols + TILE - 1) / TILE;
    auto y = torch::empty_like(x);
    auto state = torch::zeros({(long)rows * tiles + 1}, x.options().dtype(torch::kInt64));
    auto* s = reinterpret_cast<unsigned long long*>(state.data_ptr<int64_t>());
    scan<<<rows * tiles, T>>>(x.data_ptr<float>(), y.data_ptr<float>(), s + 1, reinterpret_cast<unsigned*>(s), cols,
                              tiles);
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
