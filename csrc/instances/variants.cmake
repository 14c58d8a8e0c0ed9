# Every kernel variant, in one place. From this list come the translation units, one per kernel and target, and the
# registry that the tests, the documentation, `cute_py.kernels()` and the benchmarks iterate over.
#
# The order is the order of preference: of two variants that fit a problem, the later one is chosen.

# kernel and its Config in csrc/catalogue; each in the four layouts, each layout in a form for whole tiles and a predicated
# form for everything else
set(CUTE_PY_GPU_KERNELS
    "sgemm_1 Sgemm1"
    "sgemm_2 Sgemm2"
    "sgemm_sm70 SgemmSm70"
    "sgemm_sm80 SgemmSm80")

# layout, majorness of A, majorness of B
set(CUTE_PY_LAYOUTS
    "nt mn mn"
    "tn k k"
    "nn mn k"
    "tt k mn")

# entries of csrc/cpu
set(CUTE_PY_CPU_ENTRIES reference_f32 cpu_baseline_f32)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND CUTE_PY_CPU_ENTRIES cpu_avx2_f32 cpu_avx512_f32)
endif()
