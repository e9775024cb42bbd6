// The graph itself: nodes, order, clones, replay.
#include "graphs.h"

#include <algorithm>
#include <set>

namespace {

struct State {
    std::set<const Graph*> graphs;
    std::set<const GraphNode*> nodes;
};

State& state() {
    static State* one = new State;
    return *one;
}

}  // namespace

bool is_graph(const Graph* graph) { return state().graphs.count(graph); }
bool is_node(const GraphNode* node) { return state().nodes.count(node); }
void forget_node(const GraphNode* node) { state().nodes.erase(node); }

Graph* new_graph() {
    Graph* graph = new Graph;
    state().graphs.insert(graph);
    return graph;
}

void delete_graph(Graph* graph) {
    for (auto& node : graph->nodes) {
        if (node->work.kind == WorkKind::kGraph) delete_graph(node->work.graph);
        state().nodes.erase(node.get());
    }
    for (void* address : graph->allocations) release_graph_owned(address);
    state().graphs.erase(graph);
    delete graph;
}

GraphNode* add_node(Graph* graph, const Work& work, const std::vector<GraphNode*>& dependencies) {
    graph->nodes.emplace_back(new GraphNode{graph, work, dependencies});
    GraphNode* node = graph->nodes.back().get();
    state().nodes.insert(node);
    return node;
}

bool ordered(const Graph* graph, std::vector<GraphNode*>* order) {
    std::set<const GraphNode*> placed;
    order->clear();
    while (order->size() < graph->nodes.size()) {
        size_t before = order->size();
        for (auto& node : graph->nodes) {
            if (placed.count(node.get())) continue;
            bool ready = std::all_of(node->dependencies.begin(), node->dependencies.end(),
                                     [&](GraphNode* d) { return placed.count(d); });
            if (!ready) continue;
            placed.insert(node.get());
            order->push_back(node.get());
        }
        if (order->size() == before) return false;
    }
    return true;
}

Graph* clone_graph(const Graph* graph) {
    Graph* copy = new_graph();
    copy->user_objects = graph->user_objects;
    std::map<const GraphNode*, GraphNode*> twin;
    for (auto& node : graph->nodes) {
        GraphNode* made = add_node(copy, node->work, {});
        if (made->work.kind == WorkKind::kGraph) made->work.graph = clone_graph(node->work.graph);
        made->original = node.get();
        twin[node.get()] = made;
    }
    for (auto& node : graph->nodes)
        for (GraphNode* d : node->dependencies) twin[node.get()]->dependencies.push_back(twin[d]);
    return copy;
}

int execute_graph(const Graph* graph, cudaStream_t stream) {
    std::vector<GraphNode*> order;
    if (!ordered(graph, &order)) return cudaErrorInvalidValue;
    for (GraphNode* node : order)
        if (int status = execute(node->work, stream, false)) return status;
    return cudaSuccess;
}

int work_of(const cudaKernelNodeParams& p, Work* work) {
    int status;
    *work = Work();
    work->kind = WorkKind::kKernel;
    KernelWork& k = work->kernel;
    k.kernel = find_kernel(p.func, &status);
    if (status) return status;
    k.grid = p.gridDim;
    k.block = p.blockDim;
    k.shared_bytes = p.sharedMemBytes;
    if ((status = check_launch(k))) return status;
    return pack_params(k.kernel, p.kernelParams, p.extra, &k.params);
}

int work_of(const cudaMemcpy3DParms& p, Work* work) {
    *work = Work();
    work->kind = WorkKind::kCopy;
    work->copy_params = p;
    if (int status = copy_of(p, &work->copy)) return status;
    return check_copy(work->copy);
}

int work_of(const cudaMemsetParams& p, Work* work) {
    if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4) return cudaErrorInvalidValue;
    *work = Work();
    work->kind = WorkKind::kSet;
    work->set = {reinterpret_cast<uint64_t>(p.dst), p.pitch, p.width, p.height, p.value, p.elementSize};
    return check_set(work->set);
}

int work_of(const cudaHostNodeParams& p, Work* work) {
    if (!p.fn) return cudaErrorInvalidValue;
    *work = Work();
    work->kind = WorkKind::kHost;
    work->host = {reinterpret_cast<uint64_t>(p.fn), reinterpret_cast<uint64_t>(p.userData), 0};
    return cudaSuccess;
}

// For copies that were captured or given in one dimension.
cudaMemcpy3DParms params_of(const CopyWork& c) {
    cudaMemcpy3DParms p{};
    p.srcPtr = {reinterpret_cast<void*>(c.source.address), c.source.pitch, c.width, c.height};
    p.dstPtr = {reinterpret_cast<void*>(c.target.address), c.target.pitch, c.width, c.height};
    p.extent = {c.width, c.height, c.depth};
    p.kind = c.kind;
    return p;
}

Work flat_copy(void* target, const void* source, size_t count, int kind) {
    Work work;
    work.kind = WorkKind::kCopy;
    work.copy.target = {reinterpret_cast<uint64_t>(target), count, count};
    work.copy.source = {reinterpret_cast<uint64_t>(source), count, count};
    work.copy.width = count;
    work.copy.kind = kind;
    work.copy_params = params_of(work.copy);
    return work;
}

int symbol_address(const void* symbol, size_t offset, size_t count, void** address) {
    int status;
    const Variable* v = find_variable(symbol, &status);
    if (!v) return status;
    if (offset + count > v->bytes) return cudaErrorInvalidValue;
    *address = reinterpret_cast<void*>(v->address + offset);
    return cudaSuccess;
}

int work_of(const cudaGraphNodeParams& p, Work* work) {
    switch (WorkKind(p.type)) {
    case WorkKind::kKernel: return work_of(p.body.kernel, work);
    case WorkKind::kCopy: return work_of(p.body.memcpy.copyParams, work);
    case WorkKind::kSet: return work_of(p.body.memset, work);
    case WorkKind::kHost: return work_of(p.body.host, work);
    case WorkKind::kWaitEvent:
    case WorkKind::kRecordEvent:
        if (!is_event(p.body.eventRecord.event)) return cudaErrorInvalidResourceHandle;
        *work = Work();
        work->kind = WorkKind(p.type);
        work->event = p.body.eventRecord.event;
        return cudaSuccess;
    default: return cudaErrorNotSupported;
    }
}
