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
constexpr size_t kStackBytes = 4u << 20;

size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// What fibre_switch leaves on a stack, lowest address first.
struct Saved {
    uint32_t mxcsr;
    uint16_t x87;
    uint16_t unused;
    uint64_t r15, r14, r13, r12, rbx, rbp, resume;
};

}  // namespace

asm(R"(
    .text
    .p2align 4
    .globl fibre_switch
    .hidden fibre_switch
    .type fibre_switch, @function
fibre_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $8, %rsp
    stmxcsr (%rsp)
    fnstcw 4(%rsp)
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    ldmxcsr (%rsp)
    fldcw 4(%rsp)
    addq $8, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size fibre_switch, .-fibre_switch

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
    saved->x87 = 0x37f;
    saved->r12 = reinterpret_cast<uint64_t>(argument);
    saved->r13 = reinterpret_cast<uint64_t>(entry);
    saved->resume = reinterpret_cast<uint64_t>(&fibre_start);
    fibre.sp = saved;
}
