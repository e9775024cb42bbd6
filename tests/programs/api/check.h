// Shared by the API programs: every check names the file, the line and both values, then ends the
// program with exit code 1. A program that reaches pass() prints PASS and returns 0.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <vector>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        cudaError_t check_code = (call);                                                         \
        if (check_code != cudaSuccess) {                                                         \
            printf("FAIL %s:%d: %s returned %d (%s)\n", __FILE__, __LINE__, #call,               \
                   int(check_code), cudaGetErrorName(check_code));                               \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

#define EXPECT(condition)                                                                        \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            printf("FAIL %s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);            \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

#define EXPECT_EQ(actual, expected)                                                              \
    do {                                                                                         \
        auto expect_actual = (actual);                                                           \
        decltype(expect_actual) expect_wanted = (expected);                                      \
        if (!(expect_actual == expect_wanted)) {                                                 \
            std::cout << "FAIL " << __FILE__ << ":" << __LINE__ << ": " << #actual << " is "     \
                      << expect_actual << ", expected " << expect_wanted << std::endl;           \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

// A call that must fail with exactly this code. The error it leaves behind is cleared.
#define EXPECT_ERROR(call, wanted)                                                               \
    do {                                                                                         \
        cudaError_t expect_code = (call);                                                        \
        if (expect_code != (wanted)) {                                                           \
            printf("FAIL %s:%d: %s returned %d (%s), expected %s\n", __FILE__, __LINE__, #call,  \
                   int(expect_code), cudaGetErrorName(expect_code), #wanted);                    \
            exit(1);                                                                             \
        }                                                                                        \
        cudaGetLastError();                                                                      \
    } while (0)

inline int pass() {
    printf("PASS\n");
    return 0;
}
