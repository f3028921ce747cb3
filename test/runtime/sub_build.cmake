# Configures the runtime and its tests in a build tree of their own, builds some targets and runs some
# tests: how ctest covers sanitizers and fuzzers. Lists are separated by "|".
#   cmake -DSOURCE=.. -DBINARY=.. -DOPTIONS="-DX=1|-DY=2" -DTARGETS="a|b" -DTESTS=regex -P sub_build.cmake
string(REPLACE "|" ";" OPTIONS "${OPTIONS}")
string(REPLACE "|" ";" TARGETS "${TARGETS}")
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed: ${ARGN}")
  endif()
endfunction()
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${BINARY} -G Ninja -DNX_BUILD_COMPILER=OFF ${OPTIONS})
run(${CMAKE_COMMAND} --build ${BINARY} --target ${TARGETS})
run(${CMAKE_CTEST_COMMAND} --test-dir ${BINARY} -R ${TESTS} --no-tests=error --output-on-failure)
