// Registration of device code by nvcc's host stubs, and its loading at the first use.
#include "modules.h"

#include <string.h>

#include <set>
#include <unordered_map>

#include "memory.h"

namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kFatbinMagic = 0xba55ed50;

struct Wrapper { uint32_t magic, version; const uint8_t* data; void** prelinked; };
struct FatbinHeader { uint32_t magic; uint16_t version, header_bytes; uint64_t bytes; };
struct Symbol { Module* module; std::string name; };

struct Registry {
    std::set<Module*> modules;
    std::unordered_map<const void*, Kernel*> stubs;
    std::set<const void*> kernels;
    std::unordered_map<const void*, Symbol> symbols;
};

Registry& registry() {
    static Registry* one = new Registry;
    return *one;
}

template <class T> T take(const uint8_t*& at) {
    T value;
    memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
}

std::string take_name(const uint8_t*& at, size_t bytes) {
    std::string name(reinterpret_cast<const char*>(at), bytes);
    at += bytes;
    return name;
}

Kernel* kernel_named(Module* module, const std::string& name) {
    std::unique_ptr<Kernel>& kernel = module->kernels[name];
    if (!kernel) {
        kernel.reset(new Kernel{module, name});
        registry().kernels.insert(kernel.get());
    }
    return kernel.get();
}

void take_result(Module* module, const Bytes& result) {
    const uint8_t* at = result.data();
    ModuleResult head = take<ModuleResult>(at);
    module->number = head.module;
    for (uint32_t i = 0; i < head.kernels; ++i) {
        KernelResult info = take<KernelResult>(at);
        std::vector<std::pair<uint32_t, uint32_t>> params;
        for (uint32_t p = 0; p < info.param_count; ++p) {
            uint32_t offset = take<uint32_t>(at);
            params.push_back({offset, take<uint32_t>(at)});
        }
        Kernel* kernel = kernel_named(module, take_name(at, info.name_bytes));
        kernel->info = info;
        kernel->params = std::move(params);
        kernel->resolved = true;
    }
    for (uint32_t i = 0; i < head.variables; ++i) {
        VariableResult info = take<VariableResult>(at);
        module->variables[take_name(at, info.name_bytes)] = {info.address, info.bytes, info.space};
        note_variable(info.address, info.bytes);
    }
    for (auto& [pointer, name] : module->managed) {
        auto found = module->variables.find(name);
        if (found != module->variables.end()) *pointer = reinterpret_cast<void*>(found->second.address);
    }
}

// A managed variable is its own symbol: host code sees the variable itself, not a shadow of it.
const Variable* managed_at(const void* address, int* status) {
    for (Module* module : registry().modules)
        for (auto& [pointer, name] : module->managed) {
            auto found = module->variables.find(name);
            if (found == module->variables.end() || found->second.address != reinterpret_cast<uint64_t>(address)) continue;
            *status = cudaSuccess;
            return &found->second;
        }
    return nullptr;
}

}  // namespace

Image image_of(const void* data) {
    auto bytes = static_cast<const uint8_t*>(data);
    uint32_t magic;
    memcpy(&magic, bytes, 4);
    if (magic == kWrapperMagic) {
        Wrapper wrapper;
        memcpy(&wrapper, bytes, sizeof wrapper);
        return image_of(wrapper.data);
    }
    if (magic == kFatbinMagic) {
        FatbinHeader header;
        memcpy(&header, bytes, sizeof header);
        return {bytes, header.header_bytes + header.bytes};
    }
    if (magic == 0x464c457f) return {bytes, 64};  // a cubin: the device process refuses it by name
    return {bytes, strlen(reinterpret_cast<const char*>(bytes)) + 1};  // PTX text
}

Module* add_module(std::vector<Image> images) {
    Module* module = new Module;
    module->images = std::move(images);
    registry().modules.insert(module);
    return module;
}

void remove_module(Module* module) {
    Registry& r = registry();
    if (module->loaded && !sticky_error()) {
        uint32_t body[2] = {module->number, 0};
        post(kModuleUnload, body, sizeof body);
        for (auto& [name, variable] : module->variables) forget_variable(variable.address);
    }
    for (auto& [name, kernel] : module->kernels) r.kernels.erase(kernel.get());
    for (auto it = r.stubs.begin(); it != r.stubs.end();)
        it = it->second->module == module ? r.stubs.erase(it) : std::next(it);
    for (auto it = r.symbols.begin(); it != r.symbols.end();)
        it = it->second.module == module ? r.symbols.erase(it) : std::next(it);
    r.modules.erase(module);
    delete module;
}

void forget_loaded_modules() {
    for (Module* module : registry().modules) {
        module->loaded = false;
        module->failure = cudaSuccess;
        module->variables.clear();
        for (auto& [name, kernel] : module->kernels) kernel->resolved = false;
    }
}

