// CUDA arrays of one and two dimensions: create, describe, copy in, across and out.
#include "check.h"

int main() {
    const int width = 33, height = 12;
    std::vector<float2> in(width * height), out(width * height);
    for (int i = 0; i < width * height; i++) in[i] = make_float2(float(i), -float(i));
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float2>();
    EXPECT_EQ(desc.x, 32);
    EXPECT_EQ(desc.y, 32);
    EXPECT_EQ(desc.z, 0);
    EXPECT(desc.f == cudaChannelFormatKindFloat);
    cudaArray_t a, b;
    CHECK(cudaMallocArray(&a, &desc, width, height));
    CHECK(cudaMallocArray(&b, &desc, width, height, cudaArraySurfaceLoadStore));

    cudaChannelFormatDesc found;
    cudaExtent extent;
    unsigned flags;
    CHECK(cudaArrayGetInfo(&found, &extent, &flags, b));
    EXPECT_EQ(extent.width, size_t(width));
    EXPECT_EQ(extent.height, size_t(height));
    EXPECT_EQ(extent.depth, 0u);
    EXPECT_EQ(flags, unsigned(cudaArraySurfaceLoadStore));
    EXPECT(found.x == 32 && found.y == 32 && found.z == 0 && found.w == 0);
    CHECK(cudaGetChannelDesc(&found, a));
    EXPECT(found.f == cudaChannelFormatKindFloat);

    const size_t row = width * sizeof(float2);
    CHECK(cudaMemcpy2DToArray(a, 0, 0, in.data(), row, row, height, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DFromArray(out.data(), row, a, 0, 0, row, height, cudaMemcpyDeviceToHost));
    EXPECT(memcmp(out.data(), in.data(), row * height) == 0);

    // A rectangle from a to b at another place (offsets across are in bytes, down in rows).
    std::vector<float2> zero(width * height, make_float2(0, 0));
    CHECK(cudaMemcpy2DToArray(b, 0, 0, zero.data(), row, row, height, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DArrayToArray(b, 4 * sizeof(float2), 1, a, 2 * sizeof(float2), 5, 10 * sizeof(float2), 3,
                                   cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy2DFromArray(out.data(), row, b, 0, 0, row, height, cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            bool inside = x >= 4 && x < 14 && y >= 1 && y < 4;
            EXPECT_EQ(out[y * width + x].x, inside ? in[(y + 4) * width + x - 2].x : 0);
        }

    // The older one-dimensional copies, which still exist.
    cudaArray_t line;
    cudaChannelFormatDesc ints = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned);
    CHECK(cudaMallocArray(&line, &ints, 100));
    CHECK(cudaArrayGetInfo(&found, &extent, &flags, line));
    EXPECT_EQ(extent.width, 100u);
    EXPECT_EQ(extent.height, 0u);
    std::vector<int> numbers(100), echo(100, -1);
    for (int i = 0; i < 100; i++) numbers[i] = i * i;
    CHECK(cudaMemcpyToArray(line, 0, 0, numbers.data(), 400, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyFromArray(echo.data(), line, 40, 0, 200, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 50; i++) EXPECT_EQ(echo[i], numbers[i + 10]);
    EXPECT_EQ(echo[50], -1);

    CHECK(cudaFreeArray(a));
    CHECK(cudaFreeArray(b));
    CHECK(cudaFreeArray(line));
    return pass();
}
