/* The few kernels behind copies and fills; linked into a candidate only when it uses them. */
#include "elements.h"
#include "support.h"

namespace evo {
namespace {

struct Shape {
    int64_t count;
    int32_t dimensions;
    int64_t sizes[EVO_MAX_DIMENSIONS];
    int64_t target_strides[EVO_MAX_DIMENSIONS];
    int64_t source_strides[EVO_MAX_DIMENSIONS];
};

constexpr int kThreads = 256;

unsigned blocks_for(int64_t count) {
    const int64_t blocks = (count + kThreads - 1) / kThreads;
    return static_cast<unsigned>(blocks < 65536 ? blocks : 65536);
}

__device__ void places(const Shape &shape, int64_t index, int64_t &target, int64_t &source) {
    target = source = 0;
    for (int d = shape.dimensions - 1; d >= 0; --d) {
        const int64_t coordinate = index % shape.sizes[d];
        index /= shape.sizes[d];
        target += coordinate * shape.target_strides[d];
        source += coordinate * shape.source_strides[d];
    }
}

template <typename T>
__global__ void evo_copy(T *target, const T *source, const Shape shape) {
    for (int64_t i = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x; i < shape.count;
         i += static_cast<int64_t>(gridDim.x) * kThreads) {
        int64_t to, from;
        places(shape, i, to, from);
        target[to] = source[from];
    }
}

__global__ void evo_convert(void *target, int32_t target_type, const void *source, int32_t source_type,
                            const Shape shape) {
    for (int64_t i = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x; i < shape.count;
         i += static_cast<int64_t>(gridDim.x) * kThreads) {
        int64_t to, from;
        places(shape, i, to, from);
        store_element(target, to, target_type, load_element(source, from, source_type));
    }
}

template <typename T>
__global__ void evo_fill(T *target, T value, const Shape shape) {
    for (int64_t i = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x; i < shape.count;
         i += static_cast<int64_t>(gridDim.x) * kThreads) {
        int64_t to = i, from;
        if (shape.dimensions) places(shape, i, to, from);
        target[to] = value;
    }
}

__global__ void evo_range(void *target, int32_t type, double start, double step, int64_t count) {
    for (int64_t i = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x; i < count;
         i += static_cast<int64_t>(gridDim.x) * kThreads)
        store_element(target, i, type, number_of(start + step * static_cast<double>(i)));
}

Shape shape_of(const EvoTensor &target, const EvoTensor &source) {
    Shape shape = {};
    shape.count = element_count(target);
    shape.dimensions = target.dimensions;
    for (int32_t d = 0; d < target.dimensions; ++d) {
        shape.sizes[d] = target.sizes[d];
        shape.target_strides[d] = target.strides[d];
        shape.source_strides[d] = source.strides[d];
    }
    return shape;
}

template <typename T>
void copy_as(const EvoTensor &target, const EvoTensor &source, const Shape &shape, cudaStream_t stream) {
    evo_copy<T><<<blocks_for(shape.count), kThreads, 0, stream>>>(static_cast<T *>(target.data),
                                                                 static_cast<const T *>(source.data), shape);
}

template <typename T>
void fill_as(const EvoTensor &target, uint64_t pattern, const Shape &shape, cudaStream_t stream) {
    evo_fill<T><<<blocks_for(shape.count), kThreads, 0, stream>>>(static_cast<T *>(target.data),
                                                                 static_cast<T>(pattern), shape);
}

}  // namespace

void device_copy(const EvoTensor &target, const EvoTensor &source, cudaStream_t stream) {
    const Shape shape = shape_of(target, source);
    if (shape.count == 0) return;
    if (target.dtype != source.dtype)
        evo_convert<<<blocks_for(shape.count), kThreads, 0, stream>>>(target.data, target.dtype, source.data,
                                                                     source.dtype, shape);
    else switch (item_size(target)) {
        case 1: copy_as<uint8_t>(target, source, shape, stream); break;
        case 2: copy_as<uint16_t>(target, source, shape, stream); break;
        case 4: copy_as<uint32_t>(target, source, shape, stream); break;
        case 8: copy_as<uint64_t>(target, source, shape, stream); break;
        default: copy_as<ulonglong2>(target, source, shape, stream);
    }
    C10_CUDA_CHECK(cudaGetLastError());
}

void device_fill(const EvoTensor &target, uint64_t pattern, cudaStream_t stream) {
    Shape shape = shape_of(target, target);
    if (shape.count == 0) return;
    if (is_contiguous(target)) shape.dimensions = 0;
    switch (item_size(target)) {
        case 1: fill_as<uint8_t>(target, pattern, shape, stream); break;
        case 2: fill_as<uint16_t>(target, pattern, shape, stream); break;
        case 4: fill_as<uint32_t>(target, pattern, shape, stream); break;
        default: fill_as<uint64_t>(target, pattern, shape, stream);
    }
    C10_CUDA_CHECK(cudaGetLastError());
}

void device_range(const EvoTensor &target, double start, double step, cudaStream_t stream) {
    const int64_t count = element_count(target);
    if (count == 0) return;
    evo_range<<<blocks_for(count), kThreads, 0, stream>>>(target.data, target.dtype, start, step, count);
    C10_CUDA_CHECK(cudaGetLastError());
}

}  // namespace evo
