// Names and texts of errors.
#include "client.h"

namespace {

struct ErrorText { int code; const char* name; const char* text; };

constexpr ErrorText kErrors[] = {
#include "error_table.h"
};

const ErrorText* find(int code) {
    for (const ErrorText& e : kErrors)
        if (e.code == code) return &e;
    return nullptr;
}

}  // namespace

API const char* cudaGetErrorName(cudaError_t error) {
    const ErrorText* found = find(error);
    return found ? found->name : "unrecognized error code";
}

API const char* cudaGetErrorString(cudaError_t error) {
    const ErrorText* found = find(error);
    return found ? found->text : "unrecognized error code";
}
