// __device__ variables: initialisers of every kind, pointers to other variables, state that lasts
// between launches, and variables addressed from the host.
#include "../check.h"

struct Node { int value; Node* next; };
union Bits { float f; unsigned u; };

__device__ int counter = 41;
__device__ float values[6] = {0.5f, -1.25f, 3e10f};
__device__ double tiny = 4.9e-324;
__device__ long long big = -0x123456789abcdefll;
__device__ unsigned char bytes[] = {1, 2, 250, 255};
__device__ char greeting[16] = "hello";
__device__ Node third = {30, nullptr};
__device__ Node second = {20, &third};
__device__ Node first = {10, &second};
__device__ int grid[3][4] = {{1, 2, 3, 4}, {5, 6}, {9}};
__device__ int* inside = &grid[1][1];
__device__ const char* words[3] = {"zero", "one", "two"};
__device__ Bits pun = {1.0f};
__device__ short2 pair = {-3, 7};
__device__ unsigned scratch[200];
static __device__ bool done;
__managed__ int shared_with_host = 5;

__global__ void read_all(double* out) {
    int k = 0;
    out[k++] = counter;
    for (float v : values) out[k++] = v;
    out[k++] = tiny * 0x1p1000;
    out[k++] = double(big);
    for (unsigned char b : bytes) out[k++] = b;
    for (char c : greeting) out[k++] = c;
    for (Node* p = &first; p; p = p->next) out[k++] = p->value;
    for (auto& row : grid) for (int v : row) out[k++] = v;
    out[k++] = inside[0] * 100 + inside[3];
    for (const char* w : words) { int length = 0; while (w[length]) length++; out[k++] = length * 1000 + w[0]; }
    out[k++] = pun.u;
    out[k++] = pair.x * pair.y;
    out[k++] = done;
}

__global__ void update(int round) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 200) scratch[i] = scratch[i] * 3 + i + round;
    if (i == 0) {
        counter += round;
        done = round == 2;
        first.next = &third;   // unlink
        inside = &grid[2][0];
        shared_with_host *= 2;
    }
}

int main() {
    const int count = 64;
    Buffer<double> out(count);
    read_all<<<1, 1>>>(out);
    auto got = out.host();
    std::vector<double> expected = {41, 0.5, -1.25, double(3e10f), 0, 0, 0, 4.9e-324 * 0x1p1000, double(-0x123456789abcdefll), 1, 2, 250, 255};
    for (int i = 0; i < 16; i++) expected.push_back("hello\0\0\0\0\0\0\0\0\0\0"[i]);
    for (double v : {10, 20, 30, 1, 2, 3, 4, 5, 6, 0, 0, 9, 0, 0, 0}) expected.push_back(v);
    expected.push_back(6 * 100 + 9);
    for (double v : {4000.0 + 'z', 3000.0 + 'o', 3000.0 + 't', double(0x3f800000), -21.0, 0.0}) expected.push_back(v);
    expected.resize(count);
    expect_all("initial", expected, got);

    for (int round = 0; round < 3; round++) update<<<2, 100>>>(round);
    unsigned host_scratch[200];
    CUDA_OK(cudaMemcpyFromSymbol(host_scratch, scratch, sizeof host_scratch));
    for (unsigned i = 0; i < 200; i++) expect_equal("scratch", i, ((i * 3 + i + 1) * 3 + i + 2), host_scratch[i]);
    expect_equal("managed", 0, 40, shared_with_host);

    int new_counter = 1000;
    CUDA_OK(cudaMemcpyToSymbol(counter, &new_counter, sizeof(int)));
    read_all<<<1, 1>>>(out);
    got = out.host();
    expect_equal("counter", 0, 1000.0, got[0]);
    expect_equal("list", 0, 10.0, got[29]);
    expect_equal("list", 1, 30.0, got[30]);
    expect_equal("inside", 0, 9 * 100.0, got[43]);

    // The host finds the address of a variable and passes it to memset.
    void* address = nullptr;
    size_t size = 0;
    CUDA_OK(cudaGetSymbolAddress(&address, scratch));
    CUDA_OK(cudaGetSymbolSize(&size, scratch));
    expect_equal("symbol size", 0, size_t(800), size);
    CUDA_OK(cudaMemset(address, 0xff, 400));
    CUDA_OK(cudaMemcpyFromSymbol(host_scratch, scratch, sizeof host_scratch));
    for (unsigned i = 0; i < 200; i++) expect_equal("memset", i, i < 100 ? ~0u : ((i * 3 + i + 1) * 3 + i + 2), host_scratch[i]);
    return passed();
}
