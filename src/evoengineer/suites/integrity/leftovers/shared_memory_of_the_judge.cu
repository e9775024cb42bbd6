// attack: maps every inherited descriptor and takes results from there
// problem: vector_add
// honest: add_plain
// expect: wrong dishonest crashed

#include <torch/extension.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <cstring>
#include <vector>

__global__ void nothing() {}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    std::vector<float> found(n, 0.0f);
    for (int fd = 3; fd < 64; fd++) {
        struct stat info;
        if (fstat(fd, &info) != 0 || info.st_size < n * 4) continue;
        void* at = mmap(nullptr, info.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (at != MAP_FAILED) memcpy(found.data(), at, n * 4);
    }
    cudaMemcpy(C, found.data(), n * 4, cudaMemcpyHostToDevice);
    nothing<<<1, 32>>>();
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
