// A step of bodies that attract and, when close, bounce off one another: with a kernel for each of the two and one
// that moves them, with all in one kernel, and with blocks that share what they load. SIZE is the number of bodies, a
// multiple of 512. Bodies are given in every run: how near they are decides what is computed.
#include "common.h"

#include <cfloat>

constexpr int kThreads = 512;
constexpr float kGravity = 6.67384e-11f, kClose = 0.01f, kStep = 0.01f;

struct Bodies {
    float *x, *y, *z, *u, *v, *w, *mass;
};

__global__ void attract(Bodies p, float* du, float* dv, float* dw, unsigned n) {
    const unsigned i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    const float x = p.x[i], y = p.y[i], z = p.z[i];
    float u = 0.0f, v = 0.0f, w = 0.0f;
    for (unsigned j = 0; j < n; ++j) {
        const float dx = p.x[j] - x, dy = p.y[j] - y, dz = p.z[j] - z;
        const float distance = sqrtf(dx * dx + dy * dy + dz * dz) + FLT_MIN;
        if (distance > kClose) {
            const float pull = kGravity * kStep * p.mass[j] / (distance * distance * distance);
            u += dx * pull;
            v += dy * pull;
            w += dz * pull;
        }
    }
    du[i] = u;
    dv[i] = v;
    dw[i] = w;
}

__device__ float bounced(float own, float other, float mass, float other_mass, float part) {
    return (own * (mass - other_mass) + 2.0f * other_mass * other) * part - own;
}

__global__ void bounce(Bodies p, float* du, float* dv, float* dw, unsigned n) {
    const unsigned i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    const float x = p.x[i], y = p.y[i], z = p.z[i], u = p.u[i], v = p.v[i], w = p.w[i], mass = p.mass[i];
    for (unsigned j = 0; j < n; ++j) {
        const float dx = p.x[j] - x, dy = p.y[j] - y, dz = p.z[j] - z;
        const float distance = sqrtf(dx * dx + dy * dy + dz * dz);
        if (distance > 0.0f && distance < kClose) {
            const float other = p.mass[j], part = 1.0f / (mass + other);
            du[i] += bounced(u, p.u[j], mass, other, part);
            dv[i] += bounced(v, p.v[j], mass, other, part);
            dw[i] += bounced(w, p.w[j], mass, other, part);
        }
    }
}

__global__ void move(Bodies p, Bodies next, const float* du, const float* dv, const float* dw, unsigned n) {
    const unsigned i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    const float u = p.u[i] + du[i], v = p.v[i] + dv[i], w = p.w[i] + dw[i];
    next.u[i] = u;
    next.v[i] = v;
    next.w[i] = w;
    next.x[i] = p.x[i] + u * kStep;
    next.y[i] = p.y[i] + v * kStep;
    next.z[i] = p.z[i] + w * kStep;
}

// What one body does to another, pulls and bounces apart.
struct Change {
    float pull_u = 0.0f, pull_v = 0.0f, pull_w = 0.0f, u = 0.0f, v = 0.0f, w = 0.0f;

    __device__ void write(Bodies p, Bodies next, unsigned i) const {
        const float per_mass = kStep / p.mass[i];
        const float new_u = p.u[i] + (pull_u * per_mass + u), new_v = p.v[i] + (pull_v * per_mass + v);
        const float new_w = p.w[i] + (pull_w * per_mass + w);
        next.x[i] = p.x[i] + new_u * kStep;
        next.y[i] = p.y[i] + new_v * kStep;
        next.z[i] = p.z[i] + new_w * kStep;
        next.u[i] = new_u;
        next.v[i] = new_v;
        next.w[i] = new_w;
    }
};

__global__ void merged(Bodies p, Bodies next, unsigned n) {
    const unsigned i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    const float x = p.x[i], y = p.y[i], z = p.z[i], u = p.u[i], v = p.v[i], w = p.w[i], mass = p.mass[i];
    Change change;
    for (unsigned j = 0; j < n; ++j) {
        const float dx = p.x[j] - x, dy = p.y[j] - y, dz = p.z[j] - z;
        const float distance = sqrtf(dx * dx + dy * dy + dz * dz);
        if (distance > kClose) {
            const float pull = kGravity * mass * p.mass[j] / (distance * distance * distance);
            change.pull_u += dx * pull;
            change.pull_v += dy * pull;
            change.pull_w += dz * pull;
        } else if (distance < kClose && distance > 0.0f) {
            const float other = p.mass[j], part = 1.0f / (mass + other);
            change.u += bounced(u, p.u[j], mass, other, part);
            change.v += bounced(v, p.v[j], mass, other, part);
            change.w += bounced(w, p.w[j], mass, other, part);
        }
    }
    change.write(p, next, i);
}

