// What kernels print: collected per block while a launch runs, read by Python afterwards.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

struct WarpState;

enum OutputKind : uint8_t { kToStdout = 1, kToStderr = 2 };

// Appends text of the warp's block. Any worker may call.
void output_append(const WarpState* warp, OutputKind kind, const std::string& text);

// Formats one printf call into `text` and returns the number of arguments used. `readable` says how
// many bytes may be read from a device address. On an address that can't be read, returns -1 with the
// address in `bad_address`.
struct PrintfMemory {
    const void* context;
    uint64_t (*readable)(const void* context, uint64_t address);
    uint64_t bad_address = 0;
};
int format_printf(PrintfMemory& memory, uint64_t format, uint64_t arguments, std::string& text);

// The zero-terminated text at a device address; false when it can't be read.
bool read_text(PrintfMemory& memory, uint64_t address, uint64_t limit, std::string& text);

extern "C" {
// Moves up to `capacity` bytes of finished output to `to`; returns how many, 0 when there are none.
// The stream is a row of chunks: kind (1 byte, OutputKind), length (4 bytes, little endian), text.
size_t rt_output_drain(char* to, size_t capacity);
size_t rt_output_size();
}
