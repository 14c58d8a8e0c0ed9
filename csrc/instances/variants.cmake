# Every kernel variant of every build, in one place. From this list come the translation units, one per kernel and target,
# and the registry that the tests, the documentation, `cute_py.kernels()` and the benchmarks iterate over.
#
# The order is the order of preference: of two variants that fit a problem, the later one is chosen.

# Of what is built: `minimal` is float32 without tensor cores, `host` enough of every type to run every kernel's source in
# the emulator, `default` what somebody uses on a GPU, `full` everything. A build without CUDA takes `host` for `default`.
set(CUTE_PY_KERNELS
    "default"
    CACHE STRING "The variants to build: minimal, host, default or full")
set_property(CACHE CUTE_PY_KERNELS PROPERTY STRINGS minimal host default full)
if(NOT CUTE_PY_KERNELS MATCHES "^(minimal|host|default|full)$")
  message(FATAL_ERROR "CUTE_PY_KERNELS is minimal, host, default or full, not '${CUTE_PY_KERNELS}'")
endif()
set(CUTE_PY_ONLY
    ""
    CACHE STRING "Kernels, separated by semicolons: of the GPU kernels build these alone, as for work on one of them")
set(CUTE_PY_KERNEL_SET ${CUTE_PY_KERNELS})
if(CUTE_PY_KERNELS STREQUAL "default" AND NOT CUTE_PY_CUDA)
  set(CUTE_PY_KERNEL_SET host)
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

# layout: what an entry says of it, majorness of A, majorness of B
set(CUTE_PY_LAYOUT_nt nt mn mn)
set(CUTE_PY_LAYOUT_tn tn k k)
set(CUTE_PY_LAYOUT_nn nn mn k)
set(CUTE_PY_LAYOUT_tt tt k mn)
set(CUTE_PY_LAYOUT_any any k k)
set(CUTE_PY_LAYOUT_m any mn k)  # of gemm_skinny, which minds A alone
set(CUTE_PY_LAYOUT_k any k k)

# form: the Form of csrc/catalogue/operand.hpp, the rest of the Config's name, the rest of the variant's name
set(CUTE_PY_FORM_whole whole "" "<layout>_<type>")
set(CUTE_PY_FORM_sm90 whole OnSm90 "<layout>_<type>_sm90")
set(CUTE_PY_FORM_predicated predicated "" "<layout>_<type>_predicated")
set(CUTE_PY_FORM_nested nested "" "nested_<type>")
set(CUTE_PY_FORM_narrow nested Narrow "narrow_<type>")
set(CUTE_PY_FORM_gett gett "" "gett_<type>")
set(CUTE_PY_FORM_skinny nested "" "<layout>_<type>")
set(CUTE_PY_FORM_small predicated "" "<type>")

# Each row: kernel, Config of csrc/catalogue, types, layouts, forms, and the sets of variants that have it by their letters:
# (m)inimal, (h)ost, (d)efault, (f)ull. sgemm_sm70 is the one that converts and conjugates on the way to shared memory, so
# it has all types.
set(CUTE_PY_VARIANTS
    # sgemm_1
    "sgemm_1 Sgemm1 f32 nt gett mhdf"
    "sgemm_1 Sgemm1 f32 any nested mhdf"
    "sgemm_1 Sgemm1 f64,c64,c128,i32 any nested f"
    "sgemm_1 Sgemm1 f32 nt,tn predicated,whole mhdf"
    "sgemm_1 Sgemm1 f32 nn,tt predicated,whole mdf"
    "sgemm_1 Sgemm1 f64,c64,c128 nt,tn,nn,tt predicated,whole f"
    # sgemm_2
    "sgemm_2 Sgemm2 f32 any nested mhdf"
    "sgemm_2 Sgemm2 f64,c64,c128,i32 any nested f"
    "sgemm_2 Sgemm2 f32 nt,tn predicated,whole mhdf"
    "sgemm_2 Sgemm2 f32 nn,tt predicated,whole mdf"
    "sgemm_2 Sgemm2 f64,c64,c128 nt,tn,nn,tt predicated,whole f"
    # sgemm_sm70
    "sgemm_sm70 SgemmSm70 f32 any nested mhdf"
    "sgemm_sm70 SgemmSm70 f64,c64,c128 any nested hdf"
    "sgemm_sm70 SgemmSm70 i32 any nested f"
    "sgemm_sm70 SgemmSm70 f32 nt,tn predicated,whole mhdf"
    "sgemm_sm70 SgemmSm70 f32 nn,tt predicated,whole mdf"
    "sgemm_sm70 SgemmSm70 f64,c64,c128 nt,tn,nn,tt predicated,whole f"
    # sgemm_sm80
    "sgemm_sm80 SgemmSm80 f32 any narrow mdf"
    "sgemm_sm80 SgemmSm80 f64 any narrow f"
    "sgemm_sm80 SgemmSm80 f32 any nested mhdf"
    "sgemm_sm80 SgemmSm80 f64 any nested f"
    "sgemm_sm80 SgemmSm80 c64,c128 any nested hdf"
    "sgemm_sm80 SgemmSm80 f32 nt,tn predicated,whole mhdf"
    "sgemm_sm80 SgemmSm80 f32 nn,tt predicated,whole mdf"
    "sgemm_sm80 SgemmSm80 f64,c64,c128 nt,tn,nn,tt predicated,whole f"
    # gemm_sm80; those for many modes take what is ragged, too, and ldmatrix cannot transpose 8 bits
    "gemm_sm80 GemmSm80 bf16,f64 any nested df"
    "gemm_sm80 GemmSm80 f16,tf32,i8 any nested hdf"
    "gemm_sm80 GemmSm80 f16 tn whole hdf"
    "gemm_sm80 GemmSm80 f16 nt,nn,tt whole df"
    "gemm_sm80 GemmSm80 bf16,tf32,f64 nt,tn,nn,tt whole df"
    "gemm_sm80 GemmSm80 i8 tn whole df"
    "gemm_sm80 GemmSm80 f64 nt,tn,nn,tt sm90 df"
    # gemm_skinny
    "gemm_skinny GemmSkinny f32 m,k skinny mhdf"
    "gemm_skinny GemmSkinny f64 m,k skinny df"
    "gemm_skinny GemmSkinny c64,c128 m,k skinny f"
    "gemm_skinny GemmSkinny f16 m skinny df"
    "gemm_skinny GemmSkinny f16 k skinny hdf"
    "gemm_skinny GemmSkinny bf16 m,k skinny df"
    # gemm_small
    "gemm_small GemmSmall f32 any small mhdf"
    "gemm_small GemmSmall f64 any small df"
    "gemm_small GemmSmall c64,c128 any small f"
    "gemm_small GemmSmall f16 any small hdf"
    "gemm_small GemmSmall bf16 any small df")