__global__ void tiled(Bodies p, Bodies next, unsigned n) {
    __shared__ float xs[kThreads], ys[kThreads], zs[kThreads], us[kThreads], vs[kThreads], ws[kThreads], masses[kThreads];
    const unsigned i = blockDim.x * blockIdx.x + threadIdx.x, tid = threadIdx.x;
    const float x = p.x[i], y = p.y[i], z = p.z[i], u = p.u[i], v = p.v[i], w = p.w[i], mass = p.mass[i];
    Change change;
    for (unsigned first = 0; first < n; first += kThreads) {
        xs[tid] = p.x[first + tid];
        ys[tid] = p.y[first + tid];
        zs[tid] = p.z[first + tid];
        us[tid] = p.u[first + tid];
        vs[tid] = p.v[first + tid];
        ws[tid] = p.w[first + tid];
        masses[tid] = p.mass[first + tid];
        __syncthreads();
        for (unsigned j = 0; j < kThreads; ++j) {
            const float dx = xs[j] - x, dy = ys[j] - y, dz = zs[j] - z, other = masses[j];
            const float square = dx * dx + dy * dy + dz * dz, distance = sqrtf(square);
            const float force = kGravity * mass * other / square + FLT_MIN;
            if (distance + FLT_MIN > kClose) {
                const float pull = force / distance;
                change.pull_u += dx * pull;
                change.pull_v += dy * pull;
                change.pull_w += dz * pull;
            } else if (distance < kClose && distance > 0.0f) {
                const float part = 1.0f / (mass + other);
                change.u += bounced(u, us[j], mass, other, part);
                change.v += bounced(v, vs[j], mass, other, part);
                change.w += bounced(w, ws[j], mass, other, part);
            }
        }
        __syncthreads();
    }
    change.write(p, next, i);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {53248}, {512});
    const unsigned n = static_cast<unsigned>(run.size(0));
    chain::Array<float> state(7 * size_t(n)), result(7 * size_t(n)), change(3 * size_t(n));
    auto bodies = [n](float* s) {
        return Bodies{s, s + n, s + 2 * size_t(n), s + 3 * size_t(n), s + 4 * size_t(n), s + 5 * size_t(n), s + 6 * size_t(n)};
    };
    const float mass = run.verify ? 1e9f : 1.0f;
    state.fill([&](size_t i) { return i / n == 6 ? mass : chain::pattern(i % n, static_cast<unsigned>(i / n) + 1); });
    const Bodies p = bodies(state), next = bodies(result);
    std::vector<float> expected(state.host);
    if (run.verify) {
        const Bodies h = bodies(state.host.data()), e = bodies(expected.data());
        for (unsigned i = 0; i < n; ++i) {
            double u = 0.0, v = 0.0, w = 0.0;
            for (unsigned j = 0; j < n; ++j) {
                const double dx = h.x[j] - h.x[i], dy = h.y[j] - h.y[i], dz = h.z[j] - h.z[i];
                const double distance = std::sqrt(dx * dx + dy * dy + dz * dz);
                if (distance > kClose) {
                    const double pull = double(kGravity) * kStep * mass / (distance * distance * distance);
                    u += dx * pull;
                    v += dy * pull;
                    w += dz * pull;
                } else if (distance > 0.0) {  // equal masses exchange their velocities
                    u += h.u[j] - h.u[i];
                    v += h.v[j] - h.v[i];
                    w += h.w[j] - h.w[i];
                }
            }
            e.u[i] += static_cast<float>(u);
            e.v[i] += static_cast<float>(v);
            e.w[i] += static_cast<float>(w);
            e.x[i] += e.u[i] * kStep;
            e.y[i] += e.v[i] * kStep;
            e.z[i] += e.w[i] * kStep;
        }
    }
    auto prepare = [&] { if (run.verify) result.host = state.host, result.upload(); };
    auto check = [&] { return chain::close(result, expected, 1e-3); };
    const unsigned blocks = n / kThreads;
    float *du = change.data, *dv = du + n, *dw = dv + n;
    run.variant("separate", [&] { attract<<<blocks, kThreads>>>(p, du, dv, dw, n);
                                  bounce<<<blocks, kThreads>>>(p, du, dv, dw, n);
                                  move<<<blocks, kThreads>>>(p, next, du, dv, dw, n); }, check, prepare);
    run.variant("merged", [&] { merged<<<blocks, kThreads>>>(p, next, n); }, check, prepare);
    run.variant("tiled", [&] { tiled<<<blocks, kThreads>>>(p, next, n); }, check, prepare);
    return run.finish();
}
