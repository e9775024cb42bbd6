// Fibres: mapping their memory and switching between them (x86-64, System V).
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

size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

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

bool fibre_create(Fibre& fibre, size_t frame_bytes, size_t local_bytes) {
    // Equal offsets within pages would make the warps of a block compete for the same cache sets.
    static std::atomic<uint32_t> created{0};
    size_t colour = created.fetch_add(1) % 12 * 320;
    size_t frames = whole_pages(frame_bytes + kPage);
    size_t locals = whole_pages(local_bytes);
    size_t bytes = kPage + kStackBytes + frames + locals;
    void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return false;
    madvise(mapping, bytes, MADV_NOHUGEPAGE);  // a huge page per stack would waste gigabytes
    if (mprotect(mapping, kPage, PROT_NONE) != 0) {
        munmap(mapping, bytes);
        return false;
    }
    fibre.mapping = static_cast<uint8_t*>(mapping);
    fibre.mapping_bytes = bytes;
    fibre.stack_low = fibre.mapping + kPage;
    fibre.stack_top = fibre.stack_low + kStackBytes - colour;
    fibre.frames = fibre.stack_low + kStackBytes + colour;
    fibre.frames_end = fibre.stack_low + kStackBytes + frames;
    fibre.locals = fibre.frames_end;
    fibre.locals_end = fibre.locals + locals;
    return true;
}

void fibre_destroy(Fibre& fibre) {
    if (fibre.local_shadow) munmap(fibre.local_shadow, size_t(fibre.locals_end - fibre.locals));
    if (fibre.mapping) munmap(fibre.mapping, fibre.mapping_bytes);
    fibre = Fibre();
}

void fibre_need_shadow(Fibre& fibre) {
    if (fibre.local_shadow || fibre.locals == fibre.locals_end) return;
    void* mapping = mmap(nullptr, size_t(fibre.locals_end - fibre.locals), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping != MAP_FAILED) fibre.local_shadow = static_cast<uint8_t*>(mapping);
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
