// Runs host functions when the device process reaches them in its queue. The device waits for each
// to return before it goes on, which is what CUDA promises for the stream (and more).
#include "hostcalls.h"

#include <errno.h>
#include <sys/socket.h>

#include <thread>

#include "client.h"

namespace {

thread_local bool inside = false;

struct Request { uint64_t function, data, stream; uint32_t kind; int32_t status; };

bool receive(int socket, Request* request) {
    ssize_t n;
    do n = recv(socket, request, sizeof *request, MSG_WAITALL);
    while (n < 0 && errno == EINTR);
    return n == sizeof *request;
}

void serve(int socket) {
    inside = true;
    Request request;
    while (receive(socket, &request)) {
        auto data = reinterpret_cast<void*>(request.data);
        if (request.kind == 1)
            reinterpret_cast<cudaStreamCallback_t>(request.function)(
                reinterpret_cast<cudaStream_t>(request.stream), request.status, data);
        else if (!request.status)
            reinterpret_cast<cudaHostFn_t>(request.function)(data);
        char finished = 1;
        if (send(socket, &finished, 1, MSG_NOSIGNAL) != 1) break;
    }
}

}  // namespace

bool in_host_call() { return inside; }

void serve_host_calls() {
    static bool started = false;
    if (started) return;
    started = true;
    std::thread(serve, host_call_socket()).detach();
}
