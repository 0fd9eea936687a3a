# Compiler settings shared by every target of ours.
#
# -ffp-contract=off: the compiler may not fuse a multiplication and an addition on its own, so that all
# SIMD targets round alike and give the same bits.
# -fPIC and hidden visibility: any of it can become part of a shared library, which shows what the public
# headers declare (medgrad/export.h) and nothing else.
# -Wno-restrict: GCC 12 warns of std::string's own operator+ at -O3 (GCC bug 105651).
add_library(medgrad_compile INTERFACE)
target_compile_features(medgrad_compile INTERFACE cxx_std_20)
target_link_libraries(medgrad_compile INTERFACE fmt::fmt)  # sentences
target_compile_options(medgrad_compile INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -ffp-contract=off
  # A local name may be that of something global in another source that is compiled together with it.
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>
  $<$<AND:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,$<CXX_COMPILER_ID:GNU>>:-Wshadow=local>
  -fPIC
  # Not where libtorch's headers are compiled in: its types are to be the same on both sides.
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:MEDGRAD_USES_TORCH>>>:-fvisibility=hidden>
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:MEDGRAD_USES_TORCH>>>:-fvisibility-inlines-hidden>
  # GCC 12 sees uninitialised members in a std::variant of empty structs.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # The compiler cleans up its memory less often, which saves a tenth of the time for a third more of it.
  "$<$<CXX_COMPILER_ID:GNU>:SHELL:--param ggc-min-expand=100 --param ggc-min-heapsize=500000>"
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

# Reading the standard library takes half the time of a small source, nlohmann/json as long again:
# each is read once. (Not <filesystem>: its std::quoted would be found where a function of ours is meant.) Sources that include JSON get the headers that have it; the others would be slower with them.
# Torch has headers of its own, in MedgradTorch.cmake. ccache has to be told that precompiled headers are fine.
set(medgrad_launcher ${CMAKE_CXX_COMPILER_LAUNCHER})
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  set(medgrad_launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
set(medgrad_std_headers <algorithm> <array> <charconv> <cmath> <cstdint> <cstring> <fstream> <functional>
  <iostream> <limits> <map> <memory> <mutex> <numbers> <numeric> <optional> <set> <span> <sstream> <stdexcept> <string>
  <string_view> <thread> <utility> <variant> <vector>)
# At -O0 fmt switches optimisation on for itself, which GCC 12 does not forget at the end of a precompiled header.
if(CMAKE_BUILD_TYPE MATCHES "Rel")
  list(APPEND medgrad_std_headers <fmt/core.h>)
endif()

# medgrad_precompiled(<name> <header>...): headers that targets of ours can share.
function(medgrad_precompiled name)
  file(CONFIGURE OUTPUT ${name}.cc CONTENT "// Only the headers matter.\n")  # written only where it changes
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE medgrad_compile)
  target_compile_options(${name} PRIVATE -fpch-preprocess)
  set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "${medgrad_launcher}")
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()

# medgrad_uses_precompiled(<target> [<name>]): the standard library, with nlohmann/json where a source includes it, or the
# headers of that name.
function(medgrad_uses_precompiled target)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(json_sources "")
  foreach(source IN LISTS sources)
    get_filename_component(source ${source} ABSOLUTE)
    if(EXISTS ${source})  # not generated
      file(STRINGS ${source} includes REGEX "^#include.*(nlohmann/json\\.hpp|[/\"]json\\.h\")")
      if(includes)
        list(APPEND json_sources ${source})
      endif()
    endif()
  endforeach()
  if(json_sources AND NOT TARGET medgrad_json)
    medgrad_precompiled(medgrad_json ${medgrad_std_headers} <nlohmann/json.hpp>)
    target_link_libraries(medgrad_json PRIVATE nlohmann_json::nlohmann_json)
  endif()
  if(NOT TARGET medgrad_std)
    medgrad_precompiled(medgrad_std ${medgrad_std_headers})
  endif()
  # Sources that are compiled together share what any of them needs.
  get_target_property(together ${target} UNITY_BUILD)
  if(ARGN)
    set(name ${ARGN})
  elseif(together AND json_sources)
    set(name medgrad_json)
  else()
    set(name medgrad_std)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${name})
  # What GCC 12 wrongly says of std::string's own copies it keeps to itself in a system's header, but not in a
  # precompiled one.
  target_compile_options(${target} PRIVATE -fpch-preprocess -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${medgrad_launcher}")
  if(together OR NOT json_sources)
    return()
  endif()
  get_target_property(json medgrad_json BINARY_DIR)
  string(APPEND json /CMakeFiles/medgrad_json.dir/cmake_pch.hxx)
  foreach(source IN LISTS json_sources)
    set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON OBJECT_DEPENDS ${json}.gch)
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-Winvalid-pch;-include;${json}")
  endforeach()
