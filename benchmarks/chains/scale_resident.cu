// y = a x with 1, 4 or 32 elements per thread, loaded before the first is stored, and fewer and fewer resident blocks:
// each reserves shared memory that it never touches. Names give the elements per thread and the blocks that a
// multiprocessor shall hold; scale_32_spilled is compiled for six blocks of 256. SIZE is the number of floats.
#include "common.h"

constexpr int kThreads = 256;

template <int kEach, int kResident>
__global__ __launch_bounds__(kThreads, kResident) void scale(const float* x, float* y, float a, int n) {
    const int first = blockIdx.x * blockDim.x * kEach + threadIdx.x;
    float values[kEach];
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
        const int i = first + k * blockDim.x;
        values[k] = i < n ? x[i] : 0.0f;
    }
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
        const int i = first + k * blockDim.x;
        if (i < n) y[i] = a * values[k];
    }
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 26}, {100000});
    const int n = static_cast<int>(run.size(0));
    chain::Array<float> x(n), y(n);
    std::vector<float> expected;
    if (run.verify) {
        x.fill([](size_t i) { return chain::pattern(i, 1); });
        for (float value : x.host) expected.push_back(2.0f * value);
    }
    auto check = [&] { return chain::close(y, expected, 0.0); };
    auto prepare = [&] { if (run.verify) chain::poison(y); };
    auto variant = [&](const std::string& name, auto kernel, int each, int reserved) {
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, reserved));
        const int blocks = chain::ceil_div(n, kThreads * each);
        run.variant(name.c_str(), [=, &x, &y] { kernel<<<blocks, kThreads, reserved>>>(x, y, 2.0f, n); }, check, prepare);
    };
    cudaDeviceProp card;
    CHECK(cudaGetDeviceProperties(&card, 0));
    for (int resident = 6; resident >= 1; --resident) {
        const int share = int(card.sharedMemPerMultiprocessor / resident - card.reservedSharedMemPerBlock);
        const int reserved = resident < 6 ? share / 1024 * 1024 : 0;
        variant("scale_1_" + std::to_string(resident), scale<1, 1>, 1, reserved);
        variant("scale_4_" + std::to_string(resident), scale<4, 1>, 4, reserved);
    }
    variant("scale_32", scale<32, 1>, 32, 0);
    variant("scale_32_spilled", scale<32, 6>, 32, 0);
    return run.finish();
}
