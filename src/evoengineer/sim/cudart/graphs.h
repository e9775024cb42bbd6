// Graphs: nodes of work with dependencies, kept in the client and replayed as ordinary commands.
#pragma once
#include <memory>

#include "streams.h"
#include "user_objects.h"

struct GraphNode {
    Graph* graph;
    Work work;
    std::vector<GraphNode*> dependencies;
    std::vector<void*> arguments;     // for cudaGraphKernelNodeGetParams: pointers into work.kernel.params
    GraphNode* original = nullptr;    // in a clone: the node it was made from
};

struct Graph {
    std::vector<std::unique_ptr<GraphNode>> nodes;  // in order of creation
    std::vector<void*> allocations;                 // of memory allocation nodes
    std::vector<UserReference> user_objects;
};

struct GraphExec {
    struct Step { Work work; GraphNode* node; bool enabled; std::vector<size_t> after; };
    std::vector<Step> steps;  // in an order that respects the dependencies; `after` are places of earlier steps
    unsigned long long flags;
    std::vector<UserReference> user_objects;
};

bool is_graph(const Graph* graph);
bool is_node(const GraphNode* node);
void forget_node(const GraphNode* node);
Graph* new_graph();
void delete_graph(Graph* graph);
GraphNode* add_node(Graph* graph, const Work& work, const std::vector<GraphNode*>& dependencies);
// Nodes in an order that respects dependencies; empty if there is a cycle.
bool ordered(const Graph* graph, std::vector<GraphNode*>* order);
Graph* clone_graph(const Graph* graph);
int execute_graph(const Graph* graph, cudaStream_t stream);
std::vector<GraphExec::Step> steps_of(const std::vector<GraphNode*>& order);
// The work of those that are enabled, with nothing but their dependencies between them.
int execute_steps(const std::vector<GraphExec::Step>& steps, cudaStream_t stream);

// Checks and conversion of node parameters, shared by nodes, executable graphs and capture.
int work_of(const cudaKernelNodeParams& params, Work* work);
int work_of(const cudaMemcpy3DParms& params, Work* work);
int work_of(const cudaMemsetParams& params, Work* work);
int work_of(const cudaHostNodeParams& params, Work* work);
int copy_of(const cudaMemcpy3DParms& params, CopyWork* copy);
cudaMemcpy3DParms params_of(const CopyWork& copy);
Work flat_copy(void* target, const void* source, size_t count, int kind);
int symbol_address(const void* symbol, size_t offset, size_t count, void** address);
// Work from the general parameter struct; kinds that carry state of their own (graphs, memory) are refused.
int work_of(const cudaGraphNodeParams& params, Work* work);
