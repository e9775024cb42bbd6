/* ATen/cuda/ApplyGridUtils.cuh and detail/TensorInfo.cuh: launch sizes, and strided tensors as kernel arguments. */
#pragma once

#include "torch.h"

namespace at {
namespace cuda {

constexpr uint32_t AT_APPLY_THREADS_PER_BLOCK = 512;
constexpr uint32_t AT_APPLY_BLOCKS_PER_SM = 4;
template <int step = 1>
inline bool getApplyGrid(uint64_t elements, dim3 &grid, int64_t device, int threads = AT_APPLY_THREADS_PER_BLOCK) {
    if (device == -1) return false;
    const uint64_t wanted = ATenCeilDiv<uint64_t>(elements, static_cast<uint64_t>(threads) * step);
    const uint64_t most = static_cast<uint64_t>(::evo::device_properties(static_cast<int>(device))->maxGridSize[0]);
    grid = dim3(static_cast<unsigned>(wanted < most ? wanted : most));
    return true;
}
constexpr int getApplyBlocksPerSM() { return AT_APPLY_BLOCKS_PER_SM; }
constexpr int getApplyBlockSize() { return AT_APPLY_THREADS_PER_BLOCK; }
inline dim3 getApplyBlock(int threads = AT_APPLY_THREADS_PER_BLOCK) { return dim3(static_cast<unsigned>(threads)); }

namespace detail {

constexpr int MAX_TENSORINFO_DIMS = 25;

/* A pointer with sizes and strides, by value: what a kernel needs to walk a tensor that is not contiguous. */
template <typename T, typename IndexType>
struct TensorInfo {
    TensorInfo() = default;
    TensorInfo(T *data, int dims, const IndexType *sizes_from, const IndexType *strides_from) : data(data), dims(dims) {
        for (int i = 0; i < dims; ++i) {
            sizes[i] = sizes_from[i];
            strides[i] = strides_from[i];
        }
    }
    void reduceDim(int dimension) { sizes[dimension] = 1; }
    bool isContiguous() const { return dims == 1 && strides[0] == 1; }

    T *data = nullptr;
    IndexType sizes[MAX_TENSORINFO_DIMS];
    IndexType strides[MAX_TENSORINFO_DIMS];
    int dims = 0;
};

/* The place of the linear_id-th element. Dims may be known: -1 means any number, -2 contiguous. */
template <typename T, typename IndexType, int Dims>
struct IndexToOffset {
    static __host__ __device__ IndexType get(IndexType linear_id, const TensorInfo<T, IndexType> &info) {
        if constexpr (Dims == -2) return linear_id;
        IndexType offset = 0;
        for (int i = (Dims > 0 ? Dims : info.dims) - 1; i > 0; --i) {
            offset += linear_id % info.sizes[i] * info.strides[i];
            linear_id /= info.sizes[i];
        }
        return offset + linear_id * info.strides[0];
    }
};

template <typename T, typename IndexType>
TensorInfo<T, IndexType> getTensorInfo(const Tensor &tensor) {
    TensorInfo<T, IndexType> info;
    info.data = tensor.data_ptr<T>();
    info.dims = static_cast<int>(tensor.dim());
    for (int i = 0; i < info.dims; ++i) {
        info.sizes[i] = static_cast<IndexType>(tensor.size(i));
        info.strides[i] = static_cast<IndexType>(tensor.stride(i));
    }
    return info;
}

inline bool canUse32BitIndexMath(const Tensor &tensor, int64_t most = 0x7fffffff) {
    int64_t last = 0;
    for (int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
    return tensor.numel() < most && last < most;
}

}  // namespace detail
}  // namespace cuda
}  // namespace at
