# What is built on libtorch: the optimisers (medgrad::torch), the language models, `medgrad train`.

# at::parallel_for is a template of libtorch's headers. Without OpenMP it is a plain loop, and says nothing.
find_package(OpenMP QUIET COMPONENTS CXX)
if(NOT OpenMP_CXX_FOUND)
  message(WARNING "The compiler has no OpenMP: models train on one thread but for products of matrices.")
endif()

# torch/torch.h takes half a minute to read: it is read once, and what we compile against it shares the result.
file(CONFIGURE OUTPUT torch_headers.cc CONTENT "// Only the headers matter.\n")  # written only where it changes
add_library(medgrad_torch_headers OBJECT ${PROJECT_BINARY_DIR}/torch_headers.cc)

# The BLAS decides how fast a model trains, and libtorch takes whichever the system has chosen. The OpenMP
# build of OpenBLAS shares its threads with libtorch; where it is installed our programs load it, and the
# system's choice stays as it is. It has to be DT_RPATH: RUNPATH does not count for what libtorch loads.
file(GLOB medgrad_fast_blas LIST_DIRECTORIES false
  /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp/libblas.so.3
  /usr/lib/*/openblas-openmp/libblas.so.3)
if(medgrad_fast_blas)
  list(GET medgrad_fast_blas 0 medgrad_fast_blas)
  get_filename_component(medgrad_fast_blas ${medgrad_fast_blas} DIRECTORY)
endif()

# A wheel of PyPI's has headers of fmt beside its own, which come first; the fmt that others link is another version.
set(medgrad_torch_definitions "")
get_target_property(fmt_folder fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
foreach(folder IN LISTS TORCH_INCLUDE_DIRS)
  if(EXISTS ${folder}/fmt/core.h AND NOT folder IN_LIST fmt_folder)
    set(medgrad_torch_definitions FMT_HEADER_ONLY)
  endif()
endforeach()

# Workers that break Gloo's protocol are lost like dead ones where Gloo is a library of its own, as Debian's is, whose
# headers can be built on (src/torch/dist/guarded_device.h). Wheels have a Gloo within, of a version that nobody tells; what
# counts is the libtorch that is linked, whatever others the system has.
set(MEDGRAD_GUARDS_GLOO OFF)
find_library(medgrad_gloo gloo)
get_target_property(medgrad_torch_cpu torch_cpu LOCATION)
if(medgrad_gloo AND medgrad_torch_cpu)
  execute_process(COMMAND ${CMAKE_READELF} -d ${medgrad_torch_cpu} OUTPUT_VARIABLE medgrad_needed ERROR_QUIET)
  if(medgrad_needed MATCHES "libgloo")
    if(NOT DEFINED medgrad_gloo_is_known)
      set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
      try_compile(medgrad_gloo_is_known ${PROJECT_BINARY_DIR}/guards_gloo
        SOURCES ${PROJECT_SOURCE_DIR}/src/torch/dist/guarded_device.cc
        CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}/src
        "-DCMAKE_CXX_FLAGS=-DMEDGRAD_GUARDS_GLOO -idirafter ${PROJECT_SOURCE_DIR}/cmake/gloo_headers"
        CXX_STANDARD 20)
      unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
    endif()
    set(MEDGRAD_GUARDS_GLOO ${medgrad_gloo_is_known})
  endif()
endif()

# Settings of a target of ours that includes torch.
function(medgrad_uses_torch target)
  target_include_directories(${target} SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(${target} PRIVATE ${TORCH_LIBRARIES} $<BUILD_INTERFACE:medgrad_compile>)
  target_compile_definitions(${target} PRIVATE ${medgrad_torch_definitions})
  if(OpenMP_CXX_FOUND)
    target_link_libraries(${target} PRIVATE OpenMP::OpenMP_CXX)
  endif()
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${medgrad_launcher}" MEDGRAD_USES_TORCH ON)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE" AND medgrad_fast_blas)
    target_link_options(${target} PRIVATE -Wl,--disable-new-dtags,-rpath,${medgrad_fast_blas})
  endif()
  if(NOT target STREQUAL "medgrad_torch_headers")
    target_precompile_headers(${target} REUSE_FROM medgrad_torch_headers)
    # Even precompiled, the headers take five seconds, and what a source instantiates of them as long again.
    # So many sources share them: sixteen take as long as six.
    medgrad_compiled_together(${target} 16)
  endif()
endfunction()

medgrad_uses_torch(medgrad_torch_headers)
target_precompile_headers(medgrad_torch_headers PRIVATE <torch/torch.h>)
