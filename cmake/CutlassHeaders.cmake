# Defines the target cutlass_headers: the real CuTe headers, fetched on first use or taken from CUTLASS_DIR.
set(CUTLASS_DIR "" CACHE PATH "A CUTLASS of your own (the folder that holds include/cute)")

set(_pin "${PROJECT_SOURCE_DIR}/third_party/cutlass/pin.json")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_pin}")

if(CUTLASS_DIR)
  set(_include "${CUTLASS_DIR}/include")
else()
  set(_include "${PROJECT_SOURCE_DIR}/third_party/cutlass/include")
  if(NOT EXISTS "${_include}/cutlass/util/print_error.hpp")
    message(STATUS "Fetching the CUTLASS headers named in third_party/cutlass/pin.json")
    execute_process(
      COMMAND "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/fetch_cutlass.py" "${_pin}" "${_include}"
      RESULT_VARIABLE _failed)
    if(_failed)
      message(FATAL_ERROR "The CUTLASS headers could not be fetched (see above)")
    endif()
  endif()
endif()
if(NOT EXISTS "${_include}/cute/tensor.hpp")
  message(FATAL_ERROR "No cute/tensor.hpp below ${_include}; CUTLASS_DIR is the folder that holds include/cute")
endif()

file(STRINGS "${_include}/cutlass/version.h" _version_lines REGEX "#define CUTLASS_(MAJOR|MINOR|PATCH) ")
string(REGEX MATCHALL "[0-9]+" _version "${_version_lines}")
list(JOIN _version "." CUTLASS_VERSION)
message(STATUS "CUTLASS ${CUTLASS_VERSION}: ${_include}")
set(CUTLASS_INCLUDE_DIR "${_include}")

add_library(cutlass_headers INTERFACE)
target_include_directories(cutlass_headers SYSTEM INTERFACE "${_include}")
