# Where nvcc is installed, the row programs are compiled as CUDA too (a compile check: one source for
# both devices). Nothing links against CUDA here.
set(MINIRL_CUDA AUTO CACHE STRING "AUTO, ON or OFF: compile-check the row programs with nvcc")
find_program(MINIRL_NVCC nvcc)
if(MINIRL_CUDA STREQUAL "ON" AND NOT MINIRL_NVCC)
  message(FATAL_ERROR "MINIRL_CUDA=ON but nvcc was not found on PATH")
endif()
if(NOT MINIRL_CUDA STREQUAL "OFF" AND MINIRL_NVCC AND EXISTS ${CMAKE_SOURCE_DIR}/kernels/cuda/rows_check.cu)
  file(GLOB cuda_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/*.h ${CMAKE_SOURCE_DIR}/core/*.h)
  add_custom_command(
    OUTPUT ${CMAKE_BINARY_DIR}/rows_check.o
    COMMAND ${MINIRL_NVCC} -std=c++20 --fmad=false --extended-lambda --expt-relaxed-constexpr -arch=sm_90
            -Werror all-warnings -I${CMAKE_SOURCE_DIR} -c ${CMAKE_SOURCE_DIR}/kernels/cuda/rows_check.cu
            -o ${CMAKE_BINARY_DIR}/rows_check.o
    DEPENDS kernels/cuda/rows_check.cu ${cuda_headers}
    COMMENT "nvcc: row programs compile for the GPU")
  add_custom_target(minirl_cuda_check ALL DEPENDS ${CMAKE_BINARY_DIR}/rows_check.o)
endif()
