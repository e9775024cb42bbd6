// The yardstick: the same computations as plain C loops, on one core.
//
//   loops NAME RUNS      prints the best time in seconds
//
// Build: gcc -O3 -march=native loops.c -lm
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 512, ROWS = 2048, ADD = 16 << 20, IMAGE = 1024, FILTER = 5 };

static float *a, *b, *c, weights[FILTER * FILTER];

static float element(unsigned i) { return (float)(i * 2654435761u >> 20) / 4096.0f - 0.5f; }

static float* make(size_t n, unsigned salt) {
    float* p = aligned_alloc(64, n * sizeof(float));
    for (size_t i = 0; i < n; ++i) p[i] = element((unsigned)i + salt);
    return p;
}

// Sizes are constants here, which lets gcc interchange and vectorise: the harder yardstick.
static void matmul_ijk(float* restrict z, const float* restrict x, const float* restrict y) {
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
            float sum = 0.0f;
            for (int k = 0; k < N; ++k) sum += x[i * N + k] * y[k * N + j];
            z[i * N + j] = sum;
        }
}

// The size as an argument, as the kernel has it: the compiler then keeps the order of the loops.
static __attribute__((noinline)) void matmul_sized(float* restrict z, const float* restrict x, const float* restrict y, int n) {
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            float sum = 0.0f;
            for (int k = 0; k < n; ++k) sum += x[i * n + k] * y[k * n + j];
            z[i * n + j] = sum;
        }
}

static void matmul_ijk_n(float* restrict z, const float* restrict x, const float* restrict y) {
    static volatile int size = N;
    matmul_sized(z, x, y, size);
}

static void matmul_ikj(float* restrict z, const float* restrict x, const float* restrict y) {
    memset(z, 0, N * N * sizeof(float));
    for (int i = 0; i < N; ++i)
        for (int k = 0; k < N; ++k)
            for (int j = 0; j < N; ++j) z[i * N + j] += x[i * N + k] * y[k * N + j];
}

static void vector_add(float* restrict z, const float* restrict x, const float* restrict y) {
    for (int i = 0; i < ADD; ++i) z[i] = x[i] + y[i];
}

static void softmax(float* restrict z, const float* restrict x, const float* restrict unused) {
    (void)unused;
    for (int row = 0; row < ROWS; ++row) {
        const float* in = x + (size_t)row * ROWS;
        float* out = z + (size_t)row * ROWS;
        float highest = -INFINITY, sum = 0.0f;
        for (int i = 0; i < ROWS; ++i) highest = fmaxf(highest, in[i]);
        for (int i = 0; i < ROWS; ++i) sum += out[i] = expf(in[i] - highest);
        float scale = 1.0f / sum;
        for (int i = 0; i < ROWS; ++i) out[i] *= scale;
    }
}

static void conv2d(float* restrict z, const float* restrict x, const float* restrict unused) {
    (void)unused;
    for (int row = 0; row < IMAGE; ++row)
        for (int column = 0; column < IMAGE; ++column) {
            float sum = 0.0f;
            for (int i = 0; i < FILTER; ++i)
                for (int j = 0; j < FILTER; ++j) {
                    int u = column + j - FILTER / 2, v = row + i - FILTER / 2;
                    if (u >= 0 && u < IMAGE && v >= 0 && v < IMAGE) sum += x[v * IMAGE + u] * weights[i * FILTER + j];
                }
            z[row * IMAGE + column] = sum;
        }
}

typedef void (*Loop)(float*, const float*, const float*);
static const struct { const char* name; Loop loop; size_t elements; } loops[] = {
    {"matmul_ijk", matmul_ijk, N * N},        {"matmul_ikj", matmul_ikj, N * N},
    {"matmul_ijk_n", matmul_ijk_n, N * N},    {"vector_add", vector_add, ADD},
    {"softmax", softmax, (size_t)ROWS * ROWS}, {"conv2d", conv2d, IMAGE * IMAGE},
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv) {
    int runs = argc > 2 ? atoi(argv[2]) : 3;
    for (size_t which = 0; which < sizeof loops / sizeof loops[0]; ++which) {
        if (argc < 2 || strcmp(argv[1], loops[which].name)) continue;
        a = make(loops[which].elements, 0);
        b = make(loops[which].elements, 12345);
        c = make(loops[which].elements, 7);
        for (int i = 0; i < FILTER * FILTER; ++i) weights[i] = element((unsigned)i * 31);
        double best = INFINITY, sink = 0.0;
        for (int run = 0; run < runs; ++run) {
            double start = now();
            loops[which].loop(c, a, b);
            double took = now() - start;
            best = took < best ? took : best;
            sink += c[run * 131];
        }
        fprintf(stderr, "# %g\n", sink);  // keeps the work from being optimised away
        printf("%.6f\n", best);
        return 0;
    }
    fprintf(stderr, "unknown loop '%s'\n", argc > 1 ? argv[1] : "");
    return 2;
}
