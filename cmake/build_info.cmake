# minirl_build_info.h: version, commit, compiler and flags. Written at every build, but touched only when
# something changed, so that a new commit recompiles one file (core/build_info.cpp).
get_target_property(numerics minirl_numerics INTERFACE_COMPILE_OPTIONS)
string(REGEX REPLACE "\\$<\\$<COMPILE_LANGUAGE:CXX>:([^>]*)>" "\\1" numerics "${numerics}")
string(REPLACE ";" " " numerics "${numerics}")
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}} ${numerics}" build_flags)
set(build_info_header ${CMAKE_BINARY_DIR}/generated/minirl_build_info.h)
set(build_info_command ${CMAKE_COMMAND}
  -DSOURCE=${CMAKE_SOURCE_DIR} -DHEADER=${build_info_header} -DVERSION=${PROJECT_VERSION}
  "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" "-DFLAGS=${build_flags}"
  -DBUILD_TYPE=${CMAKE_BUILD_TYPE} -P ${CMAKE_SOURCE_DIR}/cmake/write_build_info.cmake)
execute_process(COMMAND ${build_info_command})
add_custom_target(minirl_build_info COMMAND ${build_info_command} BYPRODUCTS ${build_info_header} VERBATIM)
add_dependencies(minirl_core minirl_build_info)
target_include_directories(minirl_core PRIVATE ${CMAKE_BINARY_DIR}/generated)
