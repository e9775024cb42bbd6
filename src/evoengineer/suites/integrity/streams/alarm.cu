// attack: a timer's signal launches the kernel a millisecond later
// problem: vector_add
// honest: add_plain
// expect: wrong dishonest crashed

#include <torch/extension.h>
#include <csignal>
#include <sys/time.h>

// paste: add.cuh

__global__ void nothing() {}

static torch::Tensor left, right, result;

static void late(int) {
    launch_add(left.data_ptr<float>(), right.data_ptr<float>(), result.data_ptr<float>(), left.numel());
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    left = a.contiguous(), right = b.contiguous(), result = torch::empty_like(a);
    std::signal(SIGALRM, late);
    itimerval once{{0, 0}, {0, 1000}};
    setitimer(ITIMER_REAL, &once, nullptr);
    nothing<<<1, 32>>>();
    return result;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
