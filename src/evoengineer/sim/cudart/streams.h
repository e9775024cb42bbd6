// Streams and events, with what stream capture needs to know about them.
#pragma once
#include "operations.h"

struct Capture;

struct Stream {
    uint32_t number;
    unsigned flags = 0;
    int priority = 0;
    Capture* capture = nullptr;
    std::vector<GraphNode*> tails;  // while captured: what the next operation depends on
};

struct Event {
    uint32_t number;
    unsigned flags = 0;
    bool recorded = false;
    Capture* capture = nullptr;     // recorded in a stream that is being captured
    std::vector<GraphNode*> tails;
};

struct Capture {
    Graph* graph;
    Stream* origin;
    int mode;
    unsigned long long id;
    bool owns_graph = true;
    bool invalid = false;
    std::vector<Stream*> streams;  // the origin and those that joined through events
};

// Null, cudaStreamLegacy and cudaStreamPerThread are streams too. Null if the handle is not one.
Stream* stream_of(cudaStream_t handle);
bool is_event(cudaEvent_t event);
Stream* new_stream(unsigned flags);
Event* new_event(unsigned flags);
// A capture that forbids calls that would touch the legacy stream (global or thread-local mode).
Capture* active_capture();
void end_of_capture(Capture* capture);
GraphNode* add_captured(Stream* stream, const Work& work);
void forget_streams();
