// CUDA arrays: row-major texels in device memory, with the shape CUDA was asked for.
#pragma once
#include "operations.h"

struct cudaArray {
    uint64_t address = 0;
    cudaChannelFormatDesc desc{};
    cudaExtent extent{};  // in elements; height and depth 0 as in CUDA
    unsigned flags = 0;
    uint32_t element_bytes = 0;
    cudaMipmappedArray* owner = nullptr;  // a level of a mipmapped array
    uint64_t pitch() const { return extent.width * element_bytes; }
    uint64_t rows() const { return extent.height ? extent.height : 1; }
    uint64_t layers() const { return extent.depth ? extent.depth : 1; }
    uint64_t bytes() const { return pitch() * rows() * layers(); }
};

struct cudaMipmappedArray { std::vector<cudaArray*> levels; };

bool is_array(const cudaArray* array);
// The part of an array that starts at (x bytes, y, z).
Side side_of(const cudaArray* array, size_t x_bytes, size_t y, size_t z);
