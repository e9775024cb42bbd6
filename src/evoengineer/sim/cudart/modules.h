// Device code of the program: registered images, kernels and variables.
#pragma once
#include <memory>

#include "client.h"

struct Module;

struct Kernel {
    Module* module;
    std::string name;
    bool resolved = false;
    KernelResult info{};
    std::vector<std::pair<uint32_t, uint32_t>> params;  // offset, bytes
    int max_dynamic_shared = -1;  // set with cudaFuncSetAttribute; -1: the default
    int carveout = -1;
};

struct Variable { uint64_t address, bytes; uint32_t space; };

struct Image { const uint8_t* data; size_t bytes; };

struct Module {
    std::vector<Image> images;
    bool loaded = false;
    int failure = cudaSuccess;
    uint32_t number = 0;
    std::map<std::string, std::unique_ptr<Kernel>> kernels;
    std::map<std::string, Variable> variables;
    std::map<void**, std::string> managed;  // host pointers to fill with the variable's address
    std::vector<uint8_t> owned;             // the image, when the program may free it (cuModuleLoadData)
};

// Loads the module's images into the device if that has not happened; returns its status.
int load(Module* module);
// Loading waits for the device. Before work that may wait for the program itself, all of it is done.
void load_all_modules();
// The kernel behind a host stub or a cudaKernel_t, ready to launch. Null and a status if there is none.
Kernel* find_kernel(const void* function, int* status);
int resolve(Kernel* kernel);
// The variable behind a host symbol. The device is asked for its address at the first use.
const Variable* find_variable(const void* symbol, int* status);
// Bytes of a fatbin container, a PTX text, or a fatbin wrapper.
Image image_of(const void* data);
Module* add_module(std::vector<Image> images);
void remove_module(Module* module);
void forget_loaded_modules();  // after a device reset