# Each row: translation unit, kernels, types, sets. Variants that share CuTe's layouts and atoms share what the compiler has
# to instantiate: the first of a unit takes ten times as long as each further one. But a file should take less than a
# minute to compile, so large sets have more units, and those of more than CUTE_PY_VARIANTS_PER_UNIT variants are divided
# evenly.
set(CUTE_PY_UNITS
    "tutorial sgemm_1,sgemm_2,sgemm_sm70,sgemm_sm80 f32,f64,c64,c128,i32 mh"
    "sgemm_simple sgemm_1,sgemm_2 f32,f64,c64,c128,i32 df"
    "sgemm_sm70 sgemm_sm70 f32,f64,c64,c128,i32 df"
    "sgemm_sm80 sgemm_sm80 f32,f64,c64,c128 df"
    "tensor_cores gemm_sm80 f16,bf16,tf32,i8,f64 mh"
    "tensor_cores_f16 gemm_sm80 f16,bf16 df"
    "tensor_cores_tf32 gemm_sm80 tf32 df"
    "tensor_cores_f64 gemm_sm80 i8,f64 df"
    "columns gemm_skinny,gemm_small f32,f16 mh"
    "skinny gemm_skinny f32,f64,c64,c128,f16,bf16 df"
    "small gemm_small f32,f64,c64,c128,f16,bf16 df")
set(CUTE_PY_VARIANTS_PER_UNIT 26)

string(SUBSTRING ${CUTE_PY_KERNEL_SET} 0 1 _set)
foreach(_row IN LISTS CUTE_PY_UNITS)
  separate_arguments(_row)
  list(POP_FRONT _row _unit _kernels _types _sets)
  if(NOT _sets MATCHES ${_set})
    continue()
  endif()
  string(REPLACE "," ";" _kernels ${_kernels})
  string(REPLACE "," ";" _types ${_types})
  foreach(_kernel IN LISTS _kernels)
    foreach(_type IN LISTS _types)
      set(CUTE_PY_UNIT_OF_${_kernel}_${_type} ${_unit})
    endforeach()
  endforeach()
endforeach()

# Sets CUTE_PY_GPU_VARIANTS to the names of this build's variants, CUTE_PY_GPU_UNITS to its translation units, and
# CUTE_PY_VARIANTS_OF_<unit> to the variants of each as "name kernel type layout major_a major_b form config". What needs
# SM90 is in units of its own, <unit>_sm90.
set(CUTE_PY_GPU_VARIANTS "")
set(CUTE_PY_GPU_UNITS "")
foreach(_row IN LISTS CUTE_PY_VARIANTS)
  separate_arguments(_row)
  list(POP_FRONT _row _kernel _config _types _layouts _forms _sets)
  if(NOT _sets MATCHES ${_set} OR (CUTE_PY_ONLY AND NOT _kernel IN_LIST CUTE_PY_ONLY))
    continue()
  endif()
  string(REPLACE "," ";" _types ${_types})
  string(REPLACE "," ";" _layouts ${_layouts})
  string(REPLACE "," ";" _forms ${_forms})
  foreach(_type IN LISTS _types)
    foreach(_letters IN LISTS _layouts)
      foreach(_name_of_form IN LISTS _forms)
        set(_form "${CUTE_PY_FORM_${_name_of_form}}")
        list(POP_FRONT _form _cpp_form _suffix _name)
        string(REPLACE "<type>" ${_type} _name "${_name}")
        string(REPLACE "<layout>" ${_letters} _name "${_name}")
        list(JOIN CUTE_PY_LAYOUT_${_letters} " " _layout)
        set(_unit ${CUTE_PY_UNIT_OF_${_kernel}_${_type}})
        if(NOT _unit)
          message(FATAL_ERROR "CUTE_PY_UNITS has no translation unit for ${_kernel} and ${_type}")
        endif()
        if(_name_of_form STREQUAL "sm90")
          string(APPEND _unit _sm90)
        endif()
        list(APPEND CUTE_PY_GPU_UNITS ${_unit})
        list(APPEND CUTE_PY_GPU_VARIANTS ${_kernel}_${_name})
        list(APPEND CUTE_PY_VARIANTS_OF_${_unit}
             "${_kernel}_${_name} ${_kernel} ${_type} ${_layout} ${_cpp_form} ${_config}${_suffix}")
      endforeach()
    endforeach()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES CUTE_PY_GPU_UNITS)
if(NOT CUTE_PY_GPU_VARIANTS)
  message(FATAL_ERROR "CUTE_PY_ONLY names no kernel of the set ${CUTE_PY_KERNEL_SET}: '${CUTE_PY_ONLY}'")
endif()

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
