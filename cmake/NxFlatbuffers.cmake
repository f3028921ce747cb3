# nx_add_schema(NAME FILE...): generates C++ headers from the FlatBuffer schemas of the calling
# directory into the build tree, under the same relative path, as the interface library NAME.
find_program(NX_FLATC flatc REQUIRED)

function(nx_add_schema name)
  set(outputs)
  foreach(schema ${ARGN})
    get_filename_component(stem ${schema} NAME_WE)
    set(out ${CMAKE_CURRENT_BINARY_DIR}/${stem}_generated.h)
    add_custom_command(
      OUTPUT ${out}
      COMMAND ${NX_FLATC} --cpp --cpp-std c++17 --scoped-enums --gen-mutable -o ${CMAKE_CURRENT_BINARY_DIR}
              ${CMAKE_CURRENT_SOURCE_DIR}/${schema}
      DEPENDS ${ARGN}
      COMMENT "flatc ${schema}")
    list(APPEND outputs ${out})
  endforeach()
  add_custom_target(${name}_gen DEPENDS ${outputs})
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}_gen)
endfunction()
