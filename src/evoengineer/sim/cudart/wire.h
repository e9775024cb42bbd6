// What client and device process say to each other over the socket. Keep ../protocol.py in step.
//
// A command is a Header and a payload. Commands without kReply are answered by nothing: their
// failures arrive as the sticky error of a later reply. Replies come in the order of commands.
#pragma once
#include <cstdint>

constexpr uint32_t kWireVersion = 1;

enum Op : uint32_t {
    kHello = 1,
    kSynchronize = 2,
    kGoodbye = 3,
    kReset = 4,
    kModuleLoad = 5,
    kModuleUnload = 6,
    kAlloc = 7,
    kFree = 8,
    kCopy = 9,
    kWrite = 10,
    kMemset = 11,
    kLaunch = 12,
    kEventRecord = 13,
    kEventElapsed = 14,
    kStreamWait = 15,
    kHostCall = 16,
    kSetLimit = 17,
    kMemoryInfo = 18,
    kOccupancy = 19,
    kTextureCreate = 20,
    kTextureDestroy = 21,
    kHostRegister = 22,
    kHostUnregister = 23,
    kStreamCreate = 24,
};

enum CommandFlags : uint32_t {
    kReply = 1,   // the client waits for an answer, now or later
    kOutput = 2,  // a synchronising call: the answer carries the output of device printf
};

struct Header { uint32_t op, flags; uint64_t bytes; };
// `status` is the call's own error, `sticky` the one that poisoned the context; `bytes` of result
// follow, then `output` bytes of device output: records of uint8_t file (1 stdout, 2 stderr),
// uint32_t length, text.
struct ReplyHeader { int32_t status, sticky; uint64_t bytes, output; };

// The numbers of ../runtime/memory.h.
enum AllocationKind : uint32_t { kDeviceMemory = 1, kManagedMemory = 2, kPinnedMemory = 3, kArrayMemory = 7 };

struct HelloBody { uint32_t version, cudart_major, pid, reserved; };
// Followed by int32_t attributes[attribute_count], then the bytes of cudaDeviceProp.
struct HelloResult {
    uint64_t host_base, host_bytes, staging_bytes, device_base, device_bytes, total_memory;
    uint32_t attribute_count, properties_bytes;
};
struct AllocBody { uint64_t bytes; uint32_t kind, alignment; };
struct AddressBody { uint64_t address; };
struct CopyBody {
    uint64_t target, target_pitch, source, source_pitch, width, height;
    uint32_t kind, stream;  // kind: cudaMemcpyKind, for the simulated clock
};
struct WriteBody { uint64_t target; uint32_t stream, reserved; };  // the data follow
struct MemsetBody { uint64_t target, pitch, width, height; uint32_t value, element, stream, reserved; };
struct LaunchBody {
    uint32_t kernel, stream, grid[3], block[3], shared_bytes, cooperative;
};  // the parameter buffer follows
struct EventBody { uint32_t event, stream; };
struct HostCallBody { uint64_t function, data, stream; uint32_t kind, stream_number; };
struct LimitBody { uint32_t limit, reserved; uint64_t value; };
struct OccupancyBody { uint32_t kernel, block_threads; uint64_t shared_bytes; };
struct HostRangeBody { uint64_t address, bytes; };
struct StreamBody { uint32_t stream, flags; };

// kModuleLoad: uint32_t count, reserved; then per image uint64_t bytes and the data (fatbin or PTX).
struct ModuleResult { uint32_t module, kernels, variables, reserved; };
// Each kernel: KernelResult, param_count pairs (uint32_t offset, bytes), the name.
struct KernelResult {
    uint32_t kernel, param_count, param_bytes, static_shared_bytes, max_threads, registers;
    uint32_t local_bytes, const_bytes, name_bytes, reserved;
};
// Each variable: VariableResult, the name.
struct VariableResult { uint64_t address, bytes; uint32_t space, name_bytes; };

// kTextureCreate (textures and surfaces): a flat form of the CUDA descriptors, see textures.cpp.
struct TextureBody {
    uint32_t surface;        // 1: a surface object
    uint32_t resource;       // 0 array, 1 mipmapped array, 2 linear, 3 pitched 2D
    uint64_t address;        // of level 0
    uint64_t width, height, depth;  // in elements; height and depth 0 as in CUDA
    uint64_t pitch;          // bytes from row to row
    uint64_t bytes;          // linear: size of the range
    int32_t channels[4];     // bits of x, y, z, w
    int32_t format;          // cudaChannelFormatKind
    uint32_t array_flags;    // layered 1, surface 2, cubemap 4, gather 8
    uint32_t levels;
    int32_t address_mode[3];
    int32_t filter_mode, read_mode, srgb;
    float border[4];
    int32_t normalized;
    int32_t mipmap_filter;
    float mipmap_bias, mipmap_min, mipmap_max;
};  // then `levels` records: uint64_t address, width, height, depth, pitch
