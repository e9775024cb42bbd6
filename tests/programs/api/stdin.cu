// Standard input reaches the program.
// stdin: 4 10 20 30 40
// expect-stdout: ^100$
#include "check.h"

__global__ void sum(const int* in, int n, int* out) {
    int total = 0;
    for (int i = 0; i < n; i++) total += in[i];
    *out = total;
}

int main() {
    int n = 0;
    EXPECT_EQ(scanf("%d", &n), 1);
    EXPECT_EQ(n, 4);
    int *values, *total;
    CHECK(cudaMallocManaged(&values, n * sizeof(int)));
    CHECK(cudaMallocManaged(&total, sizeof(int)));
    for (int i = 0; i < n; i++) EXPECT_EQ(scanf("%d", &values[i]), 1);
    sum<<<1, 1>>>(values, n, total);
    CHECK(cudaDeviceSynchronize());
    printf("%d\n", *total);
    return pass();
}
