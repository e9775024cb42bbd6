// Running a graph: steps that depend on one another, and on nothing else.
//
// A graph without branches is a list of commands for its stream. Of one with branches each goes to a stream that no
// program knows, with events for what the steps depend on, so that the device may carry them out in any order that the
// graph allows. Graphs within graphs go step by step.
#include <map>

#include "graphs.h"

namespace {

constexpr unsigned kNonBlocking = 1, kNoTiming = 2;  // of streams, of events

// Streams and events are kept from launch to launch.
template <class Made> Made* kept(std::vector<Made*>* all, size_t number, Made* (*make)(unsigned), unsigned flags) {
    while (all->size() <= number) all->push_back(make(flags));
    return (*all)[number];
}

cudaStream_t branch(size_t number) {
    static auto* all = new std::vector<Stream*>;
    return kept(all, number, new_stream, kNonBlocking);
}

int with_event(WorkKind kind, size_t number, cudaStream_t stream) {
    static auto* all = new std::vector<Event*>;
    Work work;
    work.kind = kind;
    work.event = kept(all, number, new_event, kNoTiming);
    return execute(work, stream, false);
}

bool in_a_row(const std::vector<GraphExec::Step>& steps) {
    for (size_t i = 1; i < steps.size(); ++i)
        if (steps[i].after != std::vector<size_t>{i - 1}) return false;
    return true;
}

int execute_branches(const std::vector<GraphExec::Step>& steps, cudaStream_t stream) {
    const size_t begin = steps.size();               // number of its event; a step's is its own
    std::vector<cudaStream_t> own(steps.size());
    std::vector<bool> last(steps.size(), true);      // has nobody gone on in its stream?
    size_t branches = 0;
    if (int status = with_event(WorkKind::kRecordEvent, begin, stream)) return status;
    for (size_t i = 0; i < steps.size(); ++i) {
        const auto& step = steps[i];
        for (size_t d : step.after)
            if (last[d] && !own[i]) {
                own[i] = own[d];
                last[d] = false;
            }
        if (!own[i]) own[i] = branch(branches++);
        if (step.after.empty())
            if (int status = with_event(WorkKind::kWaitEvent, begin, own[i])) return status;
        for (size_t d : step.after)
            if (int status = with_event(WorkKind::kWaitEvent, d, own[i])) return status;
        if (step.enabled)
            if (int status = execute(step.work, own[i], false)) return status;
        if (int status = with_event(WorkKind::kRecordEvent, i, own[i])) return status;
    }
    for (size_t i = 0; i < steps.size(); ++i)
        if (last[i])
            if (int status = with_event(WorkKind::kWaitEvent, i, stream)) return status;
    return cudaSuccess;
}

}  // namespace

std::vector<GraphExec::Step> steps_of(const std::vector<GraphNode*>& order) {
    std::map<const GraphNode*, size_t> place;
    std::vector<GraphExec::Step> steps;
    for (GraphNode* node : order) {
        std::vector<size_t> after;
        for (const GraphNode* d : node->dependencies) after.push_back(place[d]);
        place[node] = steps.size();
        steps.push_back({node->work, node, true, after});
    }
    return steps;
}

int execute_steps(const std::vector<GraphExec::Step>& steps, cudaStream_t stream) {
    if (!in_a_row(steps)) return execute_branches(steps, stream);
    for (auto& step : steps)
        if (step.enabled)
            if (int status = execute(step.work, stream, false)) return status;
    return cudaSuccess;
}
