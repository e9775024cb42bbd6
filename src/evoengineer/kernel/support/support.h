/* What the parts of the support library share: the host, and helpers on plain EvoTensors. */
#pragma once

#include "evo/cuda.h"
#include "evo/factories.h"
#include "evo/half.h"
#include "evo/module.h"
#include "evo/objects.h"

namespace evo {

/* The process that runs us; fails when a static constructor asks too early. */
const EvoHost &host();
void set_host(const EvoHost *host);

inline size_t item_size(const EvoTensor &tensor) { return c10::elementSize(static_cast<c10::ScalarType>(tensor.dtype)); }
int64_t element_count(const EvoTensor &tensor);
bool is_contiguous(const EvoTensor &tensor);
/* A new tensor on fresh storage, which must hold `elements`. */
at::Tensor allocate(c10::IntArrayRef sizes, c10::IntArrayRef strides, int64_t elements, const c10::TensorOptions &options);
/* The same storage seen another way. */
at::Tensor view_of(const at::Tensor &base, c10::IntArrayRef sizes, c10::IntArrayRef strides, int64_t offset);
void contiguous_strides(c10::IntArrayRef sizes, int64_t *strides);
void format_strides(c10::IntArrayRef sizes, c10::MemoryFormat format, int64_t *strides);
int64_t wrap(int64_t dimension, int64_t count);
int64_t product(c10::IntArrayRef sizes);
void zero_bytes(const EvoTensor &tensor, size_t bytes);

/* Device side, in device.cu. The tensors are on a GPU. */
void device_copy(const EvoTensor &target, const EvoTensor &source, cudaStream_t stream);
void device_fill(const EvoTensor &target, uint64_t pattern, cudaStream_t stream);
void device_range(const EvoTensor &target, double start, double step, cudaStream_t stream);

template <typename... Parts>
[[noreturn]] void refuse(const Parts &...parts) {
    fail_check("", parts...);
}

}  // namespace evo
