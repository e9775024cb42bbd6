#include "user_objects.h"

#include <algorithm>
#include <set>

#include "graphs.h"

struct UserObject {
    void* pointer;
    void (*destroy)(void*);
    uint64_t references;
};

namespace {

constexpr unsigned kMostReferences = 0x7fffffff;
constexpr unsigned kNoDestructorSync = 1;  // the one flag of cudaUserObjectCreate, and it must be given
constexpr unsigned kMove = 1;              // of cudaGraphRetainUserObject: the caller's references become the graph's

std::set<const UserObject*>& objects() {
    static auto* all = new std::set<const UserObject*>;
    return *all;
}

bool counts(const UserObject* object, unsigned count) {
    return objects().count(object) && count > 0 && count <= kMostReferences;
}

void release(UserObject* object, uint64_t count) {
    object->references -= count;
    if (object->references) return;
    synchronize();  // work of a graph that has gone may still use it
    objects().erase(object);
    object->destroy(object->pointer);
    delete object;
}

}  // namespace

UserReference::UserReference(UserObject* object) : object_(object) { ++object_->references; }

UserReference::~UserReference() {
    if (object_) release(object_, 1);
}

API cudaError_t cudaUserObjectCreate(UserObject** result, void* pointer, void (*destroy)(void*), unsigned count,
                                     unsigned flags) {
    ENTER();
    if (!result || !destroy || count == 0 || count > kMostReferences || flags != kNoDestructorSync)
        return done(cudaErrorInvalidValue);
    *result = new UserObject{pointer, destroy, count};
    objects().insert(*result);
    return cudaSuccess;
}

API cudaError_t cudaUserObjectRetain(UserObject* object, unsigned count) {
    ENTER();
    if (!counts(object, count)) return done(cudaErrorInvalidValue);
    object->references += count;
    return cudaSuccess;
}

API cudaError_t cudaUserObjectRelease(UserObject* object, unsigned count) {
    ENTER();
    if (!counts(object, count) || count > object->references) return done(cudaErrorInvalidValue);
    release(object, count);
    return cudaSuccess;
}

API cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, UserObject* object, unsigned count, unsigned flags) {
    ENTER();
    if (!is_graph(graph) || !counts(object, count) || (flags & ~kMove)) return done(cudaErrorInvalidValue);
    for (unsigned i = 0; i < count; ++i) graph->user_objects.emplace_back(object);
    if (flags & kMove) release(object, count);
    return cudaSuccess;
}

API cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, UserObject* object, unsigned count) {
    ENTER();
    if (!is_graph(graph) || !counts(object, count)) return done(cudaErrorInvalidValue);
    auto& held = graph->user_objects;
    auto theirs = [&](const UserReference& each) { return each.refers_to(object); };
    if (std::count_if(held.begin(), held.end(), theirs) < count) return done(cudaErrorInvalidValue);
    for (unsigned i = 0; i < count; ++i) held.erase(std::find_if(held.begin(), held.end(), theirs));
    return cudaSuccess;
}
