// Executable graphs: instantiation, update, launch.
#include <set>

#include "graphs.h"

namespace {

std::set<const GraphExec*>& execs() {
    static auto* all = new std::set<const GraphExec*>;
    return *all;
}

int instantiate(cudaGraphExec_t* result, cudaGraph_t graph, unsigned long long flags) {
    if (!result || !is_graph(graph)) return cudaErrorInvalidValue;
    std::vector<GraphNode*> order;
    if (!ordered(graph, &order)) return cudaErrorInvalidValue;  // a cycle
    GraphExec* exec = new GraphExec;
    exec->flags = flags;
    exec->user_objects = graph->user_objects;
    exec->steps = steps_of(order);
    for (auto& step : exec->steps)
        if (step.work.kind == WorkKind::kGraph) step.work.graph = clone_graph(step.work.graph);
    execs().insert(exec);
    *result = exec;
    return cudaSuccess;
}

GraphExec::Step* step_of(cudaGraphExec_t exec, cudaGraphNode_t node) {
    if (!execs().count(exec)) return nullptr;
    for (auto& step : exec->steps)
        if (step.node == node) return &step;
    return nullptr;
}

template <class Params> int set_step(cudaGraphExec_t exec, cudaGraphNode_t node, WorkKind kind, const Params* params) {
    GraphExec::Step* step = step_of(exec, node);
    if (!step || step->work.kind != kind || !params) return cudaErrorInvalidValue;
    Work work;
    if (int status = work_of(*params, &work)) return status;
    work.kernel.cooperative = step->work.kernel.cooperative;
    step->work = work;
    return cudaSuccess;
}

int set_event(cudaGraphExec_t exec, cudaGraphNode_t node, WorkKind kind, cudaEvent_t event) {
    GraphExec::Step* step = step_of(exec, node);
    if (!step || step->work.kind != kind || !is_event(event)) return cudaErrorInvalidValue;
    step->work.event = event;
    return cudaSuccess;
}

}  // namespace

#if EVO_CUDART_MAJOR >= 12
API cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
    ENTER();
    return done(instantiate(exec, graph, flags));
}
#else
API cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, cudaGraphNode_t*, char*, size_t) {
    ENTER();
    return done(instantiate(exec, graph, 0));
}
#endif

API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
    ENTER();
    return done(instantiate(exec, graph, flags));
}

API cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph, cudaGraphInstantiateParams* p) {
    ENTER();
    if (!p) return done(cudaErrorInvalidValue);
    int status = instantiate(exec, graph, p->flags);
    p->errNode_out = nullptr;
    p->result_out = status ? 2 : 0;
    return done(status);
}
PER_THREAD(cudaGraphInstantiateWithParams)

API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    ENTER();
    if (!execs().erase(exec)) return done(cudaErrorInvalidValue);
    for (auto& step : exec->steps)
        if (step.work.kind == WorkKind::kGraph) delete_graph(step.work.graph);
    delete exec;
    return cudaSuccess;
}

API cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle) {
    ENTER();
    Stream* stream = stream_of(handle);
    if (!execs().count(exec) || !stream) return done(cudaErrorInvalidValue);
    if (!stream->capture) return done(execute_steps(exec->steps, handle));
    for (auto& step : exec->steps) {  // the graph's work joins the graph under construction
        if (!step.enabled) continue;
        if (int status = enqueue(handle, step.work)) return done(status);
    }
    return cudaSuccess;
}
PER_THREAD(cudaGraphLaunch)

API cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
    ENTER();
    return done(execs().count(exec) && stream_of(stream) ? cudaSuccess : cudaErrorInvalidValue);
}
PER_THREAD(cudaGraphUpload)

API cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long* flags) {
    ENTER();
    if (!execs().count(exec) || !flags) return done(cudaErrorInvalidValue);
    *flags = exec->flags;
    return cudaSuccess;
}

// 0 success, 2 topology changed, 3 node type changed, 4 function changed
static int update(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t* where) {
    std::vector<GraphNode*> order;
    *where = nullptr;
    if (!ordered(graph, &order) || order.size() != exec->steps.size()) return 2;
    for (size_t i = 0; i < order.size(); ++i) {
        *where = order[i];
        if (order[i]->work.kind != exec->steps[i].work.kind) return 3;
    }
    *where = nullptr;
    const auto steps = steps_of(order);
    for (size_t i = 0; i < order.size(); ++i) {
        exec->steps[i].after = steps[i].after;
        Work work = order[i]->work;
        if (work.kind == WorkKind::kGraph) {
            delete_graph(exec->steps[i].work.graph);
            work.graph = clone_graph(work.graph);
        }
        exec->steps[i].work = work;
        exec->steps[i].node = order[i];
    }
    return 0;
}

