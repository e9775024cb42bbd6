/* ATen/TensorUtils.h: checks of several arguments at once, with their names in the message. */
#pragma once

#include "tensor.h"

namespace at {

using CheckedFrom = const char *;

/* Refers to a tensor of the caller's. */
struct TensorArg {
    TensorArg(const Tensor &tensor, const char *name, int pos) : tensor(tensor), name(name), pos(pos) {}
    const Tensor *operator->() const { return &tensor; }
    const Tensor &operator*() const { return tensor; }
    const Tensor &tensor;
    const char *name;
    int pos;
};

inline void checkDefined(CheckedFrom from, const TensorArg &t) {
    TORCH_CHECK(t->defined(), from, ": ", t.name, " (argument ", t.pos, ") is not defined");
}
inline void checkDim(CheckedFrom from, const TensorArg &t, int64_t dim) {
    TORCH_CHECK(t->dim() == dim, from, ": ", t.name, " must have ", dim, " dimensions, got ", t->dim());
}
inline void checkDimRange(CheckedFrom from, const TensorArg &t, int64_t first, int64_t end) {
    TORCH_CHECK(t->dim() >= first && t->dim() < end, from, ": ", t.name, " has ", t->dim(), " dimensions");
}
inline void checkContiguous(CheckedFrom from, const TensorArg &t) {
    TORCH_CHECK(t->is_contiguous(), from, ": ", t.name, " must be contiguous");
}
inline void checkSize(CheckedFrom from, const TensorArg &t, IntArrayRef sizes) {
    TORCH_CHECK(t->sizes() == sizes, from, ": ", t.name, " must have sizes ", sizes, ", got ", t->sizes());
}
inline void checkSize(CheckedFrom from, const TensorArg &t, int64_t dim, int64_t size) {
    TORCH_CHECK(t->size(dim) == size, from, ": ", t.name, " must have size ", size, " in dimension ", dim);
}
inline void checkNumel(CheckedFrom from, const TensorArg &t, int64_t count) {
    TORCH_CHECK(t->numel() == count, from, ": ", t.name, " must have ", count, " elements, got ", t->numel());
}
inline void checkScalarType(CheckedFrom from, const TensorArg &t, ScalarType type) {
    TORCH_CHECK(t->scalar_type() == type, from, ": ", t.name, " must be ", type, ", got ", t->scalar_type());
}
inline void checkSameSize(CheckedFrom from, const TensorArg &a, const TensorArg &b) {
    TORCH_CHECK(a->sizes() == b->sizes(), from, ": ", a.name, " and ", b.name, " differ in size");
}
inline void checkSameDim(CheckedFrom from, const TensorArg &a, const TensorArg &b) {
    TORCH_CHECK(a->dim() == b->dim(), from, ": ", a.name, " and ", b.name, " differ in dimensions");
}
inline void checkSameNumel(CheckedFrom from, const TensorArg &a, const TensorArg &b) {
    TORCH_CHECK(a->numel() == b->numel(), from, ": ", a.name, " and ", b.name, " differ in elements");
}
inline void checkSameType(CheckedFrom from, const TensorArg &a, const TensorArg &b) {
    TORCH_CHECK(a->scalar_type() == b->scalar_type(), from, ": ", a.name, " and ", b.name, " differ in type");
}
inline void checkSameGPU(CheckedFrom from, const TensorArg &a, const TensorArg &b) {
    TORCH_CHECK(a->is_cuda() && b->is_cuda(), from, ": ", a.name, " and ", b.name, " must be on a GPU");
    TORCH_CHECK(a->get_device() == b->get_device(), from, ": ", a.name, " and ", b.name, " differ in device");
}

#define EVO_CHECK_ALL(name, check)                                                                                 \
    inline void name(CheckedFrom from, ArrayRef<TensorArg> tensors) {                                              \
        for (size_t i = 1; i < tensors.size(); ++i) check(from, tensors[0], tensors[i]);                           \
    }
EVO_CHECK_ALL(checkAllSameSize, checkSameSize)
EVO_CHECK_ALL(checkAllSameNumel, checkSameNumel)
EVO_CHECK_ALL(checkAllSameType, checkSameType)
EVO_CHECK_ALL(checkAllSameGPU, checkSameGPU)
#undef EVO_CHECK_ALL
inline void checkAllContiguous(CheckedFrom from, ArrayRef<TensorArg> tensors) {
    for (const TensorArg &each : tensors) checkContiguous(from, each);
}
inline void checkAllDefined(CheckedFrom from, ArrayRef<TensorArg> tensors) {
    for (const TensorArg &each : tensors) checkDefined(from, each);
}

}  // namespace at
