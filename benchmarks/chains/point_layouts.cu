// Points in space, scaled in place, one per thread of blocks of 256: as an array of structures or as three arrays, all
// of their coordinates or the first one only. SIZE is the number of points.
#include "common.h"

struct Point {
    float x, y, z;
};

__global__ void structs_all(Point* __restrict__ points, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Point point = points[i];
    point.x *= by;
    point.y *= by;
    point.z *= by;
    points[i] = point;
}

__global__ void arrays_all(float* __restrict__ x, float* __restrict__ y, float* __restrict__ z, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    x[i] *= by;
    y[i] *= by;
    z[i] *= by;
}

__global__ void structs_one(Point* __restrict__ points, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) points[i].x *= by;
}

__global__ void arrays_one(float* __restrict__ x, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 24}, {1000});
    const int n = static_cast<int>(run.size(0)), blocks = chain::ceil_div(n, 256);
    const float by = 0.5f;
    chain::Array<float> packed(3 * size_t(n)), x(n), y(n), z(n);
    Point* const points = reinterpret_cast<Point*>(packed.data);
    auto value = [](size_t point, int axis) { return chain::pattern(3 * point + axis, 1); };
    auto prepare = [&] {
        if (!run.verify) return;
        packed.fill([&](size_t i) { return value(i / 3, int(i % 3)); });
        x.fill([&](size_t i) { return value(i, 0); });
        y.fill([&](size_t i) { return value(i, 1); });
        z.fill([&](size_t i) { return value(i, 2); });
    };
    // What the points or one of the arrays hold afterwards, if that many coordinates were scaled.
    auto packed_right = [&](int scaled) {
        std::vector<float> expected;
        for (int i = 0; i < 3 * n; ++i) expected.push_back(value(i / 3, i % 3) * (i % 3 < scaled ? by : 1.0f));
        return chain::close(packed, expected, 0.0);
    };
    auto array_right = [&](const chain::Array<float>& array, int axis) {
        std::vector<float> expected;
        for (int i = 0; i < n; ++i) expected.push_back(value(i, axis) * by);
        return chain::close(array, expected, 0.0);
    };
    run.variant("structs_all", [&] { structs_all<<<blocks, 256>>>(points, by, n); }, [&] { return packed_right(3); }, prepare);
    run.variant("arrays_all", [&] { arrays_all<<<blocks, 256>>>(x, y, z, by, n); },
                [&] { return array_right(x, 0) && array_right(y, 1) && array_right(z, 2); }, prepare);
    run.variant("structs_one", [&] { structs_one<<<blocks, 256>>>(points, by, n); }, [&] { return packed_right(1); }, prepare);
    run.variant("arrays_one", [&] { arrays_one<<<blocks, 256>>>(x, by, n); }, [&] { return array_right(x, 0); }, prepare);
    return run.finish();
}
