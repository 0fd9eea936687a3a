# What `cmake --install` puts in place: the library, its headers, the licence, and the two ways to find
# them, find_package(medgrad CONFIG) and pkg-config; the command, its manual page and completion.
include(CMakePackageConfigHelpers)

install(TARGETS medgrad EXPORT medgradTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# medgrad::torch is made of the archive's internal symbols, so it comes with the archive only.
set(install_torch FALSE)
if(TARGET medgrad_torch AND NOT BUILD_SHARED_LIBS)
  set(install_torch TRUE)
endif()
set(without_torch PATTERN torch EXCLUDE)
if(install_torch)
  set(without_torch "")
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/medgrad DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" ${without_torch})
install(FILES ${PROJECT_BINARY_DIR}/src/generated/medgrad/version.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/medgrad)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET medgrad_torch_program)
  # A libtorch outside the system's folders is found where it was found here. CMake would leave it out if it is within the
  # project, as that of ./dev test --torch 2 is.
  set_target_properties(medgrad_torch_program PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${TORCH_INSTALL_PREFIX}" medgrad_torch_within)
  if(medgrad_torch_within)
    set_target_properties(medgrad_torch_program PROPERTIES INSTALL_RPATH "${TORCH_INSTALL_PREFIX}/lib")
  endif()
  install(TARGETS medgrad_torch_program RUNTIME DESTINATION libexec/medgrad)
endif()
if(TARGET medgrad_command)
  install(TARGETS medgrad_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# The command writes its manual page and completion itself, so that they say what it does; a program for
# another machine cannot be asked.
if(TARGET medgrad_command AND NOT CMAKE_CROSSCOMPILING)
  set(medgrad_share ${PROJECT_BINARY_DIR}/share)
  file(MAKE_DIRECTORY ${medgrad_share})
  install(CODE "
    foreach(file IN ITEMS medgrad.1:--man medgrad:--completion=bash _medgrad:--completion=zsh)
      string(REPLACE : \";\" file \${file})
      list(GET file 1 option)
      list(GET file 0 file)
      execute_process(COMMAND \"$<TARGET_FILE:medgrad_command>\" help \${option}
        OUTPUT_FILE \"${medgrad_share}/\${file}\" COMMAND_ERROR_IS_FATAL ANY)
    endforeach()")
  install(FILES ${medgrad_share}/medgrad.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${medgrad_share}/medgrad DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${medgrad_share}/_medgrad DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()

set(medgrad_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/medgrad)
install(EXPORT medgradTargets NAMESPACE medgrad:: DESTINATION ${medgrad_cmake_dir})
if(install_torch)
  set_target_properties(medgrad_torch PROPERTIES EXPORT_NAME torch)
  set_target_properties(medgrad_documents PROPERTIES EXPORT_NAME documents)  # which medgrad::torch is made of
  install(TARGETS medgrad_torch medgrad_documents EXPORT medgradTorchTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT medgradTorchTargets NAMESPACE medgrad:: DESTINATION ${medgrad_cmake_dir})
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/FindTorch.cmake DESTINATION ${medgrad_cmake_dir})
endif()

# An archive cannot name the libraries it needs, so whoever links one has to be told of Highway, fmt and zlib; a
# shared library knows by itself.
set(medgrad_pc_needs "libhwy fmt")
if(MEDGRAD_HAS_ZLIB)
  string(APPEND medgrad_pc_needs " zlib")
endif()
get_target_property(medgrad_type medgrad TYPE)
if(medgrad_type STREQUAL "STATIC_LIBRARY")
  set(medgrad_is_static TRUE)
  set(medgrad_pc_links "Requires: ${medgrad_pc_needs}\nLibs: -L\${libdir} -lmedgrad -pthread")
else()
  set(medgrad_is_static FALSE)
  set(medgrad_pc_links "Requires.private: ${medgrad_pc_needs}\nLibs: -L\${libdir} -lmedgrad\nLibs.private: -pthread")
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/medgradConfig.cmake.in
  ${PROJECT_BINARY_DIR}/medgradConfig.cmake INSTALL_DESTINATION ${medgrad_cmake_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/medgradConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/medgradConfig.cmake ${PROJECT_BINARY_DIR}/medgradConfigVersion.cmake
  DESTINATION ${medgrad_cmake_dir})

# The prefix is relative to the .pc file itself, so that an installed tree can be moved.
file(RELATIVE_PATH medgrad_pc_prefix
  /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/medgrad.pc.in ${PROJECT_BINARY_DIR}/medgrad.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/medgrad.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
