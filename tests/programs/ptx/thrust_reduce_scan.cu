// seconds: 600
// Thrust: device_vector, transform, reduce, scan, copy_if and counting iterators.
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>

#include <algorithm>
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
    std::vector<int> values(n);
    for (int& v : values) v = int(random.below(2000)) - 1000;
    thrust::device_vector<int> d(values.begin(), values.end());

    expect_equal("reduce", 0, std::accumulate(values.begin(), values.end(), 0), thrust::reduce(d.begin(), d.end()));
    expect_equal("max", 0, *std::max_element(values.begin(), values.end()), thrust::reduce(d.begin(), d.end(), INT32_MIN, thrust::maximum<int>()));
    long long squares = 0;
    for (int v : values) squares += (long long)v * v;
    expect_equal("transform reduce", 0, squares, thrust::transform_reduce(d.begin(), d.end(), Square(), 0ll, thrust::plus<long long>()));

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

    thrust::device_vector<int> kept(n);
    kept.resize(thrust::copy_if(d.begin(), d.end(), kept.begin(), Even()) - kept.begin());
    std::vector<int> evens;
    std::copy_if(values.begin(), values.end(), std::back_inserter(evens), Even());
    expect_all("copy if", evens, host(kept));

    auto counting = thrust::make_counting_iterator(1);
    expect_equal("counting", 0, 5050, thrust::reduce(thrust::device, counting, counting + 100));
    return passed();
}
