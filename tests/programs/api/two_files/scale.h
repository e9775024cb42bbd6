// What scale.cu offers to main.cu.
#pragma once
void scale_on_device(float* data, int n, float factor);
int count_on_device();
template <typename T>
__global__ void shared_template(T* data, T value) {
    data[threadIdx.x] = value + T(threadIdx.x);
}
