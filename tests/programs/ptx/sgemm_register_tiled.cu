// A large unrolled kernel: sgemm with 64x64 block tiles and 8x8 results per thread, vector loads, edges.
#include "../check.h"

const int TILE = 64, DEPTH = 8, PER_THREAD = 8;

__global__ __launch_bounds__(64) void sgemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K, float alpha, float beta) {
    __shared__ float As[DEPTH][TILE], Bs[DEPTH][TILE];
    int t = threadIdx.x, tx = t % 8, ty = t / 8, row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
    float sums[PER_THREAD][PER_THREAD] = {};
    for (int k0 = 0; k0 < K; k0 += DEPTH) {
        int row = row0 + t;
        float4 low = make_float4(0, 0, 0, 0), high = low;
        if (row < M) {
            low = *reinterpret_cast<const float4*>(&A[row * K + k0]);
            high = *reinterpret_cast<const float4*>(&A[row * K + k0 + 4]);
        }
        As[0][t] = low.x, As[1][t] = low.y, As[2][t] = low.z, As[3][t] = low.w;
        As[4][t] = high.x, As[5][t] = high.y, As[6][t] = high.z, As[7][t] = high.w;
#pragma unroll
        for (int k = 0; k < DEPTH; k++) Bs[k][t] = column0 + t < N ? B[(k0 + k) * N + column0 + t] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            float a[PER_THREAD], b[PER_THREAD];
#pragma unroll
            for (int i = 0; i < PER_THREAD; i += 4) {
                *reinterpret_cast<float4*>(&a[i]) = *reinterpret_cast<const float4*>(&As[k][ty * 8 + i]);
                *reinterpret_cast<float4*>(&b[i]) = *reinterpret_cast<const float4*>(&Bs[k][tx * 8 + i]);
            }
#pragma unroll
            for (int i = 0; i < PER_THREAD; i++) {
#pragma unroll
                for (int j = 0; j < PER_THREAD; j++) sums[i][j] += a[i] * b[j];
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < PER_THREAD; i++) {
#pragma unroll
        for (int j = 0; j < PER_THREAD; j++) {
            int row = row0 + ty * 8 + i, column = column0 + tx * 8 + j;
            if (row < M && column < N) C[row * N + column] = alpha * sums[i][j] + beta * C[row * N + column];
        }
    }
}

void check(int M, int N, int K) {
    Random random(63);
    std::vector<float> a(M * K), b(K * N), c(M * N);
    for (auto* v : {&a, &b, &c}) for (float& x : *v) x = float(random.range(-1, 1));
    Buffer<float> da(a), db(b), dc(c);
    sgemm<<<dim3((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), 64>>>(da, db, dc, M, N, K, 1.5f, -0.5f);
    auto got = dc.host();
    for (int i = 0; i < M * N; i++) {
        double sum = 0;
        for (int k = 0; k < K; k++) sum += double(a[i / N * K + k]) * b[k * N + i % N];
        expect_near("sgemm", i, 1.5 * sum - 0.5 * c[i], got[i], 1e-5, 1e-5);
    }
}

int main() {
    check(64, 64, 32);
    check(100, 70, 24);
    check(1, 129, 16);
    return passed();
}
