// Recursion: Fibonacci, Ackermann, quicksort on local memory, mutual recursion, towers of Hanoi, with
// a different depth in every lane.
#include "../check.h"

#define FUNCTION __host__ __device__

FUNCTION int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
FUNCTION int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }

FUNCTION void quicksort(int* a, int low, int high) {
    if (low >= high) return;
    int pivot = a[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (a[i] < pivot) i++;
        while (a[j] > pivot) j--;
        if (i <= j) { int t = a[i]; a[i++] = a[j]; a[j--] = t; }
    }
    quicksort(a, low, j);
    quicksort(a, i, high);
}

FUNCTION bool is_odd(unsigned n);
FUNCTION bool is_even(unsigned n) { return n == 0 ? true : is_odd(n - 1); }
FUNCTION bool is_odd(unsigned n) { return n == 0 ? false : is_even(n - 1); }

FUNCTION unsigned hanoi(int n, int from, int to, unsigned hash) {
    if (n == 0) return hash;
    int via = 3 - from - to;
    hash = hanoi(n - 1, from, via, hash);
    hash = hash * 31 + unsigned(from * 3 + to);
    return hanoi(n - 1, via, to, hash);
}

// Sums a binary tree in an array, with a local array live across the calls.
FUNCTION int tree(const int* values, int node, int n) {
    if (node >= n) return 0;
    int child[2];
    for (int k = 0; k < 2; k++) child[k] = tree(values, 2 * node + 1 + k, n);
    return values[node] + (child[node & 1] * 2 - child[~node & 1]);
}

FUNCTION unsigned permutations(int* items, int at, int n) {
    if (at == n) {
        unsigned h = 0;
        for (int i = 0; i < n; i++) h = h * 10 + unsigned(items[i]);
        return h;
    }
    unsigned best = 0;
    for (int i = at; i < n; i++) {
        int t = items[at]; items[at] = items[i]; items[i] = t;
        unsigned h = permutations(items, at + 1, n);
        if (h % 9973 > best % 9973) best = h;
        t = items[at]; items[at] = items[i]; items[i] = t;
    }
    return best;
}

FUNCTION unsigned sorted_hash(int seed) {
    int a[30], n = 3 + seed % 27;
    unsigned s = unsigned(seed) * 2654435761u;
    for (int i = 0; i < n; i++) a[i] = int((s = s * 1103515245u + 12345u) >> 16) % 200;
    quicksort(a, 0, n - 1);
    unsigned hash = 0;
    for (int i = 0; i < n; i++) hash = hash * 131 + unsigned(a[i]);
    return hash;
}
FUNCTION unsigned permuted(int seed) {
    int items[5] = {seed % 7, 1 + seed % 5, 2 + seed % 3, 8, 9};
    return permutations(items, 0, 3 + seed % 3);
}

__global__ void run(const int* values, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned* o = out + 7 * i;
    o[0] = unsigned(fib(i % 13));
    o[1] = unsigned(ackermann(i % 3, i % 5));
    o[2] = sorted_hash(i);
    if (i % 3) o[3] = is_even(unsigned(i % 23)) ? 1 : 2;
    o[4] = hanoi(i % 6, 0, 2, unsigned(i));
    o[5] = unsigned(tree(values, i % 4, 20 + i % 12));
    o[6] = permuted(i);
}

int main() {
    const int n = 100;
    std::vector<int> values(32);
    for (int i = 0; i < 32; i++) values[i] = i * i - 50;
    Buffer<int> dv(values);
    Buffer<unsigned> out(7 * n);
    CUDA_OK(cudaDeviceSetLimit(cudaLimitStackSize, 16 << 10));
    run<<<3, 35>>>(dv, out, n);
    auto got = out.host();
    for (int i = 0; i < n; i++) {
        unsigned e[7] = {unsigned(fib(i % 13)), unsigned(ackermann(i % 3, i % 5)), sorted_hash(i), i % 3 ? (i % 23 % 2 == 0 ? 1u : 2u) : 0,
                         hanoi(i % 6, 0, 2, unsigned(i)), unsigned(tree(values.data(), i % 4, 20 + i % 12)), permuted(i)};
        const char* names[7] = {"fib", "ackermann", "quicksort", "mutual", "hanoi", "tree", "permutations"};
        for (int k = 0; k < 7; k++) expect_equal(names[k], i, e[k], got[7 * i + k]);
    }
    return passed();
}
