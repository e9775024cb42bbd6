// A program that plays the host itself and moves elements on the device: run on the simulated GPU by the tests.
#include <torch/extension.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace evo {
void set_host(const EvoHost* host);
}

struct Counted : EvoStorage {
    int references;
};
static int live = 0;

static EvoStorage* allocate(void*, size_t bytes, int32_t type, int32_t index, EvoError*) {
    auto* storage = new Counted{{nullptr, bytes, type, index}, 1};
    if (type == EVO_CUDA) {
        cudaMalloc(&storage->data, bytes ? bytes : 1);
        cudaMemset(storage->data, 0xEE, bytes);
    } else {
        storage->data = malloc(bytes ? bytes : 1);
    }
    ++live;
    return storage;
}
static void retain(void*, EvoStorage* storage) { ++static_cast<Counted*>(storage)->references; }
static void release(void*, EvoStorage* storage) {
    auto* counted = static_cast<Counted*>(storage);
    if (--counted->references) return;
    counted->device_type == EVO_CUDA ? (void)cudaFree(counted->data) : free(counted->data);
    delete counted;
    --live;
}

template <typename T>
static void show(const char* name, const torch::Tensor& tensor) {
    auto host = tensor.cpu().contiguous();
    printf("%s %s:", name, torch::toString(tensor.scalar_type()));
    for (int64_t i = 0; i < host.numel(); ++i) printf(" %g", static_cast<double>(static_cast<float>(host.data_ptr<T>()[i])));
    printf("\n");
}

static void run() {
    auto cuda = torch::dtype(torch::kFloat32).device(torch::kCUDA);
    auto x = torch::arange(6, cuda).view({2, 3});
    show<float>("arange", x);
    show<float>("transposed", x.t().contiguous());
    show<float>("flattened", x.t().reshape({-1}));
    show<at::Half>("half", (x.t().to(torch::kHalf)));
    show<at::BFloat16>("bfloat16", torch::full({2}, 3.14159, cuda.dtype(torch::kBFloat16)));
    show<int64_t>("long", torch::full({2}, -2.9, cuda).to(torch::kLong));
    show<bool>("bool", x.to(torch::kBool));
    show<double>("double", torch::ones({2}, cuda.dtype(torch::kDouble)));
    show<float>("zeros", torch::zeros({2}, cuda));
    auto y = torch::zeros({3, 4}, cuda);
    y.narrow(1, 1, 2).fill_(7);
    y[2].zero_();
    y.select(1, 3).copy_(torch::tensor({1, 2, 3}));
    show<float>("parts", y);
    auto image = torch::arange(8, cuda).view({1, 2, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast);
    show<float>("channels last", torch::from_blob(image.data_ptr(), {8}, cuda));
    show<float>("row", torch::empty({2, 3}, cuda).copy_(x[1]));
    printf("item %g\n", x[1][2].item<float>() + y[0].slice(0, 1, 2).item<double>());
    auto padded = torch::empty_strided({2, 2}, {4, 1}, cuda).fill_(-1);
    show<float>("padded", padded);
    show<uint8_t>("bytes", torch::full({3}, 200, cuda.dtype(torch::kByte)));
    show<float>("back", torch::tensor({1.5f, 2.5f}).to(cuda).to(torch::kCPU));
}

int main() {
    EvoHost host = {EVO_ABI_VERSION, 0, nullptr, nullptr, allocate, nullptr, retain, release, nullptr};
    evo::set_host(&host);
    run();
    printf("live %d\n", live);
    return 0;
}
