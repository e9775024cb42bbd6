// The shape of graphs: nodes, edges, dependencies.
#include <stdio.h>

#include <algorithm>

#include "graphs.h"

namespace {

using Nodes = const cudaGraphNode_t*;

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

API cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned) {
    ENTER();
    FILE* file = is_graph(graph) && path ? fopen(path, "w") : nullptr;
    if (!file) return done(cudaErrorInvalidValue);
    static const char* const kinds[] = {"kernel", "memcpy", "memset", "host",  "graph", "empty",
                                        "wait",   "record", "?",      "?",     "alloc", "free"};
    fprintf(file, "digraph graph_ {\n");
    for (size_t i = 0; i < graph->nodes.size(); ++i) {
        const GraphNode* node = graph->nodes[i].get();
        const char* name = node->work.kind == WorkKind::kKernel ? node->work.kernel.kernel->name.c_str()
                                                                : kinds[int(node->work.kind)];
        fprintf(file, "  \"%p\" [label=\"%zu %s\"];\n", (const void*)node, i, name);
        for (const GraphNode* d : node->dependencies)
            fprintf(file, "  \"%p\" -> \"%p\";\n", (const void*)d, (const void*)node);
    }
    fprintf(file, "}\n");
    fclose(file);
    return cudaSuccess;
}
