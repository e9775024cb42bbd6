// Stream capture: work that would go to the device becomes nodes of a graph instead.
#include <algorithm>

#include "graphs.h"

void unmark_events(Capture* capture);

namespace {

unsigned long long next_id = 1;
thread_local int interaction_mode = 0;

int begin(cudaStream_t handle, Graph* graph, const std::vector<GraphNode*>& tails, int mode, bool owns) {
    Stream* stream = stream_of(handle);
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (stream->number == 0) return cudaErrorStreamCaptureUnsupported;  // the legacy stream
    if (stream->capture) return cudaErrorIllegalState;
    if (mode < 0 || mode > 2) return cudaErrorInvalidValue;
    Capture* capture = new Capture{graph, stream, mode, next_id++, owns, false, {stream}};
    stream->capture = capture;
    stream->tails = tails;
    return cudaSuccess;
}

}  // namespace

GraphNode* add_captured(Stream* stream, const Work& work) {
    Work kept = work;
    if (kept.kind == WorkKind::kGraph) kept.graph = clone_graph(work.graph);
    GraphNode* node = add_node(stream->capture->graph, kept, stream->tails);
    stream->tails = {node};
    return node;
}

void end_of_capture(Capture* capture) {
    for (Stream* stream : capture->streams) {
        stream->capture = nullptr;
        stream->tails.clear();
    }
    unmark_events(capture);
    delete capture;
}

API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode) {
    ENTER();
    Graph* graph = new_graph();
    int status = begin(stream, graph, {}, mode, true);
    if (status) delete_graph(graph);
    return done(status);
}
PER_THREAD(cudaStreamBeginCapture)

API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                              const cudaGraphEdgeData*, size_t count, int mode) {
    ENTER();
    if (!is_graph(graph)) return done(cudaErrorInvalidValue);
    return done(begin(stream, graph, {dependencies, dependencies + count}, mode, false));
}
PER_THREAD(cudaStreamBeginCaptureToGraph)

API cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* result) {
    ENTER();
    if (result) *result = nullptr;
    Stream* stream = stream_of(handle);
    if (!stream) return done(cudaErrorInvalidResourceHandle);
    Capture* capture = stream->capture;
    if (!capture) return done(cudaErrorIllegalState);
    if (capture->origin != stream) {
        capture->invalid = true;
        return done(cudaErrorStreamCaptureUnmatched);
    }
    // What other streams did must have come back to the origin through events.
    int status = capture->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    std::vector<GraphNode*> reached = stream->tails;
    for (size_t i = 0; i < reached.size(); ++i)
        for (GraphNode* d : reached[i]->dependencies)
            if (std::find(reached.begin(), reached.end(), d) == reached.end()) reached.push_back(d);
    for (Stream* joined : capture->streams)
        for (GraphNode* tail : joined->tails)
            if (!status && std::find(reached.begin(), reached.end(), tail) == reached.end())
                status = cudaErrorStreamCaptureUnjoined;
    Graph* graph = capture->graph;
    bool owned = capture->owns_graph;
    end_of_capture(capture);
    if (!status && result) *result = graph;
    if (status && owned) delete_graph(graph);
    return done(status);
}
PER_THREAD(cudaStreamEndCapture)

API cudaError_t cudaStreamIsCapturing(cudaStream_t handle, int* status) {
    ENTER();
    Stream* stream = stream_of(handle);
    if (!stream || !status) return done(stream ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    if (stream->number == 0 && active_capture()) return done(cudaErrorStreamCaptureImplicit);
    *status = !stream->capture ? 0 : stream->capture->invalid ? 2 : 1;
    return cudaSuccess;
}
PER_THREAD(cudaStreamIsCapturing)

static int capture_info(cudaStream_t handle, int* status, unsigned long long* id, cudaGraph_t* graph,
                        const cudaGraphNode_t** tails, size_t* count) {
    Stream* stream = stream_of(handle);
    if (!stream || !status) return stream ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle;
    Capture* capture = stream->capture;
    *status = !capture ? 0 : capture->invalid ? 2 : 1;
    if (!capture) return cudaSuccess;
    if (id) *id = capture->id;
    if (graph) *graph = capture->graph;
    if (tails) *tails = stream->tails.data();
    if (count) *count = stream->tails.size();
    return cudaSuccess;
}

#if EVO_CUDART_MAJOR >= 13
API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, int* status, unsigned long long* id, cudaGraph_t* graph,
                                         const cudaGraphNode_t** tails, const cudaGraphEdgeData** edges, size_t* count) {
    ENTER();
    if (edges) *edges = nullptr;
    return done(capture_info(stream, status, id, graph, tails, count));
}
PER_THREAD(cudaStreamGetCaptureInfo)
#else
API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, int* status, unsigned long long* id) {
    ENTER();
    return done(capture_info(stream, status, id, nullptr, nullptr, nullptr));
}
PER_THREAD(cudaStreamGetCaptureInfo)

API cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, int* status, unsigned long long* id, cudaGraph_t* graph,
                                            const cudaGraphNode_t** tails, size_t* count) {
    ENTER();
    return done(capture_info(stream, status, id, graph, tails, count));
}
PER_THREAD(cudaStreamGetCaptureInfo_v2)
#endif

static int update_dependencies(cudaStream_t handle, cudaGraphNode_t* nodes, size_t count, unsigned flags) {
    Stream* stream = stream_of(handle);
    if (!stream || !stream->capture) return stream ? cudaErrorIllegalState : cudaErrorInvalidResourceHandle;
    if (flags == 1) stream->tails.clear();
    stream->tails.insert(stream->tails.end(), nodes, nodes + count);
    return cudaSuccess;
}

#if EVO_CUDART_MAJOR >= 13
API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes, const cudaGraphEdgeData*,
                                                    size_t count, unsigned flags) {
    ENTER();
    return done(update_dependencies(stream, nodes, count, flags));
}
#else
API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes, size_t count,
                                                    unsigned flags) {
    ENTER();
    return done(update_dependencies(stream, nodes, count, flags));
}
#endif
PER_THREAD(cudaStreamUpdateCaptureDependencies)

API cudaError_t cudaThreadExchangeStreamCaptureMode(int* mode) {
    ENTER();
    if (!mode || *mode < 0 || *mode > 2) return done(cudaErrorInvalidValue);
    std::swap(*mode, interaction_mode);
    return cudaSuccess;
}
