// What every chain of variants shares: the command line, device arrays, timing and verification.
//
//   chain VARIANT|all [SIZE...] [--launches N] [--cold] [--verify]
//
// prints a line `variant<TAB>microseconds` for each variant. Timing leaves the inputs as they were
// allocated, because no kernel here takes longer for other values; `--verify` runs a small problem
// (or the sizes given) on chosen inputs, compares with a CPU reference, and exits with 1 if a variant
// differs. `--cold` empties the L2 cache before the timed launch, as a profiler's replay does;
// `--launches` averages over back-to-back launches, as a benchmark loop does.
#pragma once
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        cudaError_t status = (call);                                                             \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

namespace chain {

inline int ceil_div(long long a, long long b) { return static_cast<int>((a + b - 1) / b); }

// A small reproducible value in [-1, 1), different for every index and seed.
inline float pattern(size_t index, unsigned seed) {
    unsigned x = static_cast<unsigned>(index) * 2654435761u + seed * 40503u + 12345u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return static_cast<float>(x & 0xffffu) / 32768.0f - 1.0f;
}

// Device memory; `host` is filled only where a verification needs it.
template <class T>
struct Array {
    T* data = nullptr;
    size_t count;
    std::vector<T> host;

    explicit Array(size_t count) : count(count) { CHECK(cudaMalloc(&data, count * sizeof(T))); }
    Array(const Array&) = delete;
    ~Array() { cudaFree(data); }

    operator T*() { return data; }

    void upload() { CHECK(cudaMemcpy(data, host.data(), count * sizeof(T), cudaMemcpyHostToDevice)); }
    std::vector<T> download() const {
        std::vector<T> out(count);
        CHECK(cudaMemcpy(out.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
        return out;
    }
    template <class F>
    void fill(F value) {
        host.resize(count);
        for (size_t i = 0; i < count; ++i) host[i] = static_cast<T>(value(i));
        upload();
    }
};

class Run {
   public:
    bool verify = false;

    Run(int argc, char** argv, std::vector<long long> usual, std::vector<long long> small) {
        std::vector<long long> given;
        for (int i = 1; i < argc; ++i) {
            std::string word = argv[i];
            if (word == "--verify") verify = true;
            else if (word == "--cold") cold_ = true;
            else if (word == "--launches" && i + 1 < argc) launches_ = std::atoi(argv[++i]);
            else if (wanted_.empty()) wanted_ = word;
            else given.push_back(std::atoll(word.c_str()));
        }
        sizes_ = verify ? small : usual;
        if (wanted_.empty() || given.size() > sizes_.size() || launches_ < 1) {
            std::fprintf(stderr, "usage: %s VARIANT|all [up to %zu sizes] [--launches N] [--cold] [--verify]\n",
                         argv[0], sizes_.size());
            std::exit(2);
        }
        for (size_t i = 0; i < given.size(); ++i) sizes_[i] = given[i];
        CHECK(cudaEventCreate(&start_));
        CHECK(cudaEventCreate(&stop_));
    }

    long long size(int i) const { return sizes_[i]; }

    // Times or verifies one variant. `prepare` restores what a launch consumes and is never timed.
    void variant(const char* name, const std::function<void()>& launch, const std::function<bool()>& check,
                 const std::function<void()>& prepare = [] {}) {
        if (wanted_ != "all" && wanted_ != name) return;
        ++ran_;
        prepare();
        launch();
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        if (verify) {
            bool right = check();
            std::printf("%s\t%s\n", name, right ? "right" : "WRONG");
            wrong_ += !right;
            return;
        }
        prepare();
        if (cold_) empty_l2();
        CHECK(cudaEventRecord(start_));
        for (int i = 0; i < launches_; ++i) launch();
        CHECK(cudaEventRecord(stop_));
        CHECK(cudaEventSynchronize(stop_));
        float milliseconds = 0.0f;
        CHECK(cudaEventElapsedTime(&milliseconds, start_, stop_));
        std::printf("%s\t%.3f\n", name, 1000.0 * milliseconds / launches_);
        std::fflush(stdout);
    }

    int finish() const {
        if (ran_ == 0) {
            std::fprintf(stderr, "no variant is called %s\n", wanted_.c_str());
            return 2;
        }
        return wrong_ ? 1 : 0;
    }

   private:
    // Writes more bytes than any L2 holds, so that nothing of the inputs stays in it.
    void empty_l2() {
        constexpr size_t bytes = 256u << 20;
        if (!scratch_) CHECK(cudaMalloc(&scratch_, bytes));
        CHECK(cudaMemset(scratch_, 0, bytes));
    }

    std::string wanted_;
    std::vector<long long> sizes_;
    int launches_ = 1, ran_ = 0, wrong_ = 0;
    bool cold_ = false;
    void* scratch_ = nullptr;
    cudaEvent_t start_, stop_;
};

// True if every element of `array` is within the tolerance (relative to `scale`) of what is expected.
template <class T, class E>
bool close(const Array<T>& array, const std::vector<E>& expected, double tolerance, double scale = 1.0) {
    std::vector<T> actual = array.download();
    for (size_t i = 0; i < expected.size(); ++i) {
        double got = static_cast<double>(static_cast<float>(actual[i]));
        if (std::is_same<T, double>::value) got = static_cast<double>(actual[i]);
        double want = static_cast<double>(expected[i]);
        if (!(std::fabs(got - want) <= tolerance * std::fmax(scale, std::fabs(want)))) {
            std::fprintf(stderr, "element %zu is %g, expected %g\n", i, got, want);
            return false;
        }
    }
    return true;
}

// Overwrites an output with NaN, so that what a variant does not write shows.
template <class T>
void poison(Array<T>& array) {
    CHECK(cudaMemset(array.data, 0xff, array.count * sizeof(T)));
}

}  // namespace chain
