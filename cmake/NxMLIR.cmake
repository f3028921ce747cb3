# Finds Debian's MLIR/LLVM 22 and defines how nx builds against it.
#
# Only the two shared libraries are linked: naming a component archive beside them registers LLVM's
# command-line options twice, which aborts at start.
file(GLOB nx_mlir_hints /usr/lib/llvm-22/lib/cmake/mlir)
find_package(MLIR REQUIRED CONFIG HINTS ${nx_mlir_hints}) # its version file wants major.minor: checked here
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "nx needs MLIR and LLVM 22, found ${LLVM_VERSION} in ${MLIR_DIR}")
endif()
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include(NxTablegen)
include(NxDocs)

add_library(nx_mlir INTERFACE)
target_include_directories(nx_mlir SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_link_libraries(nx_mlir INTERFACE nx_options MLIR LLVM)
separate_arguments(nx_llvm_definitions NATIVE_COMMAND ${LLVM_DEFINITIONS})
target_compile_options(nx_mlir INTERFACE ${nx_llvm_definitions})
if(NOT LLVM_ENABLE_RTTI)
  target_compile_options(nx_mlir INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
endif()

# MLIR's headers dominate compile time (30 s a file without, 7 s with): one precompiled header for all.
file(WRITE ${CMAKE_BINARY_DIR}/nx_pch.cpp "")
add_library(nx_pch OBJECT ${CMAKE_BINARY_DIR}/nx_pch.cpp)
target_link_libraries(nx_pch PRIVATE nx_mlir)
target_precompile_headers(nx_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch.h)

# nx_add_library(NAME SOURCES... [LINK LIBS...]): one room of the compiler, nx_ and its folder.
function(nx_add_library name)
  cmake_parse_arguments(arg "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC nx_mlir ${arg_LINK})
  target_precompile_headers(${name} REUSE_FROM nx_pch)
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
endfunction()

# nx_add_tool(NAME SOURCES... [LINK LIBS...]): one program that links the compiler.
function(nx_add_tool name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE nx_mlir ${arg_LINK})
  # CMake would say -fPIE; the precompiled header was built with -fPIC.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  target_precompile_headers(${name} REUSE_FROM nx_pch)
endfunction()
