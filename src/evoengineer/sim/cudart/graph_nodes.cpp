// Building graphs node by node.
#include "graphs.h"

namespace {

using Nodes = const cudaGraphNode_t*;

int add(cudaGraphNode_t* result, cudaGraph_t graph, Nodes dependencies, size_t count, const Work& work) {
    if (!result || !is_graph(graph) || (count && !dependencies)) return cudaErrorInvalidValue;
    std::vector<GraphNode*> list(dependencies, dependencies + count);
    for (GraphNode* node : list)
        if (!is_node(node) || node->graph != graph) return cudaErrorInvalidValue;
    *result = add_node(graph, work, list);
    return cudaSuccess;
}

template <class Params>
int add_from(cudaGraphNode_t* result, cudaGraph_t graph, Nodes dependencies, size_t count, const Params* params) {
    Work work;
    if (!params) return cudaErrorInvalidValue;
    if (int status = work_of(*params, &work)) return status;
    return add(result, graph, dependencies, count, work);
}

int add_alloc(cudaGraphNode_t* result, cudaGraph_t graph, Nodes dependencies, size_t count,
              cudaMemAllocNodeParams* params) {
    if (!params || !is_graph(graph)) return cudaErrorInvalidValue;
    if (int status = allocate(params->bytesize, kDeviceMemory, 0, &params->dptr)) return status;
    mark_graph_owned(params->dptr);
    graph->allocations.push_back(params->dptr);
    Work work;
    work.kind = WorkKind::kAlloc;
    work.address = reinterpret_cast<uint64_t>(params->dptr);
    work.bytes = params->bytesize;
    return add(result, graph, dependencies, count, work);
}

int add_free(cudaGraphNode_t* result, cudaGraph_t graph, Nodes dependencies, size_t count, void* address) {
    Work work;
    work.kind = WorkKind::kFree;
    work.address = reinterpret_cast<uint64_t>(address);
    return add(result, graph, dependencies, count, work);
}

int add_child(cudaGraphNode_t* result, cudaGraph_t graph, Nodes dependencies, size_t count, cudaGraph_t child) {
    if (!is_graph(child)) return cudaErrorInvalidValue;
    Work work;
    work.kind = WorkKind::kGraph;
    work.graph = clone_graph(child);
    return add(result, graph, dependencies, count, work);
}

int add_event(cudaGraphNode_t* result, cudaGraph_t graph, Nodes dependencies, size_t count, WorkKind kind,
              cudaEvent_t event) {
    if (!is_event(event)) return cudaErrorInvalidResourceHandle;
    Work work;
    work.kind = kind;
    work.event = event;
    return add(result, graph, dependencies, count, work);
}

}  // namespace

API cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
    ENTER();
    if (!graph || flags) return done(cudaErrorInvalidValue);
    *graph = new_graph();
    return cudaSuccess;
}

API cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    ENTER();
    if (!is_graph(graph)) return done(cudaErrorInvalidValue);
    delete_graph(graph);
    return cudaSuccess;
}

API cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
    ENTER();
    if (!clone || !is_graph(graph)) return done(cudaErrorInvalidValue);
    *clone = clone_graph(graph);
    return cudaSuccess;
}

API cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* result, cudaGraphNode_t original, cudaGraph_t clone) {
    ENTER();
    if (!result || !is_graph(clone)) return done(cudaErrorInvalidValue);
    for (auto& node : clone->nodes)
        if (node->original == original) return *result = node.get(), cudaSuccess;
    return done(cudaErrorInvalidValue);
}

API cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, Nodes d, size_t n,
                                       const cudaKernelNodeParams* params) {
    ENTER();
    return done(add_from(node, graph, d, n, params));
}

API cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, Nodes d, size_t n,
                                       const cudaMemcpy3DParms* params) {
    ENTER();
    return done(add_from(node, graph, d, n, params));
}

API cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, Nodes d, size_t n, void* target,
                                         const void* source, size_t count, int kind) {
    ENTER();
    Work work = flat_copy(target, source, count, kind);
    if (int status = check_copy(work.copy)) return done(status);
    return done(add(node, graph, d, n, work));
}

API cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph, Nodes d, size_t n,
                                               const void* symbol, const void* source, size_t count, size_t offset,
                                               int kind) {
    ENTER();
    void* target = nullptr;
    if (int status = symbol_address(symbol, offset, count, &target)) return done(status);
    return cudaGraphAddMemcpyNode1D(node, graph, d, n, target, source, count, kind);
}

API cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph, Nodes d, size_t n,
                                                 void* target, const void* symbol, size_t count, size_t offset,
                                                 int kind) {
    ENTER();
    void* source = nullptr;
    if (int status = symbol_address(symbol, offset, count, &source)) return done(status);
    return cudaGraphAddMemcpyNode1D(node, graph, d, n, target, source, count, kind);
}

API cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, Nodes d, size_t n,
                                       const cudaMemsetParams* params) {
    ENTER();
    return done(add_from(node, graph, d, n, params));
}

API cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, Nodes d, size_t n,
                                     const cudaHostNodeParams* params) {
    ENTER();
    return done(add_from(node, graph, d, n, params));
}

API cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, Nodes d, size_t n,
                                           cudaGraph_t child) {
    ENTER();
    return done(add_child(node, graph, d, n, child));
}

API cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, Nodes d, size_t n) {
    ENTER();
    return done(add(node, graph, d, n, Work()));
}

API cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph, Nodes d, size_t n,
                                            cudaEvent_t event) {
    ENTER();
    return done(add_event(node, graph, d, n, WorkKind::kRecordEvent, event));
}

API cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph, Nodes d, size_t n,
                                          cudaEvent_t event) {
    ENTER();
    return done(add_event(node, graph, d, n, WorkKind::kWaitEvent, event));
}

API cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph, Nodes d, size_t n,
                                         cudaMemAllocNodeParams* params) {
    ENTER();
    return done(add_alloc(node, graph, d, n, params));
}

API cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph, Nodes d, size_t n, void* address) {
    ENTER();
    return done(add_free(node, graph, d, n, address));
}

API cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, Nodes d, const cudaGraphEdgeData*, size_t n,
                                 cudaGraphNodeParams* p) {
    ENTER();
    if (!p) return done(cudaErrorInvalidValue);
    switch (WorkKind(p->type)) {
    case WorkKind::kKernel: return done(add_from(node, graph, d, n, &p->body.kernel));
    case WorkKind::kCopy: return done(add_from(node, graph, d, n, &p->body.memcpy.copyParams));
    case WorkKind::kSet: return done(add_from(node, graph, d, n, &p->body.memset));
    case WorkKind::kHost: return done(add_from(node, graph, d, n, &p->body.host));
    case WorkKind::kGraph: return done(add_child(node, graph, d, n, p->body.graph.graph));
    case WorkKind::kEmpty: return done(add(node, graph, d, n, Work()));
    case WorkKind::kWaitEvent: return done(add_event(node, graph, d, n, WorkKind::kWaitEvent, p->body.eventWait.event));
    case WorkKind::kRecordEvent:
        return done(add_event(node, graph, d, n, WorkKind::kRecordEvent, p->body.eventRecord.event));
    case WorkKind::kAlloc: return done(add_alloc(node, graph, d, n, &p->body.alloc));
    case WorkKind::kFree: return done(add_free(node, graph, d, n, p->body.free.dptr));
    }
    complain_once("conditional and semaphore graph nodes (cudaGraphAddNode) are not supported by the simulated GPU");
    return done(cudaErrorNotSupported);
}
