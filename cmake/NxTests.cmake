# How tests are found and registered. Labels: quick (daily work, under 3 minutes in all), e2e, bench,
# asan, tsan, fuzz, docs, python.
find_package(GTest REQUIRED)

include(NxPython)
execute_process(COMMAND ${NX_PYTHON} -c "import numpy, onnx, onnxruntime"
                RESULT_VARIABLE nx_oracles_missing OUTPUT_QUIET ERROR_QUIET)
if(nx_oracles_missing)
  set(NX_PYTHON_ORACLES FALSE)
  message(STATUS "Python without numpy, onnx and onnxruntime: tests against them are left out (scripts/venv.sh)")
else()
  set(NX_PYTHON_ORACLES TRUE)
endif()

# Whether torch is there, without the seconds that importing it takes.
execute_process(COMMAND ${NX_PYTHON} -c "import importlib.util, sys; sys.exit(not importlib.util.find_spec('torch'))"
                RESULT_VARIABLE nx_torch_missing OUTPUT_QUIET ERROR_QUIET)
if(nx_torch_missing OR nx_oracles_missing)
  set(NX_PYTHON_TORCH FALSE)
else()
  set(NX_PYTHON_TORCH TRUE)
endif()

find_program(NX_LIT NAMES lit llvm-lit HINTS /usr/lib/llvm-22/bin REQUIRED)
find_program(NX_FILECHECK FileCheck HINTS /usr/lib/llvm-22/bin REQUIRED)
cmake_path(GET NX_FILECHECK PARENT_PATH NX_LLVM_TOOLS_DIR)
set(NX_TEST_MEMORY_MIB 3072 CACHE STRING "Address space of each process of a lit test")

# nx_add_lit_tests(): configures lit and registers one ctest test `lit/<folder>` for each folder of test/
# that holds lit tests, at most two levels deep. New files and folders are found by themselves.
function(nx_add_lit_tests)
  configure_file(${CMAKE_SOURCE_DIR}/test/lit.site.cfg.py.in ${CMAKE_BINARY_DIR}/test/lit.site.cfg.py @ONLY)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/test
       ${CMAKE_SOURCE_DIR}/test/*.mlir ${CMAKE_SOURCE_DIR}/test/*.test)
  set(folders)
  foreach(file ${files})
    string(REGEX MATCH "^[^/]+(/[^/]+)?" folder ${file})
    if(folder STREQUAL file)
      cmake_path(GET file PARENT_PATH folder)
    endif()
    list(APPEND folders ${folder})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  if(NOT NX_BUILD_COMPILER)
    list(FILTER folders INCLUDE REGEX "^tools/nx-(run|inspect)")
  endif()
  foreach(folder ${folders})
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/test/${folder})
    add_test(NAME lit/${folder} COMMAND ${NX_LIT} -v -j 2 ${CMAKE_BINARY_DIR}/test/${folder})
    set_tests_properties(lit/${folder} PROPERTIES LABELS "quick;lit" PROCESSORS 2 TIMEOUT 600)
  endforeach()
endfunction()

# nx_add_unittest(NAME SOURCES... [LINK LIBS...] [LABELS LABELS...]): a GoogleTest program without the
# compiler, as the ctest test `unit/NAME`.
function(nx_add_unittest name)
  cmake_parse_arguments(arg "" "" "LINK;LABELS" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE nx_options ${arg_LINK} GTest::gtest_main)
  add_test(NAME unit/${name} COMMAND ${name})
  set_tests_properties(unit/${name} PROPERTIES LABELS "quick;unit;${arg_LABELS}" TIMEOUT 300)
endfunction()

# nx_add_fuzzer(NAME SOURCES... [LINK LIBS...] [CORPUS DIR]): a libFuzzer target (with NX_BUILD_FUZZERS),
# run for NX_FUZZ_SECONDS as the ctest test `fuzz/NAME`.
set(NX_FUZZ_SECONDS 30 CACHE STRING "How long ctest runs each fuzz target")
function(nx_add_fuzzer name)
  if(NOT NX_BUILD_FUZZERS)
    return()
  endif()
  cmake_parse_arguments(arg "" "CORPUS" "LINK" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE nx_options ${arg_LINK})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set(found ${CMAKE_CURRENT_BINARY_DIR}/${name}_corpus)
  file(MAKE_DIRECTORY ${found})
  add_test(NAME fuzz/${name} COMMAND ${name} -max_total_time=${NX_FUZZ_SECONDS} -rss_limit_mb=2048
           -timeout=20 -max_len=65536 ${found} ${arg_CORPUS})
  set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz TIMEOUT 600)
endfunction()
