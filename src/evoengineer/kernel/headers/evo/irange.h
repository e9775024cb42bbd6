/* c10::irange: `for (const auto i : c10::irange(n))`. */
#pragma once

#include "config.h"

namespace c10 {
template <typename T>
struct integer_range {
    struct iterator {
        T value;
        C10_HOST_DEVICE T operator*() const { return value; }
        C10_HOST_DEVICE iterator &operator++() {
            ++value;
            return *this;
        }
        C10_HOST_DEVICE bool operator!=(const iterator &other) const { return value < other.value; }
    };
    T first;
    T last;
    C10_HOST_DEVICE iterator begin() const { return {first}; }
    C10_HOST_DEVICE iterator end() const { return {last}; }
};
template <typename T>
C10_HOST_DEVICE integer_range<T> irange(T end) {
    return {T(0), end};
}
template <typename T, typename U>
C10_HOST_DEVICE integer_range<U> irange(T begin, U end) {
    return {static_cast<U>(begin), end};
}
}  // namespace c10
