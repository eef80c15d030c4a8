# libminirl_cuda.so: all CUDA code, loaded by the executable when it is wanted (kernels/cuda_plugin.h). nvcc is called
# as it is: CMake 3.25's own CUDA language takes ten seconds of every configuration and does not know C++20.
set(MINIRL_CUDA AUTO CACHE STRING "Build the CUDA plugin: AUTO (where nvcc is installed), ON or OFF")
set_property(CACHE MINIRL_CUDA PROPERTY STRINGS AUTO ON OFF)
set(MINIRL_CUDA_ARCHITECTURES "80;90;100" CACHE STRING "Architectures of the CUDA plugin; the last one also as PTX, for newer devices")
find_program(MINIRL_NVCC nvcc)
if(MINIRL_CUDA STREQUAL "ON" AND NOT MINIRL_NVCC)
  message(FATAL_ERROR "MINIRL_CUDA=ON, but nvcc is not on PATH: install the CUDA Toolkit 13, or say -DMINIRL_CUDA=AUTO")
endif()
if(MINIRL_CUDA STREQUAL "OFF" OR NOT MINIRL_NVCC)
  return()
endif()

# The flags that can change a bit: no contraction, as in cmake/numerics.cmake; division and square root are IEEE's
# and subnormals are kept by default.
set(nvcc_flags -std=c++20 -O3 --fmad=false --extended-lambda --expt-relaxed-constexpr -Werror all-warnings
    -Xcompiler=-fPIC,-fvisibility=hidden,-ffp-contract=off,-Wall,-Wextra,-Wno-unknown-pragmas)
foreach(arch ${MINIRL_CUDA_ARCHITECTURES})
  list(APPEND nvcc_flags -gencode arch=compute_${arch},code=sm_${arch})
endforeach()
list(GET MINIRL_CUDA_ARCHITECTURES -1 newest)
list(APPEND nvcc_flags -gencode arch=compute_${newest},code=compute_${newest})

file(GLOB cuda_sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/kernels/cuda/*.cu)
foreach(source ${cuda_sources})
  set(object ${CMAKE_BINARY_DIR}/cuda/${source}.o)
  get_filename_component(folder ${object} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${MINIRL_NVCC} ${nvcc_flags} -I${CMAKE_SOURCE_DIR} -MD -MF ${object}.d -c ${CMAKE_SOURCE_DIR}/${source} -o ${object}
    DEPENDS ${CMAKE_SOURCE_DIR}/${source} DEPFILE ${object}.d
    COMMENT "nvcc ${source}" VERBATIM)
  list(APPEND cuda_objects ${object})
endforeach()
set(cuda_plugin ${CMAKE_BINARY_DIR}/libminirl_cuda.so)
add_custom_command(
  OUTPUT ${cuda_plugin}
  COMMAND ${MINIRL_NVCC} -shared -cudart static -Xlinker=--no-undefined,--exclude-libs,ALL ${cuda_objects} -o ${cuda_plugin}
  DEPENDS ${cuda_objects} COMMENT "Linking libminirl_cuda.so" VERBATIM)
add_custom_target(minirl_cuda ALL DEPENDS ${cuda_plugin})
install(FILES ${cuda_plugin} DESTINATION bin OPTIONAL)
