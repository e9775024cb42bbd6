// The buffers behind device printf and assert.
//
// Blocks run on several workers and, in cooperative launches, take turns on one. Text is therefore
// kept per block and joined in block order when the launch ends: the output is the same whatever the
// number of workers. Real devices have a ring buffer that loses the oldest text; ours keeps all up to
// a limit that only a runaway kernel reaches, and then says that text was dropped.
#include "output.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "runtime.h"

namespace {

constexpr size_t kLimitBytes = size_t(256) << 20;
constexpr size_t kHeaderBytes = 5;

std::mutex guard;
std::map<uint64_t, std::string> running;  // by linear block: chunks of the current launch
std::string finished;                     // chunks of completed launches
size_t taken = 0;                         // bytes of `finished` already drained
size_t running_bytes = 0;
bool dropped = false;

void append_chunk(std::string& stream, OutputKind kind, const char* text, size_t size) {
    uint32_t length = uint32_t(size);
    stream.push_back(char(kind));
    stream.append(reinterpret_cast<const char*>(&length), sizeof length);
    stream.append(text, size);
}

// After an error, which blocks behind the failing one have run depends on the workers. Their text is
// left out, unless blocks run side by side by design.
void forget_later_blocks(const Launch& launch) {
    if (launch.flags & (kSpins | kCooperative)) return;
    const uint32_t* at = launch.error.ctaid;
    uint64_t failed = at[0] + uint64_t(launch.grid[0]) * (at[1] + uint64_t(launch.grid[1]) * at[2]);
    if (launch.flags & kReversed) failed = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2] - 1 - failed;
    running.erase(running.upper_bound(failed), running.end());
}

}  // namespace

void output_append(const WarpState* warp, OutputKind kind, const std::string& text) {
    if (text.empty() || launch_of(warp).flags & kRehearsal) return;
    std::lock_guard<std::mutex> lock(guard);
    if (running_bytes + finished.size() - taken + text.size() > kLimitBytes) {
        dropped = true;
        return;
    }
    append_chunk(running[block_index(warp)], kind, text.data(), text.size());
    running_bytes += text.size() + kHeaderBytes;
}

// The hook after a launch (runtime.h), also a failed one.
extern "C" void rt_output_end(Launch* launch) {
    std::lock_guard<std::mutex> lock(guard);
    if (launch && launch->error.code != kNoError) forget_later_blocks(*launch);
    for (auto& [block, chunks] : running) finished += chunks;
    running.clear();
    running_bytes = 0;
    if (dropped) {
        static const char note[] = "[device printf: more than 256 MiB of output, the rest was dropped]\n";
        append_chunk(finished, kToStderr, note, sizeof note - 1);
        dropped = false;
    }
}

extern "C" size_t rt_output_size() {
    std::lock_guard<std::mutex> lock(guard);
    return finished.size() - taken;
}

extern "C" size_t rt_output_drain(char* to, size_t capacity) {
    std::lock_guard<std::mutex> lock(guard);
    size_t count = std::min(capacity, finished.size() - taken);
    std::memcpy(to, finished.data() + taken, count);
    taken += count;
    if (taken == finished.size()) {
        finished.clear();
        finished.shrink_to_fit();
        taken = 0;
    }
    return count;
}
