// Host code reads through a device pointer: the program dies as it would with a GPU, with a reason.
// expect-exit: nonzero
// expect: [Hh]ost .*device (pointer|memory).* 0x3[0-9a-f]+
// expect: of (size )?400\b
// expect-stdout: ^before$
#include "report.h"

int main() {
    int* d;
    cudaMalloc(&d, 100 * sizeof(int));
    cudaMemset(d, 0, 100 * sizeof(int));
    printf("before\n");
    fflush(stdout);
    volatile int* p = d + 10;
    int v = *p;
    printf("after %d\n", v);
    return 0;
}
