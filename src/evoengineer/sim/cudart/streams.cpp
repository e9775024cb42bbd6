// Streams, events and host functions. All streams feed one queue of the device, in program order.
#include "streams.h"

#include <string.h>

#include <set>

namespace {

struct State {
    Stream legacy{0};
    Stream per_thread{1};
    uint32_t next_stream = 2, next_event = 1;
    std::set<Stream*> streams;
    std::set<Event*> events;
};

State& state() {
    static State* one = new State;
    return *one;
}

constexpr int kLeastPriority = 0, kGreatestPriority = -5;

// Calls that wait are not allowed on what is being captured; they spoil the capture.
int refuse_capture(Capture* capture, int error = cudaErrorStreamCaptureUnsupported) {
    capture->invalid = true;
    return error;
}

}  // namespace

Stream* stream_of(cudaStream_t handle) {
    State& s = state();
    uint64_t value = reinterpret_cast<uint64_t>(handle);
    if (value <= 1) return &s.legacy;
    if (value == 2) return &s.per_thread;
    return handle == &s.legacy || handle == &s.per_thread || s.streams.count(handle) ? handle : nullptr;
}

bool is_event(cudaEvent_t event) { return state().events.count(event); }

Stream* new_stream(unsigned flags) {
    Stream* stream = new Stream{state().next_stream++, flags};
    state().streams.insert(stream);
    post(kStreamCreate, StreamBody{stream->number, flags});
    return stream;
}

Event* new_event(unsigned flags) {
    Event* event = new Event{state().next_event++, flags};
    state().events.insert(event);
    return event;
}

void forget_streams() {
    State& s = state();
    s.legacy.capture = s.per_thread.capture = nullptr;
}

API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* result, unsigned flags, int priority) {
    ENTER();
    if (!result || flags > 1) return done(cudaErrorInvalidValue);
    *result = new_stream(flags);
    (*result)->priority = std::min(kLeastPriority, std::max(kGreatestPriority, priority));
    return cudaSuccess;
}

API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* result, unsigned flags) {
    return cudaStreamCreateWithPriority(result, flags, 0);
}

API cudaError_t cudaStreamCreate(cudaStream_t* result) { return cudaStreamCreateWithPriority(result, 0, 0); }

API cudaError_t cudaStreamDestroy(cudaStream_t handle) {
    ENTER();
    if (!state().streams.count(handle)) return done(cudaErrorInvalidResourceHandle);
    if (handle->capture) end_of_capture(handle->capture);
    state().streams.erase(handle);
    delete handle;
    return cudaSuccess;
}

API cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
    ENTER();
    Stream* stream = stream_of(handle);
    if (!stream) return done(cudaErrorInvalidResourceHandle);
    if (stream->capture) return done(refuse_capture(stream->capture));
    return done(synchronize());
}
PER_THREAD(cudaStreamSynchronize)

// The queue is drained to answer: "not ready" never happens, which every polling loop accepts.
API cudaError_t cudaStreamQuery(cudaStream_t handle) { return cudaStreamSynchronize(handle); }
PER_THREAD(cudaStreamQuery)

API cudaError_t cudaDeviceSynchronize() {
    ENTER();
    if (Capture* capture = active_capture()) return done(refuse_capture(capture));
    return done(synchronize());
}

API cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }

API cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
    ENTER();
    Stream* stream = stream_of(handle);
    if (!stream || !flags) return done(stream ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *flags = stream->flags;
    return cudaSuccess;
}
PER_THREAD(cudaStreamGetFlags)

API cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
    ENTER();
    Stream* stream = stream_of(handle);
    if (!stream || !priority) return done(stream ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *priority = stream->priority;
    return cudaSuccess;
}
PER_THREAD(cudaStreamGetPriority)

API cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
    ENTER();
    Stream* stream = stream_of(handle);
    if (!stream || !id) return done(stream ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *id = stream->number;
    return cudaSuccess;
}
PER_THREAD(cudaStreamGetId)

API cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
    ENTER();
    if (!stream_of(handle)) return done(cudaErrorInvalidResourceHandle);
    *device = 0;
    return cudaSuccess;
}
PER_THREAD(cudaStreamGetDevice)

API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    ENTER();
    if (least) *least = kLeastPriority;
    if (greatest) *greatest = kGreatestPriority;
    return cudaSuccess;
}

