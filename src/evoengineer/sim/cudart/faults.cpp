// A host access to device memory is a segmentation fault here as on a machine with a GPU. This
// handler says which allocation it hit before the program dies of it.
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>

#include "memory.h"

namespace {

struct sigaction previous_segv, previous_bus;

void explain(uint64_t address, bool write_access) {
    char text[640];
    uint64_t start = 0;
    const Allocation* a = nearest_allocation(address, &start);
    int n = snprintf(text, sizeof text,
                     "evoengineer: invalid host %s of device memory at 0x%llx\n",
                     write_access ? "write" : "read", (unsigned long long)address);
    if (a) {
        bool inside = address >= start && address < start + a->bytes;
        unsigned long long distance = address < start ? start - address : address - start;
        n += snprintf(text + n, sizeof text - n,
                      "evoengineer:   %llu bytes %s the %s of %llu bytes at 0x%llx\n", distance,
                      inside ? "into" : address < start ? "before" : "after the start of",
                      a->variable ? "__device__ variable" : "allocation", (unsigned long long)a->bytes,
                      (unsigned long long)start);
    }
    n += snprintf(text + n, sizeof text - n,
                  "evoengineer:   host code cannot use device pointers: copy with cudaMemcpy, or allocate "
                  "with cudaMallocManaged\n");
    (void)!write(2, text, n);
}

void handle(int number, siginfo_t* info, void* context) {
    uint64_t address = reinterpret_cast<uint64_t>(info->si_addr);
    const HelloResult& l = device_info().layout;
    if (l.device_bytes && address >= l.device_base && address < l.device_base + l.device_bytes) {
        bool write_access = false;
#ifdef __x86_64__
        write_access = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2;
#endif
        explain(address, write_access);
        signal(number, SIG_DFL);  // returning repeats the access, which now kills
        return;
    }
    // Not ours: hand over to whoever was here before, and let the access repeat.
    sigaction(number, number == SIGSEGV ? &previous_segv : &previous_bus, nullptr);
}

__attribute__((constructor)) void install() {
    struct sigaction action{};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &previous_segv);
    sigaction(SIGBUS, &action, &previous_bus);
}

}  // namespace
