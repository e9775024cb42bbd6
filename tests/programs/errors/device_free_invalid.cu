// free() in a kernel of a pointer that malloc() did not return.
// expect-exit: nonzero
// expect: [Ii]nvalid.*free|free.*[Ii]nvalid
// expect: release\(.*device_free_invalid\.cu:@fault\b
// expect: thread \(0,0,0\) in block \(0,0,0\)
// expect-stdout: ^code (700|719) 
#include "report.h"

__global__ void release(int* out) {
    char* p = static_cast<char*>(malloc(64));
    if (!p) return;
    p[0] = 1;
    free(p + 8);  // @fault
    out[0] = 1;
}

int main() {
    int* out;
    cudaMalloc(&out, 4);
    release<<<1, 1>>>(out);
    return report();
}
