// The connection to the device process, and the state every API function shares.
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "types.h"
#include "wire.h"

#ifndef EVO_CUDART_MAJOR
#define EVO_CUDART_MAJOR 13
#endif

#define API extern "C" __attribute__((visibility("default")))
// The variants that programs compiled for a per-thread default stream call. All streams are one
// FIFO here, so the legacy default stream is a legal stand-in.
#define PER_THREAD(name) API decltype(name) name##_ptsz __attribute__((alias(#name)));
#define PER_THREAD_DEFAULT(name) API decltype(name) name##_ptds __attribute__((alias(#name)));

// What is known about the device since hello.
struct DeviceInfo {
    HelloResult layout{};
    std::vector<int32_t> attributes;   // by cudaDeviceAttr
    std::vector<uint8_t> properties;   // cudaDeviceProp of this library's CUDA version
    int attribute(int which) const {
        return which > 0 && size_t(which) < attributes.size() ? attributes[which] : 0;
    }
};

const DeviceInfo& device_info();

// Serialises API calls, connects at the first one, and refuses calls on a poisoned context.
class Entry {
public:
    enum Mode { kNormal, kEvenIfPoisoned };
    explicit Entry(Mode mode = kNormal);
    int status;  // what to return at once when not cudaSuccess

private:
    std::unique_lock<std::recursive_mutex> held_;
};

#define ENTER()  \
    Entry entry; \
    if (entry.status) return done(entry.status)

// Remembers `error` as this thread's last error and returns it.
int done(int error);
int sticky_error();
void clear_last_error();

using Bytes = std::vector<uint8_t>;

// Sends a command that is not answered.
void post(Op op, const void* body, size_t body_bytes, const void* data = nullptr, size_t data_bytes = 0);
// Sends a command and waits; returns the status (a sticky error comes first). `output`: see kOutput.
int call(Op op, const void* body, size_t body_bytes, const void* data = nullptr, size_t data_bytes = 0,
         Bytes* result = nullptr, bool output = true);
template <class Body> void post(Op op, const Body& body) { post(op, &body, sizeof body); }
template <class Body> int call(Op op, const Body& body) { return call(op, &body, sizeof body); }
template <class Body, class Result> int call(Op op, const Body& body, Result* result) {
    Bytes bytes;
    int status = call(op, &body, sizeof body, nullptr, 0, &bytes);
    if (!status && bytes.size() >= sizeof *result) __builtin_memcpy(result, bytes.data(), sizeof *result);
    return status;
}
int synchronize();

// Commands whose answers are collected later (staged copies). Tickets are collected in order.
using Ticket = uint64_t;
Ticket submit(Op op, const void* body, size_t body_bytes, bool output);
int collect(Ticket ticket);

// The staging area: memory both processes see, handed out as a ring.
struct Staged { uint8_t* here; uint64_t there; };
Staged stage(size_t bytes);             // waits for older copies if the ring is full
void staged_until(Ticket ticket);       // everything staged so far is busy until this ticket
constexpr size_t kStageChunk = 1 << 20; // copies are cut into pieces of this size

// A file descriptor received at hello: commands to run host functions arrive on it.
int host_call_socket();

// Prints a line to stderr, once per distinct text.
void complain_once(const std::string& text);
