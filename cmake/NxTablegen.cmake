# nx_tablegen(OUT ARGS...): mlir_tablegen on LLVM_TARGET_DEFINITIONS with the project's root and MLIR's
# headers on the include path.
macro(nx_tablegen out)
  mlir_tablegen(${out} ${ARGN} EXTRA_INCLUDES ${CMAKE_SOURCE_DIR} ${MLIR_INCLUDE_DIRS})
endmacro()