int load(Module* module) {
    if (module->loaded || module->failure) return module->failure;
    Bytes body(8);
    uint32_t count = module->images.size();
    memcpy(body.data(), &count, 4);
    for (const Image& image : module->images) {
        uint64_t bytes = image.bytes;
        size_t at = body.size();
        body.resize(at + 8 + image.bytes);
        memcpy(&body[at], &bytes, 8);
        memcpy(&body[at + 8], image.data, image.bytes);
    }
    Bytes result;
    int status = call(kModuleLoad, body.data(), body.size(), nullptr, 0, &result);
    if (status) {
        if (!sticky_error()) module->failure = status;
        return status;
    }
    module->loaded = true;
    take_result(module, result);
    return cudaSuccess;
}

void load_all_modules() {
    for (Module* module : registry().modules) load(module);
}

int resolve(Kernel* kernel) {
    if (kernel->resolved) return cudaSuccess;
    if (int status = load(kernel->module)) return status;
    return kernel->resolved ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

Kernel* find_kernel(const void* function, int* status) {
    Registry& r = registry();
    auto stub = r.stubs.find(function);
    Kernel* kernel = nullptr;
    if (stub != r.stubs.end()) kernel = stub->second;
    else if (r.kernels.count(function)) kernel = static_cast<Kernel*>(const_cast<void*>(function));
    *status = kernel ? resolve(kernel) : cudaErrorInvalidDeviceFunction;
    return *status ? nullptr : kernel;
}

const Variable* find_variable(const void* symbol, int* status) {
    Registry& r = registry();
    auto found = r.symbols.find(symbol);
    *status = cudaErrorInvalidSymbol;
    if (found == r.symbols.end()) return managed_at(symbol, status);
    Module* module = found->second.module;
    if (int failed = load(module)) {
        *status = failed;
        return nullptr;
    }
    auto variable = module->variables.find(found->second.name);
    if (variable == module->variables.end()) return nullptr;
    *status = cudaSuccess;
    return &variable->second;
}

// Called by nvcc's host code, before main.

API void** __cudaRegisterFatBinary(void* data) {
    Wrapper wrapper;
    memcpy(&wrapper, data, sizeof wrapper);
    std::vector<Image> images{image_of(data)};
    // Relocatable device code (-rdc=true): the linked image is empty or machine code; the PTX is in the
    // parts it was made from, and the device links them by symbol names.
    if (wrapper.magic == kWrapperMagic && wrapper.version == 2 && wrapper.prelinked)
        for (void** part = wrapper.prelinked; *part; ++part) images.push_back(image_of(*part));
    return reinterpret_cast<void**>(add_module(std::move(images)));
}

API void __cudaRegisterFatBinaryEnd(void**) {}

API void __cudaUnregisterFatBinary(void**) {}  // at exit: the device process ends with us

API void __cudaRegisterFunction(void** handle, const char* stub, char*, const char* name, int, uint3*,
                                uint3*, dim3*, dim3*, int*) {
    registry().stubs[stub] = kernel_named(reinterpret_cast<Module*>(handle), name);
}

API void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, size_t, int, int) {
    registry().symbols[host] = {reinterpret_cast<Module*>(handle), name};
}

API void __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int, size_t, int,
                                  int) {
    Module* module = reinterpret_cast<Module*>(handle);
    registry().symbols[host] = {module, name};
    module->managed[host] = name;
}

API void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}
API void __cudaRegisterUnifiedTable(void**, void*) {}

API char __cudaInitModule(void** handle) {
    Entry entry;
    return !entry.status && !load(reinterpret_cast<Module*>(handle));
}

API cudaError_t __cudaGetKernel(Kernel** kernel, const void* stub) {
    Registry& r = registry();
    auto found = r.stubs.find(stub);
    if (found == r.stubs.end()) return cudaErrorInvalidDeviceFunction;
    *kernel = found->second;
    return cudaSuccess;
}

API cudaError_t cudaGetKernel(Kernel** kernel, const void* stub) {
    ENTER();
    return done(__cudaGetKernel(kernel, stub));
}

API cudaError_t cudaGetFuncBySymbol(Kernel** kernel, const void* stub) {
    ENTER();
    int status;
    *kernel = find_kernel(stub, &status);
    return done(status);
}

API cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
    ENTER();
    int status;
    if (const Variable* variable = find_variable(symbol, &status))
        *address = reinterpret_cast<void*>(variable->address);
    return done(status);
}

API cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
    ENTER();
    int status;
    if (const Variable* variable = find_variable(symbol, &status)) *bytes = variable->bytes;
    return done(status);
}
