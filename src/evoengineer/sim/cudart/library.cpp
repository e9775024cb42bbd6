// cudaLibrary: device code loaded at run time, by the runtime API.
#include "modules.h"

extern "C" {
int cuModuleLoadData(Module**, const void*);
int cuModuleLoad(Module**, const char*);
int cuModuleUnload(Module*);
}

API cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, int*, void**, unsigned, int*, void**,
                                    unsigned) {
    return done(cuModuleLoadData(library, code));
}

API cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path, int*, void**, unsigned, int*, void**,
                                        unsigned) {
    return done(cuModuleLoad(library, path));
}

API cudaError_t cudaLibraryUnload(cudaLibrary_t library) { return done(cuModuleUnload(library)); }

API cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
    ENTER();
    if (!kernel || !library || !name) return done(cudaErrorInvalidValue);
    auto found = library->kernels.find(name);
    if (found == library->kernels.end() || resolve(found->second.get())) return done(cudaErrorSymbolNotFound);
    *kernel = found->second.get();
    return cudaSuccess;
}

API cudaError_t cudaLibraryGetGlobal(void** address, size_t* bytes, cudaLibrary_t library, const char* name) {
    ENTER();
    auto found = library->variables.find(name);
    if (found == library->variables.end()) return done(cudaErrorSymbolNotFound);
    if (address) *address = reinterpret_cast<void*>(found->second.address);
    if (bytes) *bytes = found->second.bytes;
    return cudaSuccess;
}

API cudaError_t cudaLibraryGetManaged(void** address, size_t* bytes, cudaLibrary_t library, const char* name) {
    return cudaLibraryGetGlobal(address, bytes, library, name);
}

API cudaError_t cudaLibraryGetKernelCount(unsigned* count, cudaLibrary_t library) {
    ENTER();
    *count = unsigned(library->kernels.size());
    return cudaSuccess;
}

API cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned count, cudaLibrary_t library) {
    ENTER();
    unsigned i = 0;
    for (auto& [name, kernel] : library->kernels)
        if (i < count) kernels[i++] = kernel.get();
    return cudaSuccess;
}
