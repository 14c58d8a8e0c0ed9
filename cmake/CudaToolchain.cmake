# Finds the CUDA headers and, with CUTE_PY_CUDA, the compiler: the one on PATH, or the one that the wheels
# nvidia-cuda-nvcc, nvidia-nvvm, ... put into site-packages. Defines the target cuda_headers.
#
# CUTE_PY_CUDA says whether the GPU kernels are built; OFF needs no nvcc: the CPU engine and the emulator only. Not given,
# the environment decides, or whether a GPU is visible: then the kernels are built for its architecture.
if(DEFINED CACHE{CUTE_PY_CUDA} AND DEFINED ENV{CUTE_PY_CUDA})
  if(NOT "$CACHE{CUTE_PY_CUDA}" STREQUAL "$ENV{CUTE_PY_CUDA}")
    message(FATAL_ERROR "CUTE_PY_CUDA is $ENV{CUTE_PY_CUDA} in the environment and $CACHE{CUTE_PY_CUDA} for CMake, perhaps from "
                        "an earlier build in this folder. Take one away, or delete ${CMAKE_BINARY_DIR}")
  endif()
endif()
if(NOT DEFINED CUTE_PY_CUDA)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/build_backend/gpu_kernels.py"
    OUTPUT_VARIABLE _decision
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "^(ON|OFF) ([^ ]+) (.*)$" _ "${_decision}")
  set(CUTE_PY_CUDA ${CMAKE_MATCH_1})
  set(_architectures "${CMAKE_MATCH_2}")
  message(STATUS "GPU kernels: ${CUTE_PY_CUDA}, ${CMAKE_MATCH_3}")
  if(NOT _architectures STREQUAL "-" AND NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    set(CMAKE_CUDA_ARCHITECTURES "${_architectures}")
  endif()
endif()

# The wheels share one folder. PyTorch leaves folders of the same name with no compiler or headers in them, so the files
# are what is looked for.
execute_process(
  COMMAND
    "${Python_EXECUTABLE}" -c
    "import importlib.util, pathlib; spec = importlib.util.find_spec('nvidia'); \
roots = [root for place in (spec.submodule_search_locations if spec else []) for root in pathlib.Path(place).glob('cu*')]; \
print(max((str(root) for root in roots if all((root / 'include' / name).exists() for name in ('cuda_runtime.h', 'crt/host_defines.h'))), default=''))"
  OUTPUT_VARIABLE _wheel_root
  OUTPUT_STRIP_TRAILING_WHITESPACE)

if(CUTE_PY_CUDA)
  if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(_nvcc_on_path nvcc)
    if(NOT _nvcc_on_path AND _wheel_root AND EXISTS "${_wheel_root}/bin/nvcc")
      set(CMAKE_CUDA_COMPILER "${_wheel_root}/bin/nvcc" CACHE FILEPATH "")
      set(CUDAToolkit_ROOT "${_wheel_root}" CACHE PATH "")
      # The wheels have lib/ where nvcc looks in lib64/, and no development link to the run-time library.
      string(APPEND CMAKE_CUDA_FLAGS " -L${_wheel_root}/lib")
      file(GLOB _cudart "${_wheel_root}/lib/libcudart.so.*")
      list(GET _cudart 0 _cudart)
      set(CUDA_CUDART "${_cudart}" CACHE FILEPATH "")
    endif()
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    # Code for 8.0 and its minor revisions, for Hopper with its own instructions, and PTX for everything later.
    set(CMAKE_CUDA_ARCHITECTURES "80-real;80-virtual;90a-real" CACHE STRING "GPU architectures")
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "No nvcc on PATH and no wheel of it beside Python. Install CUDA 13, or "
                        "pip install 'cuda-toolkit[nvcc,crt,nvvm,cudart,cccl]==13.0.*', or build without GPU kernels: "
                        "-DCUTE_PY_CUDA=OFF (with pip: --config-settings=cmake.define.CUTE_PY_CUDA=OFF)")
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit 13.0 REQUIRED)
  set(_cuda_include "${CUDAToolkit_INCLUDE_DIRS}")
  list(GET _cuda_include 0 _cuda_include)
else()
  # CuTe includes CUDA's headers even on a host.
  find_program(_nvcc_on_path NAMES "$ENV{CUDACXX}" nvcc)
  if(_nvcc_on_path)
    file(REAL_PATH "${_nvcc_on_path}" _nvcc_on_path)
    cmake_path(GET _nvcc_on_path PARENT_PATH _cuda_bin)
  endif()
  find_path(CUTE_PY_CUDA_INCLUDE cuda_runtime.h
            HINTS "${_wheel_root}/include" "${_cuda_bin}/../include" /usr/local/cuda/include)
  if(NOT CUTE_PY_CUDA_INCLUDE)
    message(FATAL_ERROR "CuTe needs the CUDA headers, also without a GPU. "
                        "pip install 'cuda-toolkit[crt,cudart,cccl]==13.0.*' brings them, or name their folder: "
                        "-DCUTE_PY_CUDA_INCLUDE=<folder of cuda_runtime.h>")
  endif()
  set(_cuda_include "${CUTE_PY_CUDA_INCLUDE}")
endif()

add_library(cuda_headers INTERFACE)
target_include_directories(cuda_headers SYSTEM INTERFACE "${_cuda_include}" "${_cuda_include}/cccl")
