// Thrust on the device: transform, reduce, scan, sort by key, device_vector.
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include <algorithm>
#include <numeric>

#include "check.h"

struct Square {
    __host__ __device__ int operator()(int x) const { return x * x; }
};

int main() {
    const int n = 3000;
    thrust::device_vector<int> d(n), squares(n);
    thrust::sequence(d.begin(), d.end(), -100);
    thrust::transform(d.begin(), d.end(), squares.begin(), Square());
    long long sum = thrust::reduce(squares.begin(), squares.end(), 0ll);
    long long wanted = 0;
    for (int i = 0; i < n; i++) wanted += (long long)(i - 100) * (i - 100);
    EXPECT_EQ(sum, wanted);

    std::vector<int> keys(n), values(n), prefix(n);
    unsigned state = 7;
    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        keys[i] = int(state >> 20) - 2048;
        values[i] = i;
    }
    thrust::device_vector<int> k(keys.begin(), keys.end()), v(values.begin(), values.end());
    thrust::inclusive_scan(k.begin(), k.end(), d.begin());
    std::partial_sum(keys.begin(), keys.end(), prefix.begin());
    thrust::host_vector<int> scanned = d;
    for (int i = 0; i < n; i++) EXPECT_EQ(int(scanned[i]), prefix[i]);
    thrust::stable_sort_by_key(k.begin(), k.end(), v.begin());
    std::stable_sort(values.begin(), values.end(), [&](int a, int b) { return keys[a] < keys[b]; });
    thrust::host_vector<int> order = v;
    for (int i = 0; i < n; i++) EXPECT_EQ(int(order[i]), values[i]);
    return pass();
}
