// A stub for every function of libcudart and libcuda that has no definition elsewhere: it fails, by name.
#include <string>

#include "client.h"

namespace {

int refuse(const char* name) {
    complain_once(std::string(name) + " is not supported by the simulated GPU");
    return done(cudaErrorNotSupported);
}

}  // namespace

#define EXPORT(name) \
    extern "C" __attribute__((weak, visibility("default"))) int name(...) { return refuse(#name); }
#include "export_names.h"
#include "driver_names.h"
