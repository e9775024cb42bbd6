// Work that goes into a stream. The same description is executed at once, or kept in a graph.
#pragma once
#include "memory.h"
#include "modules.h"

// A rectangle of bytes in memory; `slice` is the distance from layer to layer.
struct Side {
    uint64_t address = 0;  // as the program sees it
    uint64_t pitch = 0, slice = 0;
};

struct CopyWork {
    Side target, source;
    uint64_t width = 0, height = 1, depth = 1;  // width in bytes
    int kind = cudaMemcpyDefault;
};

struct SetWork {
    uint64_t target = 0, pitch = 0, width = 0, height = 1;  // width in elements
    uint32_t value = 0, element = 1;
};

struct KernelWork {
    Kernel* kernel = nullptr;
    dim3 grid, block;
    uint32_t shared_bytes = 0;
    bool cooperative = false;
    Bytes params;
};

struct HostWork { uint64_t function = 0, data = 0; uint32_t kind = 0; };  // kind 1: a stream callback

// Values of cudaGraphNodeType.
enum class WorkKind {
    kKernel = 0, kCopy = 1, kSet = 2, kHost = 3, kGraph = 4, kEmpty = 5, kWaitEvent = 6,
    kRecordEvent = 7, kAlloc = 10, kFree = 11,
};

struct Work {
    WorkKind kind = WorkKind::kEmpty;
    CopyWork copy;
    SetWork set;
    KernelWork kernel;
    HostWork host;
    Graph* graph = nullptr;
    Event* event = nullptr;
    uint64_t address = 0, bytes = 0;            // kAlloc, kFree
    cudaMemcpy3DParms copy_params{};            // as given, for the query functions
};

// Puts work into a stream: executed, or recorded if the stream is being captured.
int enqueue(cudaStream_t stream, const Work& work);
// Executes now (in FIFO order). `wait`: return only when the host's side of it is complete.
int execute(const Work& work, cudaStream_t stream, bool wait);

int check_copy(CopyWork& copy);   // fills in the direction; cudaErrorInvalidValue and such
int execute_copy(const CopyWork& copy, uint32_t stream, bool wait);
int check_set(const SetWork& set);
int check_launch(const KernelWork& launch);
// Collects a kernel's arguments into its parameter buffer.
int pack_params(Kernel* kernel, void** arguments, void** extra, Bytes* params);
