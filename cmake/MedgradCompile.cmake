# Compiler settings shared by every target of ours.
#
# -ffp-contract=off: the compiler may not fuse a multiplication and an addition on its own, so that all
# SIMD targets round alike and give the same bits.
# -Wno-restrict: GCC 12 warns of std::string's own operator+ at -O3 (GCC bug 105651).
add_library(medgrad_compile INTERFACE)
target_compile_features(medgrad_compile INTERFACE cxx_std_20)
target_compile_options(medgrad_compile INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -ffp-contract=off
  # GCC 12 sees uninitialised members in a std::variant of empty structs.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${MEDGRAD_WERROR}>:-Werror>)
if(MEDGRAD_SANITIZE)
  target_compile_options(medgrad_compile INTERFACE
    -fsanitize=${MEDGRAD_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(medgrad_compile INTERFACE -fsanitize=${MEDGRAD_SANITIZE})
endif()

# ccache makes rebuilding faster where it is installed; nothing needs it.
if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(MEDGRAD_CCACHE ccache)
  mark_as_advanced(MEDGRAD_CCACHE)
  if(MEDGRAD_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${MEDGRAD_CCACHE})
  endif()
endif()
