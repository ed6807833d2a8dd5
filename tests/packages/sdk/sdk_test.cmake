# Installs the SDK and builds the example of dataplane/sdr's README against it, as a stranger would.
#
#   cmake -DBUILD=... -DTREE=... -DFOLDER=... -DCOMPILER=... -P sdk_test.cmake
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed with ${status}: ${ARGV}")
  endif()
endfunction()

file(REMOVE_RECURSE ${FOLDER})
file(COPY ${TREE}/tests/packages/sdk/CMakeLists.txt DESTINATION ${FOLDER}/source)
file(READ ${TREE}/tests/unit/sdk/example.c example)
string(REPLACE "\"dataplane/sdr/sdr.h\"" "<causeway/sdr.h>" example "${example}")
file(WRITE ${FOLDER}/source/example.c "${example}")

set(prefix ${FOLDER}/installed)
foreach(component library sdk_headers dev)
  run(${CMAKE_COMMAND} --install ${BUILD} --component ${component} --prefix ${prefix})
endforeach()
file(GLOB_RECURSE description ${prefix}/causeway.pc)
get_filename_component(folder ${description} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${folder})
run(${CMAKE_COMMAND} -S ${FOLDER}/source -B ${FOLDER}/build -DCMAKE_C_COMPILER=${COMPILER}
  -G Ninja -DCMAKE_PREFIX_PATH=${prefix} -DPKG_CONFIG_ARGN=--define-prefix)
run(${CMAKE_COMMAND} --build ${FOLDER}/build)
run(${FOLDER}/build/by_cmake)
run(${FOLDER}/build/by_pkg_config)
