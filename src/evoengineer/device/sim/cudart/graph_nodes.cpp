// Building and inspecting graphs node by node.
#include <string.h>

#include <algorithm>

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

bool has(GraphNode* node, WorkKind kind) { return is_node(node) && node->work.kind == kind; }

template <class Params> int set_from(GraphNode* node, WorkKind kind, const Params* params) {
    if (!has(node, kind) || !params) return cudaErrorInvalidValue;
    Work work;
    if (int status = work_of(*params, &work)) return status;
    node->work = work;
    return cudaSuccess;
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

// CUDA's convention for lists: a null pointer asks for the count.
int give(const std::vector<GraphNode*>& nodes, cudaGraphNode_t* to, size_t* count) {
    if (!count) return cudaErrorInvalidValue;
    if (to) {
        size_t n = std::min(*count, nodes.size());
        std::copy_n(nodes.begin(), n, to);
        std::fill(to + n, to + *count, nullptr);
        if (*count > nodes.size()) *count = nodes.size();
        return cudaSuccess;
    }
    *count = nodes.size();
    return cudaSuccess;
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

static Work flat_copy(void* target, const void* source, size_t count, int kind) {
    Work work;
    work.kind = WorkKind::kCopy;
    work.copy.target = {reinterpret_cast<uint64_t>(target), count, count};
    work.copy.source = {reinterpret_cast<uint64_t>(source), count, count};
    work.copy.width = count;
    work.copy.kind = kind;
    work.copy_params = params_of(work.copy);
    return work;
}

static int symbol_address(const void* symbol, size_t offset, size_t count, void** address) {
    int status;
    const Variable* v = find_variable(symbol, &status);
    if (!v) return status;
    if (offset + count > v->bytes) return cudaErrorInvalidValue;
    *address = reinterpret_cast<void*>(v->address + offset);
    return cudaSuccess;
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

API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, int* type) {
    ENTER();
    if (!is_node(node) || !type) return done(cudaErrorInvalidValue);
    *type = int(node->work.kind);
    return cudaSuccess;
}

API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    ENTER();
    if (!is_graph(graph)) return done(cudaErrorInvalidValue);
    std::vector<GraphNode*> all;
    for (auto& node : graph->nodes) all.push_back(node.get());
    return done(give(all, nodes, count));
}

API cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    ENTER();
    if (!is_graph(graph)) return done(cudaErrorInvalidValue);
    std::vector<GraphNode*> roots;
    for (auto& node : graph->nodes)
        if (node->dependencies.empty()) roots.push_back(node.get());
    return done(give(roots, nodes, count));
}

static int get_edges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count) {
    if (!is_graph(graph)) return cudaErrorInvalidValue;
    std::vector<GraphNode*> starts, ends;
    for (auto& node : graph->nodes)
        for (GraphNode* d : node->dependencies) starts.push_back(d), ends.push_back(node.get());
    size_t room = count ? *count : 0;
    if (int status = give(starts, from, count)) return status;
    if (to) return give(ends, to, &room);
    return cudaSuccess;
}

static int get_dependents(cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count) {
    if (!is_node(node)) return cudaErrorInvalidValue;
    std::vector<GraphNode*> found;
    for (auto& other : node->graph->nodes)
        for (GraphNode* d : other->dependencies)
            if (d == node) found.push_back(other.get());
    return give(found, nodes, count);
}

static int add_dependencies(cudaGraph_t graph, Nodes from, Nodes to, size_t count) {
    if (!is_graph(graph)) return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
        if (!is_node(from[i]) || !is_node(to[i]) || from[i]->graph != graph || to[i]->graph != graph)
            return cudaErrorInvalidValue;
        to[i]->dependencies.push_back(from[i]);
    }
    return cudaSuccess;
}

static int remove_dependencies(cudaGraph_t graph, Nodes from, Nodes to, size_t count) {
    if (!is_graph(graph)) return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
        if (!is_node(from[i]) || !is_node(to[i])) return cudaErrorInvalidValue;
        auto& list = to[i]->dependencies;
        list.erase(std::remove(list.begin(), list.end(), from[i]), list.end());
    }
    return cudaSuccess;
}

// CUDA 13 added edge data to these; earlier versions have the shorter form.
#if EVO_CUDART_MAJOR >= 13
#define EDGES const cudaGraphEdgeData*,
#else
#define EDGES
#endif

API cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, EDGES size_t* count) {
    ENTER();
    return done(get_edges(graph, from, to, count));
}

API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, EDGES size_t* count) {
    ENTER();
    if (!is_node(node)) return done(cudaErrorInvalidValue);
    return done(give(node->dependencies, nodes, count));
}

API cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, EDGES size_t* count) {
    ENTER();
    return done(get_dependents(node, nodes, count));
}

API cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, Nodes from, Nodes to, EDGES size_t count) {
    ENTER();
    return done(add_dependencies(graph, from, to, count));
}

API cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, Nodes from, Nodes to, EDGES size_t count) {
    ENTER();
    return done(remove_dependencies(graph, from, to, count));
}

API cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
    ENTER();
    if (!is_node(node)) return done(cudaErrorInvalidValue);
    Graph* graph = node->graph;
    for (auto& other : graph->nodes) {
        auto& list = other->dependencies;
        list.erase(std::remove(list.begin(), list.end(), node), list.end());
    }
    auto found = std::find_if(graph->nodes.begin(), graph->nodes.end(), [&](auto& n) { return n.get() == node; });
    forget_node(node);
    graph->nodes.erase(found);
    return cudaSuccess;
}
