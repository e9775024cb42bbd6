// Thrust: device_vector, transform, reduce, scan, sort, unique, copy_if, sort_by_key, reduce_by_key, zip.
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/extrema.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "../check.h"

struct Square { __host__ __device__ long long operator()(int x) const { return (long long)x * x; } };
struct Saxpy { float a; __host__ __device__ float operator()(float x, float y) const { return a * x + y; } };
struct Even { __host__ __device__ bool operator()(int x) const { return x % 2 == 0; } };

template <class T>
std::vector<T> host(const thrust::device_vector<T>& v) {
    std::vector<T> r(v.size());
    thrust::copy(v.begin(), v.end(), r.begin());
    return r;
}

int main() {
    const int n = 1500;
    Random random(72);
    std::vector<int> values(n), keys(n);
    for (int& v : values) v = int(random.below(2000)) - 1000;
    for (int& k : keys) k = int(random.below(12));
    thrust::device_vector<int> d(values.begin(), values.end());

    expect_equal("reduce", 0, std::accumulate(values.begin(), values.end(), 0), thrust::reduce(d.begin(), d.end()));
    expect_equal("max", 0, *std::max_element(values.begin(), values.end()), thrust::reduce(d.begin(), d.end(), INT32_MIN, thrust::maximum<int>()));
    long long squares = 0;
    for (int v : values) squares += (long long)v * v;
    expect_equal("transform reduce", 0, squares, thrust::transform_reduce(d.begin(), d.end(), Square(), 0ll, thrust::plus<long long>()));
    expect_equal("count", 0, long(std::count_if(values.begin(), values.end(), Even())), long(thrust::count_if(d.begin(), d.end(), Even())));
    expect_equal("max element", 0, long(std::max_element(values.begin(), values.end()) - values.begin()), long(thrust::max_element(d.begin(), d.end()) - d.begin()));

    thrust::device_vector<int> scanned(n);
    thrust::inclusive_scan(d.begin(), d.end(), scanned.begin());
    std::vector<int> sums(n);
    std::partial_sum(values.begin(), values.end(), sums.begin());
    expect_all("inclusive scan", sums, host(scanned));
    thrust::exclusive_scan(d.begin(), d.end(), scanned.begin(), 7);
    for (int i = n - 1; i > 0; i--) sums[i] = sums[i - 1] + 7;
    sums[0] = 7;
    expect_all("exclusive scan", sums, host(scanned));

    thrust::device_vector<float> x(n), y(n, 0.5f);
    thrust::sequence(x.begin(), x.end());
    thrust::transform(x.begin(), x.end(), y.begin(), y.begin(), Saxpy{2.0f});
    auto hy = host(y);
    for (int i = 0; i < n; i++) expect_equal("saxpy", i, 2.0f * i + 0.5f, hy[i]);

    thrust::device_vector<int> sorted = d, kept(n);
    thrust::sort(sorted.begin(), sorted.end());
    std::vector<int> expected = values;
    std::sort(expected.begin(), expected.end());
    expect_all("sort", expected, host(sorted));
    thrust::sort(sorted.begin(), sorted.end(), thrust::greater<int>());
    std::reverse(expected.begin(), expected.end());
    expect_all("sort descending", expected, host(sorted));
    sorted.resize(thrust::unique(sorted.begin(), sorted.end()) - sorted.begin());
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    expect_all("unique", expected, host(sorted));
    kept.resize(thrust::copy_if(d.begin(), d.end(), kept.begin(), Even()) - kept.begin());
    std::vector<int> evens;
    std::copy_if(values.begin(), values.end(), std::back_inserter(evens), Even());
    expect_all("copy if", evens, host(kept));

    // Stable sort by key, then sums per key.
    thrust::device_vector<int> dk(keys.begin(), keys.end()), dv = d, out_keys(n), out_sums(n);
    thrust::stable_sort_by_key(dk.begin(), dk.end(), dv.begin());
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
    auto hv = host(dv);
    for (int i = 0; i < n; i++) expect_equal("sort by key", i, values[order[i]], hv[i]);
    auto ends = thrust::reduce_by_key(dk.begin(), dk.end(), dv.begin(), out_keys.begin(), out_sums.begin());
    std::map<int, int> totals;
    for (int i = 0; i < n; i++) totals[keys[i]] += values[i];
    expect_equal("number of keys", 0, totals.size(), size_t(ends.first - out_keys.begin()));
    auto hk = host(out_keys), hs = host(out_sums);
    size_t at = 0;
    for (auto& [key, total] : totals) {
        expect_equal("key", at, key, hk[at]);
        expect_equal("sum by key", at, total, hs[at]);
        at++;
    }

    auto counting = thrust::make_counting_iterator(1);
    expect_equal("counting", 0, 5050, thrust::reduce(thrust::device, counting, counting + 100));
    thrust::device_vector<int> wanted(std::vector<int>{0, 3, 11}), found(3);
    thrust::lower_bound(dk.begin(), dk.end(), wanted.begin(), wanted.end(), found.begin());
    std::sort(keys.begin(), keys.end());
    auto hf = host(found);
    for (int i = 0; i < 3; i++) expect_equal("lower bound", i, int(std::lower_bound(keys.begin(), keys.end(), i == 0 ? 0 : i == 1 ? 3 : 11) - keys.begin()), hf[i]);
    return passed();
}
