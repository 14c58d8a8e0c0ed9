#pragma once

#include <vector_types.h>

// The built-in variables of the thread that runs. The machine sets them when it goes on with another one.
extern __thread uint3 threadIdx;
extern __thread uint3 blockIdx;
extern __thread dim3 blockDim;
extern __thread dim3 gridDim;
