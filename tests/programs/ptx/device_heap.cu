// Device malloc and free, new and delete, in divergent code, kept across launches, lists and trees; asserts
// that hold.
#include <algorithm>
#include <cassert>

#include "../check.h"

struct Node { int key; Node *left, *right; };

__device__ int* kept[64];

__global__ void allocate(int* lengths) {
    int t = threadIdx.x;
    int n = t % 5 ? t + 1 : 0;
    kept[t] = nullptr;
    if (n) {
        int* p = static_cast<int*>(malloc(n * sizeof(int)));
        assert(p != nullptr);
        assert((reinterpret_cast<size_t>(p) & 15) == 0);
        for (int i = 0; i < n; i++) p[i] = t * 100 + i;
        kept[t] = p;
    }
    lengths[t] = n;
}

__global__ void use(const int* lengths, int* sums) {
    int t = 63 - threadIdx.x, sum = 0;
    for (int i = 0; i < lengths[t]; i++) sum += kept[t][i];
    sums[t] = sum;
    free(kept[t]);  // free of null is fine
}

// A search tree per thread, built with new and taken down again.
__device__ Node* insert(Node* root, int key) {
    Node** at = &root;
    while (*at) at = key < (*at)->key ? &(*at)->left : &(*at)->right;
    *at = new Node{key, nullptr, nullptr};
    return root;
}
__device__ unsigned consume(Node* n, unsigned hash) {
    if (!n) return hash;
    hash = consume(n->left, hash);
    hash = hash * 31 + unsigned(n->key);
    hash = consume(n->right, hash);
    delete n;
    return hash;
}
__global__ void trees(unsigned* out) {
    int t = threadIdx.x;
    Node* root = nullptr;
    unsigned s = t * 7919u + 1u;
    for (int i = 0; i < 4 + t % 9; i++) root = insert(root, int((s = s * 1664525u + 1013904223u) >> 20));
    assert(root != nullptr);
    out[t] = consume(root, 17);
}

// One buffer per block, allocated by the first thread, shared by all, array new and delete.
__global__ void per_block(int* out) {
    __shared__ float* buffer;
    int t = threadIdx.x;
    if (t == 0) buffer = new float[blockDim.x];
    __syncthreads();
    buffer[t] = t * 0.5f;
    __syncthreads();
    out[blockIdx.x * blockDim.x + t] = int(buffer[blockDim.x - 1 - t] * 2) + int(blockIdx.x);
    __syncthreads();
    if (t == 0) delete[] buffer;
}

// Memory is reused: far more is allocated in total than the heap holds.
__global__ void churn(int* failures) {
    for (int i = 0; i < 200; i++) {
        char* p = static_cast<char*>(malloc(4096 + 16 * threadIdx.x));
        if (!p) { atomicAdd(failures, 1); continue; }
        p[0] = char(i), p[4095] = char(threadIdx.x);
        if (p[0] != char(i) || p[4095] != char(threadIdx.x)) atomicAdd(failures, 1);
        free(p);
    }
}

int main() {
    CUDA_OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 8 << 20));
    Buffer<int> lengths(64), sums(64), blocks(3 * 40), failures(1);
    allocate<<<1, 64>>>(lengths);
    use<<<1, 64>>>(lengths, sums);
    auto s = sums.host();
    for (int t = 0; t < 64; t++) {
        int n = t % 5 ? t + 1 : 0;
        expect_equal("kept", t, n * t * 100 + n * (n - 1) / 2, s[t]);
    }

    Buffer<unsigned> hashes(50);
    trees<<<1, 50>>>(hashes);
    auto h = hashes.host();
    for (int t = 0; t < 50; t++) {
        std::vector<int> keys;
        unsigned state = t * 7919u + 1u;
        for (int i = 0; i < 4 + t % 9; i++) keys.push_back(int((state = state * 1664525u + 1013904223u) >> 20));
        std::sort(keys.begin(), keys.end());
        unsigned hash = 17;
        for (int k : keys) hash = hash * 31 + unsigned(k);
        expect_equal("trees", t, hash, h[t]);
    }

    per_block<<<3, 40>>>(blocks);
    auto b = blocks.host();
    for (int i = 0; i < 120; i++) expect_equal("per block", i, 39 - i % 40 + i / 40, b[i]);
    churn<<<2, 32>>>(failures);
    expect_equal("churn", 0, 0, failures.host()[0]);
    return passed();
}
