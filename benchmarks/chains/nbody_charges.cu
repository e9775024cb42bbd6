// Forces between moving charges, as a matrix of all pairs (blocks of 16 x 16), its rows summed up (blocks of 256, in
// shared memory), or both at once with tiles of 256 charges in shared memory. SIZE is the number of charges.
#include "common.h"

constexpr int kTile = 256;
constexpr float kElectric = 8.9875517e9f, kMagnetic = 1e-7f, kSoft = 1e-12f;

struct Charges {
    const float *x, *y, *z, *vx, *vy, *vz, *q;
};

__device__ float3 minus(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__device__ float3 plus(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__device__ float3 times(float a, float3 v) { return make_float3(a * v.x, a * v.y, a * v.z); }
__device__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

// On a charge with place, speed and size p, v, q, by another one.
__device__ float3 force(float3 p, float3 v, float q, float3 other_p, float3 other_v, float other_q) {
    const float3 apart = minus(p, other_p);
    const float inverse = rsqrtf(dot(apart, apart) + kSoft), cubed = inverse * inverse * inverse;
    const float3 electric = times(kElectric * other_q * q * cubed, apart);
    const float3 turned = minus(times(dot(v, apart), other_v), times(dot(v, other_v), apart));
    return plus(electric, times(kMagnetic * other_q * q * cubed, turned));
}

__global__ void pairs(const Charges charges, float4* forces, size_t n) {
    const size_t first_x = threadIdx.x + blockDim.x * blockIdx.x, first_y = threadIdx.y + blockDim.y * blockIdx.y;
    const size_t step_x = blockDim.x * gridDim.x, step_y = blockDim.y * gridDim.y;
    for (size_t y = first_y; y < n; y += step_y) {
        const float3 p = make_float3(charges.x[y], charges.y[y], charges.z[y]);
        const float3 v = make_float3(charges.vx[y], charges.vy[y], charges.vz[y]);
        const float q = charges.q[y];
        for (size_t x = first_x; x < n; x += step_x) {
            if (x == y) {
                forces[y * n + x] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
                continue;
            }
            const float3 f = force(p, v, q, make_float3(charges.x[x], charges.y[x], charges.z[x]),
                                   make_float3(charges.vx[x], charges.vy[x], charges.vz[x]), charges.q[x]);
            forces[y * n + x] = make_float4(f.x, f.y, f.z, 0.0f);
        }
    }
}

__global__ void row_sums(const float4* forces, float4* sums, size_t n) {
    extern __shared__ float4 parts[];
    const size_t row = blockIdx.x, thread = threadIdx.x, threads = blockDim.x;
    if (row >= n) return;
    float4 own = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (size_t i = thread; i < n; i += threads) {
        const float4 f = forces[row * n + i];
        own.x += f.x;
        own.y += f.y;
        own.z += f.z;
    }
    parts[thread] = own;
    __syncthreads();
    for (size_t distance = threads / 2; distance > 0; distance >>= 1) {
        if (thread < distance) {
            parts[thread].x += parts[thread + distance].x;
            parts[thread].y += parts[thread + distance].y;
            parts[thread].z += parts[thread + distance].z;
        }
        __syncthreads();
    }
    if (thread == 0) sums[row] = parts[0];
}

__global__ void tiled(const Charges charges, float4* sums, size_t n) {
    __shared__ float x[kTile], y[kTile], z[kTile], vx[kTile], vy[kTile], vz[kTile], q[kTile];
    const size_t i = blockIdx.x * blockDim.x + threadIdx.x, thread = threadIdx.x;
    float3 sum = make_float3(0.0f, 0.0f, 0.0f);
    if (i >= n) return;
    const float3 own_p = make_float3(charges.x[i], charges.y[i], charges.z[i]);
    const float3 own_v = make_float3(charges.vx[i], charges.vy[i], charges.vz[i]);
    const float own_q = charges.q[i];
    for (size_t start = 0; start < n; start += kTile) {
        const size_t from = start + thread;
        if (from < n) {
            x[thread] = charges.x[from];
            y[thread] = charges.y[from];
            z[thread] = charges.z[from];
            vx[thread] = charges.vx[from];
            vy[thread] = charges.vy[from];
            vz[thread] = charges.vz[from];
            q[thread] = charges.q[from];
        }
        __syncthreads();
        const size_t end = min(start + kTile, n);
        for (size_t j = start; j < end; ++j) {
            const size_t at = j - start;
            if (i == j) continue;
            sum = plus(sum, force(own_p, own_v, own_q, make_float3(x[at], y[at], z[at]), make_float3(vx[at], vy[at], vz[at]), q[at]));
        }
        __syncthreads();
    }
    sums[i] = make_float4(sum.x, sum.y, sum.z, 0.0f);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096}, {256});
    const size_t n = run.size(0);
    chain::Array<float> values[7] = {chain::Array<float>(n), chain::Array<float>(n), chain::Array<float>(n), chain::Array<float>(n),
                                     chain::Array<float>(n), chain::Array<float>(n), chain::Array<float>(n)};
    for (int i = 0; i < 7; ++i) values[i].fill([&](size_t at) { return chain::pattern(at, i + 1); });
    const Charges charges{values[0], values[1], values[2], values[3], values[4], values[5], values[6]};
    chain::Array<float> forces(4 * n * n), sums(4 * n);
    std::vector<float> expected, expected_sums(4 * n);
    if (run.verify) {
        for (size_t i = 0; i < n; ++i)
            for (size_t j = 0; j < n; ++j) {
                double apart[3], v_apart = 0.0, v_v = 0.0, square = kSoft;
                for (int axis = 0; axis < 3; ++axis) {
                    apart[axis] = double(values[axis].host[i]) - values[axis].host[j];
                    square += apart[axis] * apart[axis];
                    v_apart += values[3 + axis].host[i] * apart[axis];
                    v_v += double(values[3 + axis].host[i]) * values[3 + axis].host[j];
                }
                const double cubed = std::pow(square, -1.5), both = double(values[6].host[i]) * values[6].host[j];
                for (int axis = 0; axis < 4; ++axis) {
                    const double f = i == j || axis == 3 ? 0.0 : kElectric * both * cubed * apart[axis] +
                        kMagnetic * both * cubed * (v_apart * values[3 + axis].host[j] - v_v * apart[axis]);
                    expected.push_back(float(f));
                    expected_sums[4 * i + axis] += float(f);
                }
            }
    }
    auto prepare = [&] { if (run.verify) { chain::poison(sums); } };
    auto check_sums = [&] { return chain::close(sums, expected_sums, 1e-3, 1e12); };
    float4 *matrix = reinterpret_cast<float4*>(forces.data), *rows = reinterpret_cast<float4*>(sums.data);
    auto all_pairs = [&] { pairs<<<dim3(chain::ceil_div(n, 16), chain::ceil_div(n, 16)), dim3(16, 16)>>>(charges, matrix, n); };
    run.variant("pairs", all_pairs, [&] { return chain::close(forces, expected, 1e-3, 1e9); }, prepare);
    run.variant("row_sums", [&] { row_sums<<<n, 256, 256 * sizeof(float4)>>>(matrix, rows, n); }, check_sums,
                [&] { prepare(); if (run.verify) all_pairs(); });
    run.variant("tiled", [&] { tiled<<<chain::ceil_div(n, 256), 256>>>(charges, rows, n); }, check_sums, prepare);
    return run.finish();
}
