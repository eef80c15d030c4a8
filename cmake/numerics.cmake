# minirl_numerics owns every flag that can change a bit of a result (docs/numerics.md, R9).
#   -ffp-contract=off   a*b+c is two roundings unless the source says fma
#   -fno-math-errno, -fno-trapping-math   let loops vectorise; they change no value
# Nothing here, and nothing anywhere else, may enable fast-math.
add_library(minirl_numerics INTERFACE)
target_compile_features(minirl_numerics INTERFACE cxx_std_20)
target_include_directories(minirl_numerics INTERFACE ${minirl_SOURCE_DIR})
target_compile_options(minirl_numerics INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off;-fno-fast-math;-fno-math-errno;-fno-trapping-math>)

# What gcc 12 says about moved strings and big integers depends on what it happened to inline, and is wrong.
set(false_warnings "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-restrict;-Wno-maybe-uninitialized>")
option(MINIRL_WERROR "Warnings are errors" ON)
add_library(minirl_warnings INTERFACE)
target_compile_options(minirl_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion;${false_warnings}$<$<BOOL:${MINIRL_WERROR}>:;-Werror>>)

# The instruction sets that the kernels are compiled for, narrowest first. The choice is made at run
# time and changes no bit (tests/contracts/simd_width_test.cpp).
set(MINIRL_ISAS portable)
set(MINIRL_ISA_FLAGS_portable "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND MINIRL_ISAS avx2 avx512)
  set(MINIRL_ISA_FLAGS_avx2 -mavx2 -mfma -mtune=haswell)
  set(MINIRL_ISA_FLAGS_avx512 -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl
                              -mprefer-vector-width=512 -mtune=skylake-avx512)
endif()
