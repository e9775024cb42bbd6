// seconds: 600
// CUB over the whole device: reduce, scan, radix sort, select, histogram, run-length encoding, partition.
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include <algorithm>
#include <numeric>

#include "../check.h"

struct Less { int than; __host__ __device__ bool operator()(int v) const { return v < than; } };

// Every device algorithm is called twice: once for the size of its scratch memory.
template <class F>
void run(F f) {
    size_t bytes = 0;
    CUDA_OK(f(nullptr, bytes));
    Buffer<char> scratch(bytes ? bytes : 1);
    CUDA_OK(f(scratch.data, bytes));
}

int main() {
    const int n = 3000;
    Random random(74);
    std::vector<int> values(n);
    std::vector<unsigned> keys(n), payload(n);
    for (int i = 0; i < n; i++) values[i] = int(random.below(2000)) - 1000, keys[i] = random.u32() >> (i % 3 * 8), payload[i] = unsigned(i);
    Buffer<int> dv(values), out(n), count(1), lengths(n);

    run([&](void* p, size_t& b) { return cub::DeviceReduce::Sum(p, b, dv.data, count.data, n); });
    expect_equal("sum", 0, std::accumulate(values.begin(), values.end(), 0), count.host()[0]);
    run([&](void* p, size_t& b) { return cub::DeviceReduce::Min(p, b, dv.data, count.data, n); });
    expect_equal("min", 0, *std::min_element(values.begin(), values.end()), count.host()[0]);

    run([&](void* p, size_t& b) { return cub::DeviceScan::InclusiveSum(p, b, dv.data, out.data, n); });
    std::vector<int> sums(n);
    std::partial_sum(values.begin(), values.end(), sums.begin());
    expect_all("inclusive sum", sums, out.host());
    run([&](void* p, size_t& b) { return cub::DeviceScan::ExclusiveSum(p, b, dv.data, out.data, n); });
    auto got = out.host();
    for (int i = 0; i < n; i++) expect_equal("exclusive sum", i, i ? sums[i - 1] : 0, got[i]);

    run([&](void* p, size_t& b) { return cub::DeviceSelect::If(p, b, dv.data, out.data, count.data, n, Less{-200}); });
    std::vector<int> small;
    std::copy_if(values.begin(), values.end(), std::back_inserter(small), Less{-200});
    expect_equal("selected", 0, int(small.size()), count.host()[0]);
    got = out.host();
    for (size_t i = 0; i < small.size(); i++) expect_equal("select", i, small[i], got[i]);

    Buffer<unsigned> dk(keys), dp(payload), sorted(n), moved(n);
    run([&](void* p, size_t& b) { return cub::DeviceRadixSort::SortPairs(p, b, dk.data, sorted.data, dp.data, moved.data, n); });
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
    auto k = sorted.host(), m = moved.host();
    for (int i = 0; i < n; i++) {
        expect_equal("sorted keys", i, keys[order[i]], k[i]);
        expect_equal("moved values", i, unsigned(order[i]), m[i]);
    }
    run([&](void* p, size_t& b) { return cub::DeviceRadixSort::SortKeysDescending(p, b, dv.data, out.data, n); });
    std::vector<int> descending = values;
    std::sort(descending.begin(), descending.end(), std::greater<int>());
    expect_all("sorted descending", descending, out.host());

    std::vector<float> samples(n);
    std::vector<int> bins(8);
    for (float& s : samples) { s = float(random.below(160)) / 10; if (s < 16) bins[int(s / 2)]++; }
    Buffer<float> ds(samples);
    Buffer<int> db(8);
    run([&](void* p, size_t& b) { return cub::DeviceHistogram::HistogramEven(p, b, ds.data, db.data, 9, 0.0f, 16.0f, n); });
    expect_all("histogram", bins, db.host());

    std::vector<int> runs, values_of_runs, run_lengths;
    for (int i = 0; i < n; i++) runs.push_back(int(i * i / 5000) % 7);
    for (int i = 0; i < n; i++) {
        if (i && runs[i] == runs[i - 1]) run_lengths.back()++; else values_of_runs.push_back(runs[i]), run_lengths.push_back(1);
    }
    Buffer<int> dr(runs);
    run([&](void* p, size_t& b) { return cub::DeviceRunLengthEncode::Encode(p, b, dr.data, out.data, lengths.data, count.data, n); });
    expect_equal("runs", 0, int(run_lengths.size()), count.host()[0]);
    got = out.host();
    auto l = lengths.host();
    for (size_t i = 0; i < run_lengths.size(); i++) {
        expect_equal("run value", i, values_of_runs[i], got[i]);
        expect_equal("run length", i, run_lengths[i], l[i]);
    }
    return passed();
}
