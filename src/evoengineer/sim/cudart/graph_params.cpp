// Reading and changing the parameters of graph nodes.
#include <string.h>

#include "graphs.h"

namespace {

bool has(GraphNode* node, WorkKind kind) { return is_node(node) && node->work.kind == kind; }

template <class Params> int set_from(GraphNode* node, WorkKind kind, const Params* params) {
    if (!has(node, kind) || !params) return cudaErrorInvalidValue;
    Work work;
    if (int status = work_of(*params, &work)) return status;
    node->work = work;
    return cudaSuccess;
}

}  // namespace

API cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* p) {
    ENTER();
    if (!has(node, WorkKind::kKernel) || !p) return done(cudaErrorInvalidValue);
    KernelWork& k = node->work.kernel;
    node->arguments.clear();
    for (auto [offset, bytes] : k.kernel->params) node->arguments.push_back(&k.params[offset]);
    *p = {k.kernel, k.grid, k.block, k.shared_bytes, node->arguments.data(), nullptr};
    return cudaSuccess;
}

API cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* p) {
    ENTER();
    return done(set_from(node, WorkKind::kKernel, p));
}

API cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, int attribute, const cudaLaunchAttributeValue* v) {
    ENTER();
    if (!has(node, WorkKind::kKernel) || !v) return done(cudaErrorInvalidValue);
    if (attribute == 2) node->work.kernel.cooperative = v->cooperative;
    return cudaSuccess;
}

API cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, int attribute, cudaLaunchAttributeValue* v) {
    ENTER();
    if (!has(node, WorkKind::kKernel) || !v) return done(cudaErrorInvalidValue);
    memset(v, 0, sizeof *v);
    if (attribute == 2) v->cooperative = node->work.kernel.cooperative;
    return cudaSuccess;
}

API cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* p) {
    ENTER();
    if (!has(node, WorkKind::kCopy) || !p) return done(cudaErrorInvalidValue);
    *p = node->work.copy_params.extent.width ? node->work.copy_params : params_of(node->work.copy);
    return cudaSuccess;
}

API cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* p) {
    ENTER();
    return done(set_from(node, WorkKind::kCopy, p));
}

API cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* target, const void* source, size_t count,
                                               int kind) {
    ENTER();
    Work work = flat_copy(target, source, count, kind);
    if (!has(node, WorkKind::kCopy)) return done(cudaErrorInvalidValue);
    if (int status = check_copy(work.copy)) return done(status);
    node->work = work;
    return cudaSuccess;
}

API cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* p) {
    ENTER();
    if (!has(node, WorkKind::kSet) || !p) return done(cudaErrorInvalidValue);
    const SetWork& s = node->work.set;
    *p = {reinterpret_cast<void*>(s.target), s.pitch, s.value, s.element, s.width, s.height};
    return cudaSuccess;
}

API cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* p) {
    ENTER();
    return done(set_from(node, WorkKind::kSet, p));
}

API cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* p) {
    ENTER();
    if (!has(node, WorkKind::kHost) || !p) return done(cudaErrorInvalidValue);
    *p = {reinterpret_cast<cudaHostFn_t>(node->work.host.function), reinterpret_cast<void*>(node->work.host.data)};
    return cudaSuccess;
}

API cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* p) {
    ENTER();
    return done(set_from(node, WorkKind::kHost, p));
}

API cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* graph) {
    ENTER();
    if (!has(node, WorkKind::kGraph) || !graph) return done(cudaErrorInvalidValue);
    *graph = node->work.graph;
    return cudaSuccess;
}

API cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* p) {
    ENTER();
    if (!has(node, WorkKind::kAlloc) || !p) return done(cudaErrorInvalidValue);
    memset(p, 0, sizeof *p);
    p->dptr = reinterpret_cast<void*>(node->work.address);
    p->bytesize = node->work.bytes;
    return cudaSuccess;
}

API cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* address) {
    ENTER();
    if (!has(node, WorkKind::kFree) || !address) return done(cudaErrorInvalidValue);
    memcpy(address, &node->work.address, sizeof(void*));
    return cudaSuccess;
}

API cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void* symbol, const void* source,
                                                     size_t count, size_t offset, int kind) {
    ENTER();
    void* target = nullptr;
    if (int status = symbol_address(symbol, offset, count, &target)) return done(status);
    return cudaGraphMemcpyNodeSetParams1D(node, target, source, count, kind);
}

API cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* target, const void* symbol,
                                                       size_t count, size_t offset, int kind) {
    ENTER();
    void* source = nullptr;
    if (int status = symbol_address(symbol, offset, count, &source)) return done(status);
    return cudaGraphMemcpyNodeSetParams1D(node, target, source, count, kind);
}

API cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t target, cudaGraphNode_t source) {
    ENTER();
    if (!has(target, WorkKind::kKernel) || !has(source, WorkKind::kKernel)) return done(cudaErrorInvalidValue);
    target->work.kernel.cooperative = source->work.kernel.cooperative;
    return cudaSuccess;
}

static int event_of(cudaGraphNode_t node, WorkKind kind, cudaEvent_t* event) {
    if (!has(node, kind) || !event) return cudaErrorInvalidValue;
    *event = node->work.event;
    return cudaSuccess;
}

static int set_event(cudaGraphNode_t node, WorkKind kind, cudaEvent_t event) {
    if (!has(node, kind) || !is_event(event)) return cudaErrorInvalidValue;
    node->work.event = event;
    return cudaSuccess;
}

API cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
    ENTER();
    return done(event_of(node, WorkKind::kRecordEvent, event));
}

API cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
    ENTER();
    return done(set_event(node, WorkKind::kRecordEvent, event));
}

API cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
    ENTER();
    return done(event_of(node, WorkKind::kWaitEvent, event));
}

API cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
    ENTER();
    return done(set_event(node, WorkKind::kWaitEvent, event));
}

API cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* p) {
    ENTER();
    if (!p) return done(cudaErrorInvalidValue);
    return done(set_from(node, WorkKind(p->type), p));
}