endfunction()

# medgrad_compiled_together(<target> [<most>]): compiles the sources several at a time, which takes a third of the
# time: most of it goes into the headers that they share. Sources that give one name two meanings stay apart, as do SIMD
# sources, which compile themselves several times over, and those with options of their own.
option(MEDGRAD_TOGETHER "Compile several sources at a time" ON)
function(medgrad_compiled_together target)
  if(NOT MEDGRAD_TOGETHER)
    return()
  endif()
  set(most 8 ${ARGN})
  list(GET most -1 most)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(file ${source} ABSOLUTE)
    if(NOT EXISTS ${file})
      continue()  # generated
    endif()
    file(READ ${file} text)
    if(text MATCHES "hwy/foreach_target\\.h")
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      continue()
    endif()
    medgrad_names_of("${file}" "\n${text}")  # names, meanings
    # The first group that has room and no clash.
    foreach(number RANGE 1000)
      set(group together_${number})
      if(NOT DEFINED size_${group})
        set(size_${group} 0)
      endif()
      set(fits ON)
      if(size_${group} GREATER_EQUAL most)
        set(fits OFF)
      endif()
      foreach(name meaning IN ZIP_LISTS names meanings)
        if(DEFINED ${group}_${name} AND NOT ${group}_${name} STREQUAL meaning)
          set(fits OFF)
        endif()
      endforeach()
      if(fits)
        break()
      endif()
    endforeach()
    math(EXPR size_${group} "${size_${group}} + 1")
    foreach(name meaning IN ZIP_LISTS names meanings)
      set(${group}_${name} ${meaning})
    endforeach()
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC takes a source that is included for a header, whose unnamed namespaces others would see.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# What a source defines at the beginning of a line: types, functions, constants, aliases. An alias means the same wherever
# it is written alike, anything else something of its own.
function(medgrad_names_of file text)
  string(REGEX MATCHALL "\n(struct|class|enum class|union) [A-Za-z0-9_]+" types "${text}")
  string(REGEX MATCHALL "\n(\\[\\[[a-z]+\\]\\] )?[A-Za-z][A-Za-z0-9_:<>,*& ]*[ *&][a-z_][A-Za-z0-9_]*\\(" functions "${text}")
  string(REGEX MATCHALL "\n(inline |static )?const(expr)? [^;]*" lines "${text}")
  string(REGEX MATCHALL "[ *&]k[A-Z][A-Za-z0-9]*" constants "${lines}")
  string(REGEX MATCHALL "\n(using|namespace) [A-Za-z0-9_]+ = ?[^;]*" aliases "${text}")
  set(all_names "")
  set(all_meanings "")
  foreach(found IN LISTS types functions constants)
    string(REGEX MATCH "([A-Za-z0-9_]+)[(]?$" unused "${found}")
    list(APPEND all_names ${CMAKE_MATCH_1})
    list(APPEND all_meanings ${file})
  endforeach()
  foreach(found IN LISTS aliases)
    string(REGEX MATCH "(using|namespace) ([A-Za-z0-9_]+)" unused "${found}")
    list(APPEND all_names ${CMAKE_MATCH_2})
    string(MD5 meaning "${found}")
    list(APPEND all_meanings ${meaning})
  endforeach()
  set(names ${all_names} PARENT_SCOPE)
  set(meanings ${all_meanings} PARENT_SCOPE)
endfunction()
