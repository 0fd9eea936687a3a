# libtorch: Debian's, or another one, to whose CMake files -D Torch_DIR=… leads. For a wheel of PyPI's that is what
# `python -c 'import torch; print(torch.utils.cmake_prefix_path)'` prints, followed by /Torch.
#
# Such a wheel is built with CUDA, and its CMake files want CUDA's compiler. They ask for nothing where this target
# exists; what is used here is in libtorch_cpu, so that programs neither need CUDA to be built nor load it.
if(NOT TARGET torch::cudart)
  add_library(torch::cudart INTERFACE IMPORTED)
endif()
# Its CMake files look in the system's folders first for what belongs to it, where there may be another libtorch.
if(Torch_DIR AND EXISTS "${Torch_DIR}/../Caffe2")
  set(Caffe2_DIR "${Torch_DIR}/../Caffe2")
endif()
set(medgrad_torch_how QUIET)
if(Torch_FIND_REQUIRED)
  set(medgrad_torch_how REQUIRED)
endif()
find_package(Torch ${medgrad_torch_how} CONFIG)
if(NOT Torch_FOUND)
  return()
endif()
if("${TORCH_CXX_FLAGS}" MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
  message(FATAL_ERROR "The libtorch in ${TORCH_INSTALL_PREFIX} has the C++ ABI of before GCC 5, which nothing else that "
    "medgrad links has. Take a later one: PyTorch's wheels have today's ABI since version 2.7.")
endif()
cmake_path(IS_PREFIX TORCH_INSTALL_PREFIX "${c10_LIBRARY}" medgrad_torch_whole)
if(TARGET torch_cuda OR NOT medgrad_torch_whole)
  set(TORCH_LIBRARIES torch_cpu_library c10)
  set_property(TARGET torch_cpu APPEND PROPERTY INTERFACE_INCLUDE_DIRECTORIES ${TORCH_INCLUDE_DIRS})
endif()
