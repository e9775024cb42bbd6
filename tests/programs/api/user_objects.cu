// User objects live as long as the last graph, clone or executable graph that holds them.
#include "check.h"

void CUDART_CB destroy(void* calls) { ++*static_cast<int*>(calls); }

int main() {
    int calls = 0;
    cudaUserObject_t object;
    CHECK(cudaUserObjectCreate(&object, &calls, destroy, 2, cudaUserObjectNoDestructorSync));
    EXPECT_ERROR(cudaUserObjectCreate(&object, &calls, nullptr, 1, cudaUserObjectNoDestructorSync), cudaErrorInvalidValue);
    cudaGraph_t graph, clone;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    CHECK(cudaGraphRetainUserObject(graph, object, 2, 0));
    CHECK(cudaGraphReleaseUserObject(graph, object, 2));
    EXPECT_ERROR(cudaGraphReleaseUserObject(graph, object, 2), cudaErrorInvalidValue);
    CHECK(cudaUserObjectRelease(object, 1));
    cudaGraphNode_t node;
    CHECK(cudaGraphAddEmptyNode(&node, graph, nullptr, 0));
    CHECK(cudaGraphClone(&clone, graph));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(clone));
    CHECK(cudaGraphLaunch(exec, 0));
    EXPECT_EQ(calls, 0);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaDeviceSynchronize());
    EXPECT_EQ(calls, 1);
    EXPECT_ERROR(cudaUserObjectRetain(object, 1), cudaErrorInvalidValue);

    CHECK(cudaUserObjectCreate(&object, &calls, destroy, 1, cudaUserObjectNoDestructorSync));
    CHECK(cudaUserObjectRetain(object, 2));
    CHECK(cudaUserObjectRelease(object, 3));
    EXPECT_EQ(calls, 2);
    return pass();
}
