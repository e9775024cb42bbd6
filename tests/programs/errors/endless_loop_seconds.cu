// A flag that nobody will ever set, or a count that never comes up, stopped by the time limit.
// args: --max-seconds 2
// expect-exit: nonzero
// expect: Time limit exceeded
// expect: wait_for\(.*endless_loop_seconds\.cu:@fault\b
// expect: thread \(\d+,0,0\) in block \(0,0,0\)
// expect-stdout: ^code 702 cudaErrorLaunchTimeout$
#include "report.h"

__global__ void wait_for(volatile int* flag, int step, int end) {
    for (int i = 0; *flag == 0 && i != end; i += step) {}  // @fault
}

int main() {
    int* flag;
    cudaMalloc(&flag, sizeof(int));
    cudaMemset(flag, 0, sizeof(int));
    wait_for<<<1, 1>>>(flag, 2, 1);
    return report();
}