// Attributes (access policy windows and the like) are hints; they are accepted and not kept, except
// the priority.
API cudaError_t cudaStreamSetAttribute(cudaStream_t handle, int attribute, const cudaLaunchAttributeValue* value) {
    ENTER();
    Stream* stream = stream_of(handle);
    if (!stream || !value) return done(stream ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    if (attribute == 8) stream->priority = value->priority;
    return cudaSuccess;
}
PER_THREAD(cudaStreamSetAttribute)

API cudaError_t cudaStreamGetAttribute(cudaStream_t handle, int attribute, cudaLaunchAttributeValue* value) {
    ENTER();
    Stream* stream = stream_of(handle);
    if (!stream || !value) return done(stream ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    memset(value, 0, sizeof *value);
    if (attribute == 8) value->priority = stream->priority;
    return cudaSuccess;
}
PER_THREAD(cudaStreamGetAttribute)

API cudaError_t cudaStreamCopyAttributes(cudaStream_t target, cudaStream_t source) {
    ENTER();
    return done(stream_of(target) && stream_of(source) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}
PER_THREAD(cudaStreamCopyAttributes)

API cudaError_t cudaStreamAttachMemAsync(cudaStream_t handle, void*, size_t, unsigned) {
    ENTER();
    return done(stream_of(handle) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}
PER_THREAD(cudaStreamAttachMemAsync)

API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* result, unsigned flags) {
    ENTER();
    if (!result || flags > 7) return done(cudaErrorInvalidValue);
    *result = new_event(flags);
    return cudaSuccess;
}

API cudaError_t cudaEventCreate(cudaEvent_t* result) { return cudaEventCreateWithFlags(result, 0); }

API cudaError_t cudaEventDestroy(cudaEvent_t event) {
    ENTER();
    if (!is_event(event)) return done(cudaErrorInvalidResourceHandle);
    state().events.erase(event);
    delete event;
    return cudaSuccess;
}

API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned flags) {
    ENTER();
    Stream* stream = stream_of(handle);
    if (!is_event(event) || !stream) return done(cudaErrorInvalidResourceHandle);
    Work work;
    work.kind = WorkKind::kRecordEvent;
    work.event = event;
    if (!stream->capture || flags == 1) return done(enqueue(handle, work));
    event->capture = stream->capture;  // a mark in the graph under construction
    event->tails = stream->tails;
    return cudaSuccess;
}
PER_THREAD(cudaEventRecordWithFlags)

API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return cudaEventRecordWithFlags(event, stream, 0);
}
PER_THREAD(cudaEventRecord)

API cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    ENTER();
    if (!is_event(event)) return done(cudaErrorInvalidResourceHandle);
    if (event->capture) return done(refuse_capture(event->capture, cudaErrorCapturedEvent));
    return event->recorded ? done(synchronize()) : cudaSuccess;
}

API cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }

API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    ENTER();
    if (!milliseconds) return done(cudaErrorInvalidValue);
    if (!is_event(start) || !is_event(end) || !start->recorded || !end->recorded ||
        ((start->flags | end->flags) & 2))  // cudaEventDisableTiming
        return done(cudaErrorInvalidResourceHandle);
    return done(call(kEventElapsed, EventBody{start->number, end->number}, milliseconds));
}

API cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned flags) {
    ENTER();
    Stream* stream = stream_of(handle);
    if (!is_event(event) || !stream) return done(cudaErrorInvalidResourceHandle);
    Work work;
    work.kind = WorkKind::kWaitEvent;
    work.event = event;
    if (!event->capture) {
        if (stream->capture && flags != 1) return done(refuse_capture(stream->capture, cudaErrorStreamCaptureIsolation));
        return done(enqueue(handle, work));
    }
    // The stream joins the capture the event belongs to.
    if (stream->capture && stream->capture != event->capture)
        return done(refuse_capture(stream->capture, cudaErrorStreamCaptureMerge));
    if (!stream->capture) {
        stream->capture = event->capture;
        stream->tails.clear();
        event->capture->streams.push_back(stream);
    }
    for (GraphNode* node : event->tails) {
        bool known = false;
        for (GraphNode* tail : stream->tails) known |= tail == node;
        if (!known) stream->tails.push_back(node);
    }
    return cudaSuccess;
}
PER_THREAD(cudaStreamWaitEvent)

static int start_host_work(cudaStream_t stream, uint64_t function, void* data, uint32_t kind) {
    Work work;
    work.kind = WorkKind::kHost;
    work.host = {function, reinterpret_cast<uint64_t>(data), kind};
    return enqueue(stream, work);
}

API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    ENTER();
    if (!function) return done(cudaErrorInvalidValue);
    return done(start_host_work(stream, reinterpret_cast<uint64_t>(function), data, 0));
}
PER_THREAD(cudaLaunchHostFunc)

API cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t function, void* data, unsigned flags) {
    ENTER();
    Stream* stream = stream_of(handle);
    if (!function || flags) return done(cudaErrorInvalidValue);
    if (stream && stream->capture) return done(refuse_capture(stream->capture));
    return done(start_host_work(handle, reinterpret_cast<uint64_t>(function), data, 1));
}
PER_THREAD(cudaStreamAddCallback)

// For end_of_capture: events marked in a capture lose the mark.
void unmark_events(Capture* capture) {
    for (Event* event : state().events) {
        if (event->capture != capture) continue;
        event->capture = nullptr;
        event->tails.clear();
    }
}

Capture* active_capture() {
    State& s = state();
    for (Stream* stream : s.streams)
        if (stream->capture && stream->capture->mode != 2) return stream->capture;
    return s.per_thread.capture;
}
