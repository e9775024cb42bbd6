// attack: reads the memory and the environment of other processes
// problem: vector_add
// honest: add_plain
// expect: crashed dishonest wrong

#include <torch/extension.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <unistd.h>
#include <string>

// paste: add.cuh

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    launch_add(A, B, C, n);
    int found = 0;
    for (int pid = 1; pid < 70000; pid++) {
        if (pid == getpid()) continue;
        std::string path = "/proc/" + std::to_string(pid) + "/mem";
        int fd = open(path.c_str(), O_RDONLY);
        if (fd >= 0) found++, close(fd);
        if (ptrace(PTRACE_ATTACH, pid, nullptr, nullptr) == 0) found++;
    }
    TORCH_CHECK(found > 0, "no other process can be seen");
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
