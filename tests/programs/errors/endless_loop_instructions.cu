// A loop whose end never comes, stopped by the instruction budget.
// args: --max-instructions 2000000
// expect-exit: nonzero
// expect: Instruction budget exceeded
// expect: converge\(.*endless_loop_instructions\.cu:(@fault|@step)\b
// expect: more than 2000000 instructions of warps
// expect-stdout: ^code 702 cudaErrorLaunchTimeout$
#include "report.h"

__global__ void converge(unsigned* data, unsigned goal) {
    unsigned v = threadIdx.x * 2;
    while (v != goal) {  // @fault
        v = v * 5 + 4;   // @step
    }
    data[threadIdx.x] = v;
}

int main() {
    unsigned* d;
    cudaMalloc(&d, 32 * sizeof(unsigned));
    converge<<<1, 32>>>(d, 1);
    return report();
}
