// seconds: 600
// Thrust: sort, stable_sort_by_key, unique, reduce_by_key, lower_bound.
#include <thrust/binary_search.h>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "../check.h"

template <class T>
std::vector<T> host(const thrust::device_vector<T>& v) {
    std::vector<T> r(v.size());
    thrust::copy(v.begin(), v.end(), r.begin());
    return r;
}

int main() {
    const int n = 700;
    Random random(72);
    std::vector<int> values(n), keys(n);
    for (int& v : values) v = int(random.below(2000)) - 1000;
    for (int& k : keys) k = int(random.below(12));
    thrust::device_vector<int> d(values.begin(), values.end());

    thrust::device_vector<int> sorted = d;
    thrust::sort(sorted.begin(), sorted.end());
    std::vector<int> expected = values;
    std::sort(expected.begin(), expected.end());
    expect_all("sort", expected, host(sorted));
    sorted.resize(thrust::unique(sorted.begin(), sorted.end()) - sorted.begin());
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    expect_all("unique", expected, host(sorted));

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

    thrust::device_vector<int> wanted(std::vector<int>{0, 3, 11}), found(3);
    thrust::lower_bound(dk.begin(), dk.end(), wanted.begin(), wanted.end(), found.begin());
    std::sort(keys.begin(), keys.end());
    auto hf = host(found);
    for (int i = 0; i < 3; i++) expect_equal("lower bound", i, int(std::lower_bound(keys.begin(), keys.end(), i == 0 ? 0 : i == 1 ? 3 : 11) - keys.begin()), hf[i]);
    return passed();
}
