/* c10::ArrayRef: a view of elements that somebody else keeps, the type of sizes and strides. */
#pragma once

#include "config.h"

namespace evo {
[[noreturn]] void fail_index(int64_t index, size_t size);
}

namespace c10 {

template <typename T>
class ArrayRef {
  public:
    using value_type = T;
    using size_type = size_t;
    using iterator = const T *;
    using const_iterator = const T *;

    constexpr ArrayRef() = default;
    constexpr ArrayRef(const T &element) : data_(&element), size_(1) {}
    constexpr ArrayRef(const T *data, size_t size) : data_(data), size_(size) {}
    constexpr ArrayRef(const T *begin, const T *end) : data_(begin), size_(end - begin) {}
    /* Valid until the end of the expression that holds the list. */
    constexpr ArrayRef(const std::initializer_list<T> &list) : size_(list.size()) { data_ = list.begin(); }
    template <size_t N>
    constexpr ArrayRef(const T (&array)[N]) : data_(array), size_(N) {}
    /* std::vector, std::array, SmallVector: anything with data() and size(). */
    template <typename C, typename = std::enable_if_t<
                              std::is_same<std::remove_const_t<std::remove_pointer_t<decltype(std::declval<const C &>().data())>>, T>::value &&
                              std::is_convertible<decltype(std::declval<const C &>().size()), size_t>::value>>
    constexpr ArrayRef(const C &container) : data_(container.data()), size_(container.size()) {}

    constexpr const T *begin() const { return data_; }
    constexpr const T *end() const { return data_ + size_; }
    constexpr const T *cbegin() const { return begin(); }
    constexpr const T *cend() const { return end(); }
    constexpr const T *data() const { return data_; }
    constexpr size_t size() const { return size_; }
    constexpr bool empty() const { return size_ == 0; }
    constexpr const T &operator[](size_t index) const { return data_[index]; }
    const T &at(size_t index) const {
        if (index >= size_) ::evo::fail_index(static_cast<int64_t>(index), size_);
        return data_[index];
    }
    const T &front() const { return at(0); }
    const T &back() const { return at(size_ - 1); }
    constexpr ArrayRef slice(size_t start, size_t count) const { return ArrayRef(data_ + start, count); }
    constexpr ArrayRef slice(size_t start) const { return slice(start, size_ - start); }
    bool equals(ArrayRef other) const {
        if (size_ != other.size_) return false;
        for (size_t i = 0; i < size_; ++i)
            if (!(data_[i] == other.data_[i])) return false;
        return true;
    }
#ifdef EVO_WITH_VECTOR
    std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
    operator std::vector<T>() const { return vec(); }
#endif

  private:
    const T *data_ = nullptr;
    size_t size_ = 0;
};

template <typename T>
bool operator==(ArrayRef<T> a, ArrayRef<T> b) {
    return a.equals(b);
}
template <typename T>
bool operator!=(ArrayRef<T> a, ArrayRef<T> b) {
    return !a.equals(b);
}
#ifdef EVO_WITH_VECTOR
template <typename T>
bool operator==(const std::vector<T> &a, ArrayRef<T> b) {
    return ArrayRef<T>(a).equals(b);
}
template <typename T>
bool operator==(ArrayRef<T> a, const std::vector<T> &b) {
    return a.equals(ArrayRef<T>(b));
}
template <typename T>
bool operator!=(const std::vector<T> &a, ArrayRef<T> b) {
    return !(a == b);
}
template <typename T>
bool operator!=(ArrayRef<T> a, const std::vector<T> &b) {
    return !(a == b);
}
template <typename T, unsigned N = 6>
using SmallVector = std::vector<T>;
using DimVector = std::vector<int64_t>;
template <typename T>
ArrayRef<T> makeArrayRef(const std::vector<T> &vector) {
    return vector;
}
#endif

template <typename C>
int64_t multiply_integers(const C &numbers) {
    int64_t product = 1;
    for (const auto &number : numbers) product *= number;
    return product;
}
template <typename I>
int64_t multiply_integers(I begin, I end) {
    int64_t product = 1;
    for (; begin != end; ++begin) product *= *begin;
    return product;
}
template <typename C>
int64_t sum_integers(const C &numbers) {
    int64_t sum = 0;
    for (const auto &number : numbers) sum += number;
    return sum;
}

using IntArrayRef = ArrayRef<int64_t>;
using IntList = ArrayRef<int64_t>;
/* Sizes are never symbolic here. */
using SymInt = int64_t;
using SymIntArrayRef = IntArrayRef;

}  // namespace c10
