// Shared by the self-checking programs: deterministic inputs, device buffers, comparisons.
//
// A program computes on the device, computes the same on the CPU, and calls expect_*() for every
// result. The first mismatch is printed (what, index, expected, actual) and ends the program with
// exit code 1; main ends with `return passed();`, which prints PASS.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include <cuda_runtime.h>

#define CUDA_OK(call) cuda_ok((call), #call, __FILE__, __LINE__)

inline void cuda_ok(cudaError_t error, const char* call, const char* file, int line) {
    if (error == cudaSuccess) return;
    printf("%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(error));
    exit(1);
}

// Waits for the kernels launched so far and reports their errors.
inline void synchronise() {
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaDeviceSynchronize());
}

// A device array. Starts zeroed, or as a copy of host values.
template <class T>
struct Buffer {
    T* data = nullptr;
    size_t size;
    explicit Buffer(size_t n) : size(n) {
        CUDA_OK(cudaMalloc(&data, n * sizeof(T)));
        CUDA_OK(cudaMemset(data, 0, n * sizeof(T)));
    }
    explicit Buffer(const std::vector<T>& values) : size(values.size()) {
        CUDA_OK(cudaMalloc(&data, size * sizeof(T)));
        put(values);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { cudaFree(data); }
    operator T*() const { return data; }
    void put(const std::vector<T>& values) {
        CUDA_OK(cudaMemcpy(data, values.data(), size * sizeof(T), cudaMemcpyHostToDevice));
    }
    std::vector<T> host() const {
        synchronise();
        std::vector<T> values(size);
        CUDA_OK(cudaMemcpy(values.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
        return values;
    }
};

// SplitMix64: the same numbers on every machine.
struct Random {
    uint64_t state;
    explicit Random(uint64_t seed) : state(seed) {}
    uint64_t u64() {
        uint64_t z = (state += 0x9e3779b97f4a7c15ull);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
    uint32_t u32() { return uint32_t(u64() >> 32); }
    uint32_t below(uint32_t n) { return uint32_t((u64() >> 32) * n >> 32); }
    double unit() { return double(u64() >> 11) * 0x1p-53; }
    double range(double low, double high) { return low + (high - low) * unit(); }
};

template <class To, class From>
inline To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "sizes differ");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

template <class T>
inline void show(const char* label, T value) {
    if constexpr (std::is_floating_point_v<T>) {
        if constexpr (sizeof(T) == 4) {
            printf("%s %.9g (0x%08x)", label, double(value), bits_as<uint32_t>(value));
        } else {
            printf("%s %.17g", label, double(value));
        }
    } else if constexpr (std::is_signed_v<T>) {
        printf("%s %lld", label, (long long)value);
    } else {
        printf("%s %llu (0x%llx)", label, (unsigned long long)value, (unsigned long long)value);
    }
}

template <class T>
[[noreturn]] inline void mismatch(const char* what, size_t index, T expected, T actual) {
    printf("%s[%zu]:", what, index);
    show(" expected", expected);
    show(", actual", actual);
    printf("\n");
    exit(1);
}

// Equal bit for bit; any NaN equals any NaN.
template <class T>
inline void expect_equal(const char* what, size_t index, T expected, T actual) {
    if constexpr (std::is_floating_point_v<T>) {
        if (expected != expected && actual != actual) return;
    }
    if (memcmp(&expected, &actual, sizeof(T)) != 0) mismatch(what, index, expected, actual);
}

template <class T>
inline void expect_all(const char* what, const std::vector<T>& expected, const std::vector<T>& actual) {
    if (expected.size() != actual.size()) mismatch(what, 0, expected.size(), actual.size());
    for (size_t i = 0; i < expected.size(); i++) expect_equal(what, i, expected[i], actual[i]);
}

// Within absolute + relative * |expected|. NaN matches NaN, an infinity matches itself.
template <class T>
inline void expect_near(const char* what, size_t index, double expected, T actual, double relative,
                        double absolute = 0) {
    if (expected != expected && actual != actual) return;
    if (expected == double(actual)) return;
    double error = std::fabs(double(actual) - expected);
    if (!(error <= absolute + relative * std::fabs(expected))) {
        mismatch(what, index, expected, double(actual));
    }
}

// Within `ulps` units in the last place of T of the correctly rounded value, as CUDA's tables count;
// results that overflow T match the infinity of the same sign.
template <class T>
inline void expect_ulp(const char* what, size_t index, long double exact, T actual, double ulps) {
    if (exact != exact && actual != actual) return;
    T rounded = T(exact);
    if (rounded == actual) return;
    int exponent = 0;
    std::frexp(rounded, &exponent);
    exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
    long double unit = std::ldexp((long double)1, exponent - std::numeric_limits<T>::digits);
    if (std::isfinite(rounded) && std::isfinite(actual) &&
        std::fabs((long double)actual - exact) <= (ulps + 0.5) * unit) return;
    // Next to the overflow threshold either neighbour is within tolerance.
    if (std::fabs((double)exact) >= 0.999999 * (double)std::numeric_limits<T>::max() &&
        std::signbit(actual) == std::signbit(rounded) &&
        std::fabs((double)actual) >= 0.999999 * (double)std::numeric_limits<T>::max()) return;
    mismatch(what, index, rounded, actual);
}

inline int passed() {
    synchronise();
    printf("PASS\n");
    return 0;
}
