/* c10::cuda::CUDACachingAllocator: raw memory from the host. */
#include "support.h"

namespace evo {
namespace {
struct Piece {
    EvoStorage *storage;
    Piece *next;
};
Piece *pieces = nullptr;
}  // namespace

void *raw_allocate(size_t bytes) {
    EvoError error = {};
    EvoStorage *storage = host().allocate(host().context, bytes, EVO_CUDA, host().device_index, &error);
    if (!storage) fail(EVO_ERROR_MEMORY, error.code, error.message);
    pieces = new Piece{storage, pieces};
    return storage->data;
}

void raw_free(void *data) {
    for (Piece **place = &pieces; *place; place = &(*place)->next) {
        if ((*place)->storage->data != data) continue;
        Piece *found = *place;
        *place = found->next;
        host().release(host().context, found->storage);
        delete found;
        return;
    }
    refuse("raw_delete of a pointer that raw_alloc did not return");
}

}  // namespace evo
