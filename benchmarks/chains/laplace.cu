// A step of Jacobi relaxation on a square grid (mean of four neighbours) and the copy back, by elements and by vectors,
// in single and half precision. Blocks of 32 x 8 threads; SIZE is the axis of the grid with its rim, a multiple of 128.
#include <cuda_fp16.h>

#include "common.h"

template <class T>
__device__ T quarter(T a, T b, T c, T d);
template <>
__device__ float quarter(float a, float b, float c, float d) { return 0.25f * (a + b + c + d); }
template <>
__device__ half quarter(half a, half b, half c, half d) { return __hmul(__float2half(0.25f), __hadd(__hadd(a, b), __hadd(c, d))); }

template <class T>
__global__ void stencil(int width, int height, T* next, T* now) {
    int i = threadIdx.x + blockIdx.x * blockDim.x, j = threadIdx.y + blockIdx.y * blockDim.y;
    if (i < width + 1 && j < height + 1 && i > 0 && j > 0)
        next[j * (width + 2) + i] = quarter<T>(now[j * (width + 2) + i + 1], now[j * (width + 2) + i - 1],
                                               now[(j - 1) * (width + 2) + i], now[(j + 1) * (width + 2) + i]);
}

template <class T>
__global__ void copy(int width, int height, T* next, T* now) {
    int i = threadIdx.x + blockIdx.x * blockDim.x, j = threadIdx.y + blockIdx.y * blockDim.y;
    if (i < width + 1 && j < height + 1 && i > 0 && j > 0) now[j * (width + 2) + i] = next[j * (width + 2) + i];
}

__device__ float4 average(float4 centre, float4 left, float4 right, float4 up, float4 down) {
    return make_float4(0.25f * (left.w + centre.y + up.x + down.x), 0.25f * (centre.x + centre.z + up.y + down.y),
                       0.25f * (centre.y + centre.w + up.z + down.z), 0.25f * (centre.z + right.x + up.w + down.w));
}
__device__ half2 average(half2 centre, half2 left, half2 right, half2 up, half2 down) {
    half2 before = __halves2half2(left.y, centre.x), after = __halves2half2(centre.y, right.x);
    return __hmul2(__float2half2_rn(0.25f), __hadd2(__hadd2(before, after), __hadd2(up, down)));
}

// The first vector of a row is left alone; the last one reads into the next row, as published.
template <class V, int kElements>
__global__ void stencil_vectors(int width, int height, V* next, V* now) {
    int i = threadIdx.x + blockIdx.x * blockDim.x, j = threadIdx.y + blockIdx.y * blockDim.y;
    if (i < (width + 2) / kElements && j < height + 1 && i > 0 && j > 0) {
        V centre = now[j * (width + 2) / kElements + i], left = now[j * (width + 2) / kElements + i - 1];
        V right = now[j * (width + 2) / kElements + i + 1], up = now[(j - 1) * (width + 2) / kElements + i];
        V down = now[(j + 1) * (width + 2) / kElements + i];
        next[j * (width + 2) / kElements + i] = average(centre, left, right, up, down);
    }
}

template <class V, int kElements>
__global__ void copy_vectors(int width, int height, V* next, V* now) {
    int i = threadIdx.x + blockIdx.x * blockDim.x, j = threadIdx.y + blockIdx.y * blockDim.y;
    if (i < (width + 2) / kElements && j < height + 1 && i > 0 && j > 0)
        now[j * (width + 2) / kElements + i] = next[j * (width + 2) / kElements + i];
}

// The variants of one element type; a first and a last column that the vectors treat differently are not compared.
template <class T, class V, int kElements>
void variants(chain::Run& run, const std::string& type, double tolerance) {
    const int axis = static_cast<int>(run.size(0)), inner = axis - 2;
    chain::Array<T> now(size_t(axis) * axis), next(size_t(axis) * axis);
    auto prepare = [&] {
        if (!run.verify) return;
        now.fill([](size_t i) { return chain::pattern(i, 1); });
        next.fill([](size_t i) { return chain::pattern(i, 2); });
    };
    auto inside = [&](const chain::Array<T>& array, auto value) {
        std::vector<T> got = array.download();
        for (int j = 1; j <= inner; ++j)
            for (int i = kElements; i < axis - kElements; ++i)
                if (!(std::fabs(float(got[size_t(j) * axis + i]) - value(size_t(j) * axis + i)) <= tolerance)) return false;
        return true;
    };
    auto averaged = [&] {
        return inside(next, [&](size_t at) {
            return 0.25f * (float(now.host[at - 1]) + float(now.host[at + 1]) + float(now.host[at - axis]) + float(now.host[at + axis]));
        });
    };
    auto copied = [&] { return inside(now, [&](size_t at) { return float(next.host[at]); }); };
    const dim3 block(32, 8), grid(axis / 32, axis / 8), vector_grid(axis / kElements / 32, axis / 8);
    V *now_v = reinterpret_cast<V*>(now.data), *next_v = reinterpret_cast<V*>(next.data);
    auto add = [&](const std::string& name, auto launch, auto check) { run.variant((name + "_" + type).c_str(), launch, check, prepare); };
    add("stencil", [&] { stencil<T><<<grid, block>>>(inner, inner, next, now); }, averaged);
    add("copy", [&] { copy<T><<<grid, block>>>(inner, inner, next, now); }, copied);
    add("stencil_vectors", [&] { stencil_vectors<V, kElements><<<vector_grid, block>>>(inner, inner, next_v, now_v); }, averaged);
    add("copy_vectors", [&] { copy_vectors<V, kElements><<<vector_grid, block>>>(inner, inner, next_v, now_v); }, copied);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {8192}, {128});
    variants<float, float4, 4>(run, "float", 1e-6);
    variants<half, half2, 2>(run, "half", 2e-3);
    return run.finish();
}
