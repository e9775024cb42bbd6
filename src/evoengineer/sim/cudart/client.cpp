// The connection: hello, commands, replies, the staging ring. See wire.h for the format.
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <deque>
#include <set>

#include "hostcalls.h"
#include "modules.h"

namespace {

// Lives for ever: user code may call CUDA from destructors that run after ours.
struct Connection {
    std::recursive_mutex mutex;
    bool tried = false;
    int failure = cudaSuccess;  // why there is no connection
    int socket = -1;
    int host_calls = -1;
    pid_t owner = 0;
    int sticky = cudaSuccess;
    DeviceInfo info;
    uint64_t sent = 0, answered = 0;  // tickets
    uint64_t vain = 0;                // calls since the device has failed
    std::map<Ticket, int> early;      // statuses of tickets read while waiting for a later one
    // The staging ring: bytes [tail, head) are busy; `busy` says until which ticket.
    size_t ring_head = 0, ring_used = 0, ring_pending = 0;
    struct Busy { Ticket ticket; size_t bytes; };
    std::deque<Busy> busy;
};

Connection& connection() {
    static Connection* one = new Connection;
    return *one;
}

thread_local int last_error = cudaSuccess;

constexpr size_t kRingBytes = 8 << 20;  // of the staging area: a small ring stays in the caches
constexpr uint64_t kMostVain = 1000000;  // calls after a failure: who has not noticed by then never will
constexpr size_t kMaxOutstanding = 64;  // replies not yet read: keeps both socket buffers from filling

void lost() {
    Connection& c = connection();
    if (!c.sticky) {
        fprintf(stderr, "evoengineer: the simulated GPU's process ended unexpectedly\n");
        c.sticky = 46;  // cudaErrorDevicesUnavailable
    }
    if (c.socket >= 0) close(c.socket);
    c.socket = -1;
}

bool write_all(iovec* parts, int count) {
    Connection& c = connection();
    while (count > 0) {
        msghdr message{};
        message.msg_iov = parts;
        message.msg_iovlen = count;
        ssize_t n = sendmsg(c.socket, &message, MSG_NOSIGNAL);
        if (n < 0) {
            if (errno == EINTR) continue;
            return false;
        }
        while (count > 0 && size_t(n) >= parts->iov_len) {
            n -= parts->iov_len;
            ++parts, --count;
        }
        if (count > 0) {
            parts->iov_base = static_cast<char*>(parts->iov_base) + n;
            parts->iov_len -= n;
        }
    }
    return true;
}

bool read_all(void* to, size_t bytes) {
    Connection& c = connection();
    char* at = static_cast<char*>(to);
    while (bytes > 0) {
        ssize_t n = recv(c.socket, at, bytes, MSG_WAITALL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        bytes -= n;
    }
    return true;
}

uint32_t answered_flags(bool output) { return output ? uint32_t(kReply | kOutput) : uint32_t(kReply); }

bool send_command(Op op, uint32_t flags, const void* body, size_t body_bytes, const void* data,
                  size_t data_bytes) {
    if (connection().socket < 0) return false;
    Header header{op, flags, body_bytes + data_bytes};
    iovec parts[3] = {{&header, sizeof header},
                      {const_cast<void*>(body), body_bytes},
                      {const_cast<void*>(data), data_bytes}};
    if (write_all(parts, 3)) return true;
    lost();
    return false;
}

// Device output goes through stdio, so that it keeps its place among the program's own lines.
void print_output(const Bytes& output) {
    size_t at = 0;
    while (at + 5 <= output.size()) {
        uint32_t length;
        bool to_stderr = output[at] == 2;
        memcpy(&length, &output[at + 1], 4);
        at += 5;
        length = std::min<size_t>(length, output.size() - at);
        FILE* file = to_stderr ? stderr : stdout;
        if (to_stderr) fflush(stdout);
        fwrite(&output[at], 1, length, file);
        at += length;
    }
}

// Reads the next reply; returns its status.
int read_reply(Bytes* result) {
    Connection& c = connection();
    ReplyHeader header;
    Bytes body, output;
    if (c.socket < 0 || !read_all(&header, sizeof header)) {
        lost();
        return c.sticky;
    }
    body.resize(header.bytes);
    output.resize(header.output);
    if (!read_all(body.data(), body.size()) || !read_all(output.data(), output.size())) {
        lost();
        return c.sticky;
    }
    ++c.answered;
    while (!c.busy.empty() && c.busy.front().ticket <= c.answered) {
        c.ring_used -= c.busy.front().bytes;
        c.busy.pop_front();
    }
    print_output(output);
    c.sticky = header.sticky;
    if (result) *result = std::move(body);
    return header.sticky ? header.sticky : header.status;
}

int no_device(const char* reason) {
    fprintf(stderr,
            "evoengineer: this program uses the simulated GPU's CUDA runtime, but %s.\n"
            "evoengineer: run it with: evoengineer sim exec PROGRAM -- ARGUMENTS\n",
            reason);
    return cudaErrorNoDevice;
}

bool receive_files(int* files, size_t count) {
    char byte;
    iovec part{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t n;
    do n = recvmsg(connection().socket, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    cmsghdr* head = n == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (!head || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(count * sizeof(int)))
        return false;
    memcpy(files, CMSG_DATA(head), count * sizeof(int));
    return true;
}

int connect_now() {
    Connection& c = connection();
    const char* text = getenv("EVOENGINEER_SIM_FD");
    if (!text) return no_device("there is no device process (EVOENGINEER_SIM_FD is not set)");
    c.socket = atoi(text);
    if (fcntl(c.socket, F_SETFD, FD_CLOEXEC) < 0) {
        c.socket = -1;
        return no_device("the connection to its device process was not inherited");
    }
    c.owner = getpid();
    HelloBody hello{kWireVersion, EVO_CUDART_MAJOR, uint32_t(c.owner), 0};
    int files[2];  // the host arena, the socket for host calls
    if (!send_command(kHello, kReply, &hello, sizeof hello, nullptr, 0) || !receive_files(files, 2))
        return no_device("its device process does not answer");
    Bytes result;
    ++c.sent;
    if (int status = read_reply(&result)) return status;
    HelloResult& layout = c.info.layout;
    memcpy(&layout, result.data(), sizeof layout);
    const uint8_t* at = result.data() + sizeof layout;
    c.info.attributes.resize(layout.attribute_count);
    memcpy(c.info.attributes.data(), at, layout.attribute_count * sizeof(int32_t));
    at += layout.attribute_count * sizeof(int32_t);
    c.info.properties.assign(at, at + layout.properties_bytes);
    void* want = reinterpret_cast<void*>(layout.host_base);
    void* got = mmap(want, layout.host_bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE, files[0], 0);
    close(files[0]);
    if (got != want) return no_device("its shared memory cannot be mapped");
    c.host_calls = files[1];
    return cudaSuccess;
}

}  // namespace

Entry::Entry(Mode mode) : held_(connection().mutex, std::defer_lock) {
    Connection& c = connection();
    // CUDA forbids API calls in host functions and callbacks. Whoever waits for them may hold the lock.
    status = in_host_call() ? cudaErrorNotPermitted : cudaSuccess;
    if (status) return;
    held_.lock();
    if (!c.tried) {
        c.tried = true;
        c.failure = connect_now();
    }
    if (c.failure) status = c.failure;
    else if (getpid() != c.owner) status = cudaErrorInitializationError;  // a fork has no context
    else if (mode == kNormal) status = c.sticky;
    // Most of these calls never reach the device's process, so that it is for us to let go of the program.
    if (c.sticky && ++c.vain > kMostVain) {
        fprintf(stderr, "evoengineer: a million calls to a GPU that has failed: this program would never end\n");
        abort();
    }
}

const DeviceInfo& device_info() { return connection().info; }
int host_call_socket() { return connection().host_calls; }
int sticky_error() { return connection().sticky; }
void clear_last_error() { last_error = cudaSuccess; }

int done(int error) {
    if (error) last_error = error;
    return error;
}

void post(Op op, const void* body, size_t body_bytes, const void* data, size_t data_bytes) {
    send_command(op, 0, body, body_bytes, data, data_bytes);
}

Ticket submit(Op op, const void* body, size_t body_bytes, bool output) {
    Connection& c = connection();
    while (c.sent - c.answered >= kMaxOutstanding && c.socket >= 0) {
        Ticket next = c.answered + 1;
        c.early[next] = read_reply(nullptr);
    }
    send_command(op, answered_flags(output), body, body_bytes, nullptr, 0);
    return ++c.sent;
}

int collect(Ticket ticket) {
    Connection& c = connection();
    auto found = c.early.find(ticket);
    if (found != c.early.end()) {
        int status = found->second;
        c.early.erase(found);
        return status;
    }
    int status = c.sticky;
    while (c.answered < ticket && c.socket >= 0) status = read_reply(nullptr);
    return status;
}

int call(Op op, const void* body, size_t body_bytes, const void* data, size_t data_bytes, Bytes* result,
         bool output) {
    Connection& c = connection();
    while (c.answered < c.sent && c.socket >= 0) read_reply(nullptr);
    c.early.clear();
    if (!send_command(op, answered_flags(output), body, body_bytes, data, data_bytes))
        return c.sticky;
    ++c.sent;
    return read_reply(result);
}

int synchronize() { return call(kSynchronize, nullptr, 0); }

Staged stage(size_t bytes) {
    Connection& c = connection();
    size_t capacity = std::min<size_t>(kRingBytes, c.info.layout.staging_bytes);
    bytes = (bytes + 63) / 64 * 64;
    bool wrap = c.ring_head + bytes > capacity;  // also when the head is at the very end, with nothing to skip
    size_t skip = wrap ? capacity - c.ring_head : 0;
    while (c.ring_used + skip + bytes > capacity && c.answered < c.sent && c.socket >= 0) {
        Ticket next = c.answered + 1;
        c.early[next] = read_reply(nullptr);
    }
    if (wrap) c.ring_head = 0;
    size_t offset = c.ring_head;
    c.ring_head += bytes;
    c.ring_used += skip + bytes;
    c.ring_pending += skip + bytes;
    uint64_t address = c.info.layout.host_base + offset;
    return {reinterpret_cast<uint8_t*>(address), address};
}

void staged_until(Ticket ticket) {
    Connection& c = connection();
    c.busy.push_back({ticket, c.ring_pending});
    c.ring_pending = 0;
}

void complain_once(const std::string& text) {
    static std::set<std::string>* said = new std::set<std::string>;
    if (said->insert(text).second) fprintf(stderr, "evoengineer: %s\n", text.c_str());
}

API cudaError_t cudaGetLastError() {
    Connection& c = connection();
    int error = c.sticky ? c.sticky : last_error;
    last_error = cudaSuccess;
    return error;
}

API cudaError_t cudaPeekAtLastError() {
    Connection& c = connection();
    return c.sticky ? c.sticky : last_error;
}

// At a normal end, let the device finish what was asked of it, so that its output and its errors
// are not lost. A crash or _exit does not come here; the device process then stops at once.
__attribute__((destructor)) static void say_goodbye() {
    Connection& c = connection();
    if (c.socket < 0 || c.failure || getpid() != c.owner) return;
    std::unique_lock<std::recursive_mutex> held(c.mutex, std::try_to_lock);
    if (held.owns_lock()) call(kGoodbye, nullptr, 0);
}
