# Every kernel variant, in one place. From this list come the translation units, one per kernel and target, and the
# registry that the tests, the documentation, `cute_py.kernels()` and the benchmarks iterate over.
#
# The order is the order of preference: of two variants that fit a problem, the later one is chosen.

set(CUTE_PY_KERNELS
    "default"
    CACHE STRING "The variants to build: minimal, default or full")
set_property(CACHE CUTE_PY_KERNELS PROPERTY STRINGS minimal default full)
if(NOT CUTE_PY_KERNELS MATCHES "^(minimal|default|full)$")
  message(FATAL_ERROR "CUTE_PY_KERNELS is minimal, default or full, not '${CUTE_PY_KERNELS}'")
endif()

# type and its C++ name
set(CUTE_PY_TYPE_f32 float)
set(CUTE_PY_TYPE_f64 double)
set(CUTE_PY_TYPE_c64 numeric::complex64)
set(CUTE_PY_TYPE_c128 numeric::complex128)
set(CUTE_PY_TYPE_i32 std::int32_t)
set(CUTE_PY_TYPE_f16 cutlass::half_t)
set(CUTE_PY_TYPE_bf16 cutlass::bfloat16_t)
set(CUTE_PY_TYPE_tf32 cutlass::tfloat32_t)
set(CUTE_PY_TYPE_i8 std::int8_t)

# layout, majorness of A, majorness of B
set(CUTE_PY_LAYOUTS "nt mn mn" "tn k k" "nn mn k" "tt k mn")

# kernel, its Config in csrc/catalogue, and the types of its variants for many modes
set(CUTE_PY_GPU_KERNELS "sgemm_1 Sgemm1 f32 f64 c64 c128 i32" "sgemm_2 Sgemm2 f32 f64 c64 c128 i32"
                        "sgemm_sm70 SgemmSm70 f32 f64 c64 c128 i32" "sgemm_sm80 SgemmSm80 f32 f64 c64 c128")
if(NOT CUTE_PY_KERNELS STREQUAL "minimal")
  list(APPEND CUTE_PY_GPU_KERNELS "gemm_sm80 GemmSm80 f16 bf16 tf32 f64 i8")
endif()
if(CUTE_PY_KERNELS STREQUAL "full")
  set(_complex " c64 c128")
endif()
list(APPEND CUTE_PY_GPU_KERNELS "gemm_skinny GemmSkinny f32 f64${_complex} f16 bf16"
     "gemm_small GemmSmall f32 f64${_complex} f16 bf16")

# The variants of a kernel, from first choice to last resort read backwards: for each type one that takes any modes, then
# for the types of the flat set, in each layout one that takes any extents and one for whole tiles. Each is
# "name type layout major_a major_b form config".
function(cute_py_variants kernel config types variants)
  set(_flat f32)
  set(_flat_forms predicated whole)
  if(kernel STREQUAL "gemm_sm80")  # those for many modes take what is ragged, too
    set(_flat ${types})
    set(_flat_forms whole)
  elseif(CUTE_PY_KERNELS STREQUAL "full")
    set(_flat ${types})
    list(REMOVE_ITEM _flat i32)  # its factors are of another type, which only the variants for many modes convert
  elseif(CUTE_PY_KERNELS STREQUAL "minimal")
    set(types f32)
  endif()
  set(_found "")
  set(_sm90 "")
  if(kernel STREQUAL "gemm_skinny")  # for A of either majorness
    foreach(_type IN LISTS types)
      foreach(_major m k)
        string(REPLACE "m" "mn" _major_a ${_major})
        list(APPEND _found "${kernel}_${_major}_${_type} ${_type} any ${_major_a} k nested ${config}")
      endforeach()
    endforeach()
    set(${variants} ${_found} PARENT_SCOPE)
    return()
  endif()
  if(kernel STREQUAL "gemm_small")
    foreach(_type IN LISTS types)
      list(APPEND _found "${kernel}_${_type} ${_type} any k k predicated ${config}")
    endforeach()
    set(${variants} ${_found} PARENT_SCOPE)
    return()
  endif()
  if(kernel STREQUAL "sgemm_sm80")
    list(APPEND _found "${kernel}_narrow_f32 f32 any k k nested ${config}Narrow")
    if(NOT CUTE_PY_KERNELS STREQUAL "minimal")
      list(APPEND _found "${kernel}_narrow_f64 f64 any k k nested ${config}Narrow")
    endif()
  endif()
  if(kernel STREQUAL "sgemm_1")  # the tutorial's, for people who read it
    list(APPEND _found "${kernel}_gett_f32 f32 nt mn mn gett ${config}")
  endif()
  foreach(_type IN LISTS types)
    list(APPEND _found "${kernel}_nested_${_type} ${_type} any k k nested ${config}")
  endforeach()
  foreach(_type IN LISTS _flat)
    foreach(_layout IN LISTS CUTE_PY_LAYOUTS)
      separate_arguments(_layout)
      list(GET _layout 0 _letters)
      list(JOIN _layout " " _layout)
      if(_type STREQUAL "i8" AND NOT _letters STREQUAL "tn")
        continue()  # ldmatrix cannot transpose 8 bits
      endif()
      if(kernel STREQUAL "gemm_sm80" AND _type STREQUAL "f64")
        list(APPEND _sm90 "${kernel}_${_letters}_f64_sm90 f64 ${_layout} whole ${config}OnSm90")
      endif()
      foreach(_form IN LISTS _flat_forms)
        set(_suffix "")
        if(_form STREQUAL "predicated")
          set(_suffix "_predicated")
        endif()
        list(APPEND _found "${kernel}_${_letters}_${_type}${_suffix} ${_type} ${_layout} ${_form} ${config}")
      endforeach()
    endforeach()
  endforeach()
  set(${variants} ${_found} ${_sm90} PARENT_SCOPE)
endfunction()

# entries of csrc/cpu
set(CUTE_PY_CPU_ENTRIES "")
set(_cpu_kernels reference cpu_baseline)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND _cpu_kernels cpu_avx2 cpu_avx512)
endif()
foreach(_kernel IN LISTS _cpu_kernels)
  foreach(_type f32 tf32 f64 c64 c128 i32)
    list(APPEND CUTE_PY_CPU_ENTRIES ${_kernel}_${_type})
  endforeach()
endforeach()
