/* c10::complex, for the dispatch macros that include complex types. */
#pragma once

#include "config.h"

namespace c10 {

template <typename T>
struct alignas(2 * sizeof(T)) complex {
    using value_type = T;
    T real_ = T(0);
    T imag_ = T(0);

    constexpr complex() = default;
    C10_HOST_DEVICE constexpr complex(const T &real, const T &imag = T()) : real_(real), imag_(imag) {}
    template <typename U>
    C10_HOST_DEVICE constexpr explicit complex(const complex<U> &other)
        : real_(static_cast<T>(other.real_)), imag_(static_cast<T>(other.imag_)) {}
    C10_HOST_DEVICE constexpr T real() const { return real_; }
    C10_HOST_DEVICE constexpr T imag() const { return imag_; }
    C10_HOST_DEVICE constexpr void real(T value) { real_ = value; }
    C10_HOST_DEVICE constexpr void imag(T value) { imag_ = value; }

    C10_HOST_DEVICE constexpr complex &operator+=(const complex &b) { return *this = complex(real_ + b.real_, imag_ + b.imag_); }
    C10_HOST_DEVICE constexpr complex &operator-=(const complex &b) { return *this = complex(real_ - b.real_, imag_ - b.imag_); }
    C10_HOST_DEVICE constexpr complex &operator*=(const complex &b) {
        return *this = complex(real_ * b.real_ - imag_ * b.imag_, real_ * b.imag_ + imag_ * b.real_);
    }
    C10_HOST_DEVICE constexpr complex &operator/=(const complex &b) {
        const T norm = b.real_ * b.real_ + b.imag_ * b.imag_;
        return *this = complex((real_ * b.real_ + imag_ * b.imag_) / norm, (imag_ * b.real_ - real_ * b.imag_) / norm);
    }
    friend C10_HOST_DEVICE constexpr complex operator+(complex a, const complex &b) { return a += b; }
    friend C10_HOST_DEVICE constexpr complex operator-(complex a, const complex &b) { return a -= b; }
    friend C10_HOST_DEVICE constexpr complex operator*(complex a, const complex &b) { return a *= b; }
    friend C10_HOST_DEVICE constexpr complex operator/(complex a, const complex &b) { return a /= b; }
    friend C10_HOST_DEVICE constexpr complex operator-(const complex &a) { return complex(-a.real_, -a.imag_); }
    friend C10_HOST_DEVICE constexpr bool operator==(const complex &a, const complex &b) {
        return a.real_ == b.real_ && a.imag_ == b.imag_;
    }
    friend C10_HOST_DEVICE constexpr bool operator!=(const complex &a, const complex &b) { return !(a == b); }
};

template <typename T>
C10_HOST_DEVICE T real(const complex<T> &value) { return value.real(); }
template <typename T>
C10_HOST_DEVICE T imag(const complex<T> &value) { return value.imag(); }
template <typename T>
C10_HOST_DEVICE complex<T> conj(const complex<T> &value) { return complex<T>(value.real(), -value.imag()); }

}  // namespace c10
