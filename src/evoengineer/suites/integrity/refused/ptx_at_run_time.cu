// attack: loads PTX from a string, with an instruction that ptxas refuses for this card
// problem: vector_add
// honest: add_plain
// expect: compile_error crashed forbidden dishonest
// device: sim

#include <torch/extension.h>

__global__ void unused() {}

static const char text[] = R"(
.version 8.0
.target sm_89
.address_size 64
.visible .entry add_text(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 n) {
    .reg .pred p, q;
    .reg .b32 r<4>;
    .reg .f32 f<3>;
    .reg .b64 d<9>;
    ld.param.u64 d0, [a];
    ld.param.u64 d1, [b];
    ld.param.u64 d2, [c];
    ld.param.u64 d3, [n];
    mov.u32 r0, %ctaid.x;
    mov.u32 r1, %tid.x;
    mad.lo.u32 r2, r0, 256, r1;
    elect.sync _|q, 0xffffffff;
    cvt.u64.u32 d4, r2;
    setp.ge.u64 p, d4, d3;
    @p bra END;
    shl.b64 d5, d4, 2;
    add.u64 d6, d0, d5;
    add.u64 d7, d1, d5;
    add.u64 d8, d2, d5;
    ld.global.f32 f0, [d6];
    ld.global.f32 f1, [d7];
    add.f32 f2, f0, f1;
    st.global.f32 [d8], f2;
END:
    ret;
}
)";

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    static cudaKernel_t kernel = [] {
        cudaLibrary_t library;
        cudaKernel_t found = nullptr;
        TORCH_CHECK(cudaLibraryLoadData(&library, text, nullptr, nullptr, 0, nullptr, nullptr, 0) == cudaSuccess, "refused");
        cudaLibraryGetKernel(&found, library, "add_text");
        return found;
    }();
    void* arguments[] = {&A, &B, &C, &n};
    cudaLaunchKernel((const void*)kernel, dim3((n + 255) / 256), dim3(256), arguments, 0, 0);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