#if EVO_CUDART_MAJOR >= 12
API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
    ENTER();
    if (!execs().count(exec) || !is_graph(graph) || !info) return done(cudaErrorInvalidValue);
    info->errorFromNode = nullptr;
    info->result = update(exec, graph, &info->errorNode);
    return done(info->result ? cudaErrorGraphExecUpdateFailure : cudaSuccess);
}
#else
API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t* node, int* result) {
    ENTER();
    if (!execs().count(exec) || !is_graph(graph) || !node || !result) return done(cudaErrorInvalidValue);
    *result = update(exec, graph, node);
    return done(*result ? cudaErrorGraphExecUpdateFailure : cudaSuccess);
}
#endif

API cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaKernelNodeParams* p) {
    ENTER();
    return done(set_step(exec, node, WorkKind::kKernel, p));
}

API cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemcpy3DParms* p) {
    ENTER();
    return done(set_step(exec, node, WorkKind::kCopy, p));
}

API cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* target,
                                                   const void* source, size_t count, int kind) {
    ENTER();
    cudaMemcpy3DParms params = flat_copy(target, const_cast<void*>(source), count, kind).copy_params;
    return done(set_step(exec, node, WorkKind::kCopy, &params));
}

API cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, const void* symbol,
                                                         const void* source, size_t count, size_t offset, int kind) {
    ENTER();
    void* target = nullptr;
    if (int status = symbol_address(symbol, offset, count, &target)) return done(status);
    return cudaGraphExecMemcpyNodeSetParams1D(exec, node, target, source, count, kind);
}

API cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void* target,
                                                           const void* symbol, size_t count, size_t offset, int kind) {
    ENTER();
    void* source = nullptr;
    if (int status = symbol_address(symbol, offset, count, &source)) return done(status);
    return cudaGraphExecMemcpyNodeSetParams1D(exec, node, target, source, count, kind);
}

API cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraphNodeParams* p) {
    ENTER();
    if (!p) return done(cudaErrorInvalidValue);
    return done(set_step(exec, node, WorkKind(p->type), p));
}

API cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemsetParams* p) {
    ENTER();
    return done(set_step(exec, node, WorkKind::kSet, p));
}

API cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaHostNodeParams* p) {
    ENTER();
    return done(set_step(exec, node, WorkKind::kHost, p));
}

API cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event) {
    ENTER();
    return done(set_event(exec, node, WorkKind::kRecordEvent, event));
}

API cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event) {
    ENTER();
    return done(set_event(exec, node, WorkKind::kWaitEvent, event));
}

API cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child) {
    ENTER();
    GraphExec::Step* step = step_of(exec, node);
    if (!step || step->work.kind != WorkKind::kGraph || !is_graph(child)) return done(cudaErrorInvalidValue);
    delete_graph(step->work.graph);
    step->work.graph = clone_graph(child);
    return cudaSuccess;
}

API cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled) {
    ENTER();
    GraphExec::Step* step = step_of(exec, node);
    if (!step) return done(cudaErrorInvalidValue);
    step->enabled = enabled;
    return cudaSuccess;
}

API cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned* enabled) {
    ENTER();
    GraphExec::Step* step = step_of(exec, node);
    if (!step || !enabled) return done(cudaErrorInvalidValue);
    *enabled = step->enabled;
    return cudaSuccess;
}

API cudaError_t cudaDeviceGraphMemTrim(int device) {
    ENTER();
    return done(device ? cudaErrorInvalidDevice : cudaSuccess);
}

API cudaError_t cudaDeviceGetGraphMemAttribute(int device, int, void* value) {
    ENTER();
    if (device || !value) return done(device ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    *static_cast<uint64_t*>(value) = 0;
    return cudaSuccess;
}

API cudaError_t cudaDeviceSetGraphMemAttribute(int device, int, void*) {
    ENTER();
    return done(device ? cudaErrorInvalidDevice : cudaSuccess);
}
