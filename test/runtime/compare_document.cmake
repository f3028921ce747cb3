# Fails when DOCUMENT is not what PROGRAM prints.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE want RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} failed")
endif()
file(READ ${DOCUMENT} got)
if(NOT got STREQUAL want)
  message(FATAL_ERROR "${DOCUMENT} is out of date: build the target ${UPDATE}")
endif()
