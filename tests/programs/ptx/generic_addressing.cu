// Pointers that may lead to shared, global, local or constant memory, within one warp.
#include "../check.h"

__constant__ int fixed[16];

__device__ __noinline__ int sum4(const int* p) { return p[0] + 10 * p[1] + 100 * p[2] + 1000 * p[3]; }
__device__ __noinline__ void bump(int* p, int by) { *p += by; }

__global__ void mixed(const int* in, int* out) {
    __shared__ int tile[64];
    int own[8];
    int t = threadIdx.x;
    tile[t] = in[t] * 2;
    for (int k = 0; k < 8; k++) own[k] = t * 8 + k;
    __syncthreads();
    const int* p;
    switch (t & 3) {  // neighbouring lanes read from different memories
        case 0: p = in + (t & ~3); break;
        case 1: p = tile + (t & ~3); break;
        case 2: p = own + (t % 5); break;
        default: p = fixed + t % 13; break;
    }
    out[t] = sum4(p);
}

__global__ void writes(int* out, int* rest) {
    __shared__ int tile[96];
    int own = 17, t = threadIdx.x;
    tile[t] = 0;
    __syncthreads();
    int* p = t % 3 == 0 ? &tile[95 - t] : t % 3 == 1 ? &out[t] : &own;
    bump(p, 5 + t);
    if (t % 2 && t % 3 != 2) atomicAdd(p, 1000);  // atomics reach shared and global memory only
    __syncthreads();
    rest[t] = tile[t] + own;
}

// Address-space queries and conversions.
__global__ void queries(int* out, int* global) {
    __shared__ int tile[32];
    int own[2] = {int(threadIdx.x), 1};
    int t = threadIdx.x;
    tile[t] = t;
    __syncthreads();
    const void* p = t % 4 == 0 ? (void*)tile : t % 4 == 1 ? (void*)global : t % 4 == 2 ? (void*)own : (void*)fixed;
    int kind = t % 4 == 3 ? __isConstant(p) * 8 : __isShared(p) * 1 + __isGlobal(p) * 2 + __isLocal(p) * 4;
    unsigned offset = unsigned(__cvta_generic_to_shared(&tile[t])), loaded;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(loaded) : "r"(offset));
    int* again = (int*)__cvta_shared_to_generic(offset);
    unsigned long long plain = __cvta_generic_to_global(&global[t]);
    int from_global;
    asm volatile("ld.global.s32 %0, [%1];" : "=r"(from_global) : "l"(plain));
    out[t] = kind + int(loaded) * 100 + (*again == t ? 10000 : 0) + from_global * 100000 + own[t & 1] * 0;
}

// A linked list whose nodes lie in shared and in global memory alternately.
struct Node { int value; Node* next; };
__global__ void list(Node* nodes, int* out, int n) {
    __shared__ Node near_nodes[20];
    int t = threadIdx.x;
    if (t < n) {
        Node* self = t & 1 ? &near_nodes[t] : &nodes[t];
        self->value = t * t;
        self->next = t + 1 == n ? nullptr : (t + 1) & 1 ? &near_nodes[t + 1] : &nodes[t + 1];
    }
    __syncthreads();
    int sum = 0, weight = 1;
    Node* start = t % n & 1 ? &near_nodes[t % n] : &nodes[t % n];
    for (Node* p = start; p; p = p->next) sum += weight++ * p->value;
    out[t] = sum;
}

int main() {
    const int n = 64;
    std::vector<int> in(n + 4), constants(16);
    for (int i = 0; i < n + 4; i++) in[i] = i * 3 + 1;
    for (int i = 0; i < 16; i++) constants[i] = 7 * i - 3;
    CUDA_OK(cudaMemcpyToSymbol(fixed, constants.data(), 64));
    Buffer<int> din(in), out(128), rest(96);
    mixed<<<1, n>>>(din, out);
    auto got = out.host();
    for (int t = 0; t < n; t++) {
        int v[4];
        for (int k = 0; k < 4; k++) {
            int kind = t & 3, at = (t & ~3) + k;
            v[k] = kind == 0 ? in[at] : kind == 1 ? in[at] * 2 : kind == 2 ? t * 8 + t % 5 + k : constants[t % 13 + k];
        }
        expect_equal("mixed", t, v[0] + 10 * v[1] + 100 * v[2] + 1000 * v[3], got[t]);
    }

    CUDA_OK(cudaMemset(out, 0, 96 * sizeof(int)));
    writes<<<1, 96>>>(out, rest);
    got = out.host();
    auto r = rest.host();
    for (int t = 0; t < 96; t++) {
        auto bumped = [](int lane) { return 5 + lane + (lane % 2 && lane % 3 != 2 ? 1000 : 0); };
        expect_equal("written global", t, t % 3 == 1 ? bumped(t) : 0, got[t]);
        int writer = 95 - t, own = 17 + (t % 3 == 2 ? bumped(t) : 0);
        expect_equal("written near", t, (writer % 3 == 0 ? bumped(writer) : 0) + own, r[t]);
    }

    queries<<<1, 32>>>(out, din);
    got = out.host();
    for (int t = 0; t < 32; t++) expect_equal("queries", t, (1 << t % 4) + t * 100 + 10000 + in[t] * 100000, got[t]);

    Buffer<Node> nodes(20);
    list<<<1, 45>>>(nodes, out, 20);
    got = out.host();
    for (int t = 0; t < 45; t++) {
        int sum = 0, weight = 1;
        for (int k = t % 20; k < 20; k++) sum += weight++ * k * k;
        expect_equal("list", t, sum, got[t]);
    }
    return passed();
}
