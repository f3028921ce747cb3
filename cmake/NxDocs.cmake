# The target `docs`: reference pages of dialects and passes, generated from their .td files into
# <build>/docs. nx_add_doc(OUT TD GENERATOR ARGS...) adds one page.
add_custom_target(docs)

function(nx_add_doc out td)
  set(page ${CMAKE_BINARY_DIR}/docs/${out})
  add_custom_command(
    OUTPUT ${page}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/docs
    COMMAND ${MLIR_TABLEGEN_EXE} ${ARGN} -I ${CMAKE_SOURCE_DIR} -I ${MLIR_INCLUDE_DIRS}
            ${CMAKE_CURRENT_SOURCE_DIR}/${td} -o ${page}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${td}
    COMMENT "docs/${out}")
  string(MAKE_C_IDENTIFIER doc_${out} name)
  add_custom_target(${name} DEPENDS ${page})
  add_dependencies(docs ${name})
endfunction()
