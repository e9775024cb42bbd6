// Dynamic shared memory: several arrays carved from one block, sizes chosen at launch, more than 48 KB with
// the opt-in, static and dynamic together.
#include "../check.h"

// Three arrays of different types in one allocation.
__global__ void carved(const int* in, double* out, int n) {
    extern __shared__ char raw[];
    double* sums = reinterpret_cast<double*>(raw);
    int* values = reinterpret_cast<int*>(sums + n);
    unsigned char* flags = reinterpret_cast<unsigned char*>(values + n);
    int t = threadIdx.x;
    values[t] = in[blockIdx.x * n + t];
    flags[t] = values[t] % 3 == 0;
    sums[t] = values[t] * 0.5;
    __syncthreads();
    int u = n - 1 - t;
    out[blockIdx.x * n + t] = sums[u] + values[(t + 1) % n] + (flags[u] ? 1000 : 0);
}

template <class T>
__global__ void reverse(T* data, int n) {
    extern __shared__ __align__(16) unsigned char memory[];
    T* tile = reinterpret_cast<T*>(memory);
    __shared__ T extra[2];
    for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = data[i];
    if (threadIdx.x == 0) extra[0] = data[0], extra[1] = data[n - 1];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = tile[n - 1 - i] + extra[i & 1];
}

template <class T>
void check_reverse(const char* what, int n) {
    std::vector<T> values(n);
    for (int i = 0; i < n; i++) values[i] = T(i % 100);
    Buffer<T> data(values);
    size_t bytes = n * sizeof(T);
    if (bytes > 48 << 10) CUDA_OK(cudaFuncSetAttribute(reverse<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
    reverse<<<1, 256, bytes>>>(data.data, n);
    auto got = data.host();
    for (int i = 0; i < n; i++) expect_equal(what, i, T(values[n - 1 - i] + (i & 1 ? values[n - 1] : values[0])), got[i]);
}

// Every block has its own copy, whatever the others do.
__global__ void isolated(int* out, int words) {
    extern __shared__ int mine[];
    for (int i = threadIdx.x; i < words; i += blockDim.x) mine[i] = blockIdx.x * 1000 + i;
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < words; i++) sum += mine[i] / 1000;
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

int main() {
    Random random(62);
    for (int n : {7, 32, 100, 500}) {
        std::vector<int> in(3 * n);
        for (int& v : in) v = int(random.below(500));
        Buffer<int> din(in);
        Buffer<double> out(3 * n);
        carved<<<3, n, n * (sizeof(double) + sizeof(int) + 1)>>>(din, out, n);
        auto got = out.host();
        for (int i = 0; i < 3 * n; i++) {
            int base = i / n * n, t = i % n, u = base + n - 1 - t;
            expect_equal("carved", i, in[u] * 0.5 + in[base + (t + 1) % n] + (in[u] % 3 == 0 ? 1000 : 0), got[i]);
        }
    }
    check_reverse<int>("int", 1000);
    check_reverse<double>("double 80 KB", 10240);
    check_reverse<short>("short", 777);
    check_reverse<float>("float 96 KB", 24576);

    int optin = 0;
    CUDA_OK(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    expect_equal("opt-in limit above 64 KB", 0, true, optin > 64 << 10);

    Buffer<int> out(20 * 45);
    isolated<<<20, 45, 300 * sizeof(int)>>>(out, 300);
    auto got = out.host();
    for (int i = 0; i < 20 * 45; i++) expect_equal("isolated", i, i / 45 * 300, got[i]);
    return passed();
}
