/* c10/util/MaybeOwned.h: a tensor of the caller's, or one of its own. Here a counted reference to either. */
#pragma once

#include "torch.h"

namespace c10 {
template <typename T>
struct MaybeOwned {
    static MaybeOwned borrowed(const T &value) { return {value}; }
    static MaybeOwned owned(T &&value) { return {static_cast<T &&>(value)}; }
    const T &operator*() const { return value; }
    const T *operator->() const { return &value; }
    T value;
};
}  // namespace c10

#ifdef EVO_WITH_OPTIONAL
namespace at {
inline c10::MaybeOwned<Tensor> borrow_from_optional_tensor(const std::optional<Tensor> &tensor) {
    return {tensor ? *tensor : Tensor()};
}
}  // namespace at
#endif
