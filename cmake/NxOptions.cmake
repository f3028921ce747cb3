# Warnings and sanitizers that every target shares.
find_package(Threads REQUIRED)

add_library(nx_options INTERFACE)
target_compile_options(nx_options INTERFACE -Wall -Wextra -Wno-unused-parameter)
target_include_directories(nx_options INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}>)

if(NX_SANITIZE)
  list(JOIN NX_SANITIZE "," nx_sanitizers)
  add_compile_options(-fsanitize=${nx_sanitizers} -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${nx_sanitizers})
  if(NX_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      # It looks for a mark in front of each function that is called by pointer, and kernels of a code
      # image have none: there, the bytes in front may not even be mapped.
      add_compile_options(-fno-sanitize=function)
    endif()
  endif()
endif()
