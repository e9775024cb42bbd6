// Execution of work: commands to the device process, in order.
#include "operations.h"

#include <string.h>

#include "graphs.h"
#include "hostcalls.h"
#include "streams.h"

namespace {

int execute_set(const SetWork& set, uint32_t stream) {
    if (set.width == 0 || set.height == 0) return cudaSuccess;
    Place place;
    locate(reinterpret_cast<void*>(set.target), &place);
    MemsetBody body{place.device_address, set.pitch, set.width, set.height, set.value, set.element, stream, 0};
    post(kMemset, body);
    return cudaSuccess;
}

int execute_kernel(const KernelWork& work, uint32_t stream) {
    LaunchBody body{work.kernel->info.kernel, stream,
                    {work.grid.x, work.grid.y, work.grid.z},
                    {work.block.x, work.block.y, work.block.z},
                    work.shared_bytes, work.cooperative};
    post(kLaunch, &body, sizeof body, work.params.data(), work.params.size());
    return cudaSuccess;
}

int execute_host(const HostWork& work, Stream* stream) {
    load_all_modules();  // the function may wait for something the program does only after its next launch
    serve_host_calls();
    post(kHostCall, HostCallBody{work.function, work.data, reinterpret_cast<uint64_t>(stream), work.kind,
                                 stream->number});
    return cudaSuccess;
}

}  // namespace

int check_set(const SetWork& set) {
    Place place;
    bool known = locate(reinterpret_cast<void*>(set.target), &place);
    if (set.width == 0 || set.height == 0) return cudaSuccess;
    if (!known || place.where == Where::kPageable) return cudaErrorInvalidValue;
    uint64_t row = set.width * set.element;
    if (set.height > 1 && set.pitch < row) return cudaErrorInvalidPitchValue;
    if ((set.height - 1) * set.pitch + row > place.left) return cudaErrorInvalidValue;
    return cudaSuccess;
}

int execute(const Work& work, cudaStream_t handle, bool wait) {
    Stream* stream = stream_of(handle);
    int status = cudaSuccess;
    bool needs_event = work.kind == WorkKind::kWaitEvent || work.kind == WorkKind::kRecordEvent;
    if (needs_event && !is_event(work.event)) return cudaErrorInvalidResourceHandle;  // destroyed since
    switch (work.kind) {
    case WorkKind::kKernel: status = execute_kernel(work.kernel, stream->number); break;
    case WorkKind::kCopy: return execute_copy(work.copy, stream->number, wait);
    case WorkKind::kSet: status = execute_set(work.set, stream->number); break;
    case WorkKind::kHost: status = execute_host(work.host, stream); break;
    case WorkKind::kGraph: status = execute_graph(work.graph, handle); break;
    case WorkKind::kWaitEvent:
        if (work.event->recorded) post(kStreamWait, EventBody{work.event->number, stream->number});
        break;
    case WorkKind::kRecordEvent:
        work.event->recorded = true;
        work.event->capture = nullptr;
        post(kEventRecord, EventBody{work.event->number, stream->number});
        break;
    case WorkKind::kEmpty:
    case WorkKind::kAlloc:  // graph allocations live as long as their graph
    case WorkKind::kFree: break;
    }
    return status || !wait ? status : synchronize();
}

int enqueue(cudaStream_t handle, const Work& work) {
    Stream* stream = stream_of(handle);
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (stream->capture) {
        if (stream->capture->invalid) return cudaErrorStreamCaptureInvalidated;
        return add_captured(stream, work) ? cudaSuccess : cudaErrorStreamCaptureUnsupported;
    }
    return execute(work, handle, false);
}
