// The program's arguments, output streams and exit code pass through unchanged.
// argv: first "two words" --threads=9 -- 7
// expect-exit: 7
// expect: ^to stderr$
// expect-stdout: ^PASS$
#include "check.h"

#include <string>

__global__ void twice(int* value) { *value *= 2; }

int main(int argc, char** argv) {
    const char* wanted[] = {"first", "two words", "--threads=9", "--", "7"};
    EXPECT_EQ(argc, 6);
    for (int i = 0; i < 5; i++) EXPECT_EQ(std::string(argv[i + 1]), wanted[i]);
    int *d, code = atoi(argv[5]);
    CHECK(cudaMalloc(&d, sizeof(int)));
    CHECK(cudaMemcpy(d, &code, sizeof(int), cudaMemcpyHostToDevice));
    twice<<<1, 1>>>(d);
    CHECK(cudaMemcpy(&code, d, sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT_EQ(code, 14);
    fprintf(stderr, "to stderr\n");
    pass();
    return code / 2;  // without freeing anything
}
