// A runtime call that the simulated GPU does not offer fails, and the message names it.
// expect-exit: nonzero
// expect: cudaImportExternalMemory
#include "report.h"

int main() {
    cudaExternalMemoryHandleDesc desc = {};
    desc.type = cudaExternalMemoryHandleTypeOpaqueFd;
    desc.handle.fd = -1;
    desc.size = 4096;
    cudaExternalMemory_t memory;
    if (cudaImportExternalMemory(&memory, &desc) == cudaSuccess) return 0;
    return 1;
}
