# Builds plugins/example as a stranger would, against installed headers and nothing else of this
# tree, and lets PROGRAM load it.
#
#   cmake -DBUILD=... -DEXAMPLE=... -DFOLDER=... -DCOMPILER=... -DPROGRAM=... -P example_test.cmake
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed with ${status}: ${ARGV}")
  endif()
endfunction()

# A copy of the example elsewhere: nothing is found by its place in the tree.
file(REMOVE_RECURSE ${FOLDER})
file(COPY ${EXAMPLE}/ DESTINATION ${FOLDER}/source)
run(${CMAKE_COMMAND} --install ${BUILD} --component sdk_headers --prefix ${FOLDER}/installed)
run(${CMAKE_COMMAND} -S ${FOLDER}/source -B ${FOLDER}/build -DCMAKE_C_COMPILER=${COMPILER}
  -G Ninja -DCMAKE_C_FLAGS=-Werror -DCAUSEWAY_INCLUDE=${FOLDER}/installed/include)
run(${CMAKE_COMMAND} --build ${FOLDER}/build)
run(${PROGRAM} ${FOLDER}/build/every_twice.so)
