# Warnings and sanitizers that every target shares.
find_package(Threads REQUIRED)

add_library(nx_options INTERFACE)
target_compile_options(nx_options INTERFACE -Wall -Wextra -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # Its analysis takes the sum of a literal and a string to be endless and to overlap with itself, and what an
  # empty std::optional does not hold to be used.
  target_compile_options(nx_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict$<SEMICOLON>-Wno-array-bounds$<SEMICOLON>-Wno-stringop-overflow$<SEMICOLON>-Wno-maybe-uninitialized>)
endif()
target_include_directories(nx_options INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}>)

if(NX_SANITIZE)
  list(JOIN NX_SANITIZE "," nx_sanitizers)
  add_compile_options(-fsanitize=${nx_sanitizers} -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${nx_sanitizers})
  if(NX_BUILD_FUZZERS) # what the fuzz targets call tells them how far they got
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()
  if(NX_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      # It looks for a mark in front of each function that is called by pointer, and kernels of a code
      # image have none: there, the bytes in front may not even be mapped.
      add_compile_options(-fno-sanitize=function)
    endif()
  endif()
endif()
