// Fibres: mapping their stacks and switching between them (x86-64, System V).
#include "fibre.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>

#ifndef __x86_64__
#error "the simulated GPU's fibre switch is written for x86-64; add one for this machine"
#endif

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kStackBytes = 8u << 20;

// What a switch leaves on a stack, lowest address first.
struct Saved {
    uint32_t mxcsr;
    uint32_t unused;
    uint64_t r15, r14, r13, r12, rbx, rbp, resume;
};

}  // namespace

// Two copies of one switch: each has its own indirect jump, to fibres or back, which then nearly always
// goes to the same place and is predicted. (`ret` would be predicted to return to the caller.)
#define SWITCH(name)                                                  \
    "    .p2align 4\n    .globl " name "\n    .hidden " name "\n"      \
    "    .type " name ", @function\n" name ":\n"                      \
    "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n"               \
    "    pushq %r13\n    pushq %r14\n    pushq %r15\n"               \
    "    subq $8, %rsp\n    stmxcsr (%rsp)\n"                        \
    "    movq %rsp, (%rdi)\n    movq %rsi, %rsp\n"                   \
    "    ldmxcsr (%rsp)\n    addq $8, %rsp\n"                        \
    "    popq %r15\n    popq %r14\n    popq %r13\n"                  \
    "    popq %r12\n    popq %rbx\n    popq %rbp\n"                  \
    "    popq %rcx\n    jmp *%rcx\n    .size " name ", .-" name "\n"

asm("    .text\n" SWITCH("fibre_enter") SWITCH("fibre_leave"));

asm(R"(
    .text
    .p2align 4
    .globl fibre_start
    .hidden fibre_start
    .type fibre_start, @function
fibre_start:
    movq %r12, %rdi
    callq *%r13
    ud2
    .size fibre_start, .-fibre_start
)");

extern "C" void fibre_start();

bool fibre_create(Fibre& fibre) {
    // Equal offsets within pages would make the stacks of a block compete for the same cache sets.
    static std::atomic<uint32_t> created{0};
    size_t colour = created.fetch_add(1) % 12 * 320;
    void* mapping = mmap(nullptr, kPage + kStackBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return false;
    madvise(mapping, kPage + kStackBytes, MADV_NOHUGEPAGE);  // a huge page per stack would waste gigabytes
    if (mprotect(mapping, kPage, PROT_NONE) != 0) {
        munmap(mapping, kPage + kStackBytes);
        return false;
    }
    fibre.mapping = static_cast<uint8_t*>(mapping);
    fibre.stack_low = fibre.mapping + kPage;
    fibre.stack_top = fibre.stack_low + kStackBytes - colour;
    return true;
}

void fibre_reset(Fibre& fibre, void (*entry)(void*), void* argument, uint32_t mxcsr) {
    auto* saved = reinterpret_cast<Saved*>(fibre.stack_top - 64 - sizeof(Saved));
    memset(saved, 0, sizeof *saved);
    saved->mxcsr = mxcsr;
    saved->r12 = reinterpret_cast<uint64_t>(argument);
    saved->r13 = reinterpret_cast<uint64_t>(entry);
    saved->resume = reinterpret_cast<uint64_t>(&fibre_start);
    fibre.sp = saved;
}
