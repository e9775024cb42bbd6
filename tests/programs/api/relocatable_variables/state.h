// Variables defined in state.cu, used by kernels in both files.
#pragma once
extern __device__ int counter;
extern __constant__ float weights[4];
extern __device__ float* shared_buffer;
void count_from_other_file();
int read_counter();
