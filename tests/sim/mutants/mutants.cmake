# Checkers are shown to bite: a mutant is a copy of one real source with one mistake in it, linked
# into a swarm in place of that source. A swarm that says nothing about it watches nothing.
#
# cw_swarm_mutant(NAME SWARM target SOURCE file FROM text TO text FOUND_BY checker
#                 [SEED n] [PACKETS n]):
#   FROM stands in SOURCE (from the project's root, a .cc or .c) exactly once, else configuring
#   fails; with TO in its place the swarm must tell a violation by FOUND_BY, the checker's name,
#   before so many packets have crossed, and ends there: seeds and packets are the same on every
#   machine, and a budget that is never used costs nothing. The program is
#   build/mutants/SWARM_NAME, its test SWARM.mutant.NAME. SWARM is an executable without sources
#   of its own, whose libraries bring SOURCE: what a program defines itself is not taken from them.
function(cw_swarm_mutant name)
  # This form alone leaves the semicolons of a text alone.
  cmake_parse_arguments(PARSE_ARGV 1 M "" "SWARM;SOURCE;FROM;TO;FOUND_BY;SEED;PACKETS" "")
  foreach(wanted SWARM SOURCE FROM FOUND_BY)
    if(NOT M_${wanted})
      message(FATAL_ERROR "mutant ${name}: ${wanted} is missing")
    endif()
  endforeach()
  if(NOT M_SEED)
    set(M_SEED 1)
  endif()
  if(NOT M_PACKETS)
    set(M_PACKETS 20000000)
  endif()
  set(original ${CMAKE_SOURCE_DIR}/${M_SOURCE})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${original})

  file(READ ${original} text)
  string(FIND "${text}" "${M_FROM}" first)
  string(FIND "${text}" "${M_FROM}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "mutant ${name}: its text stands in ${M_SOURCE} not once: ${M_FROM}")
  endif()
  string(REPLACE "${M_FROM}" "${M_TO}" text "${text}")
  set(program ${M_SWARM}_${name})
  set(copy ${CMAKE_BINARY_DIR}/mutants/sources/${program}/${M_SOURCE})
  set(before "")
  if(EXISTS ${copy})
    file(READ ${copy} before)
  endif()
  if(NOT before STREQUAL text)
    file(WRITE ${copy} "${text}")
  endif()

  get_target_property(libraries ${M_SWARM} LINK_LIBRARIES)
  add_executable(${program} ${copy})
  target_link_libraries(${program} PRIVATE ${libraries})
  target_compile_options(${program} PRIVATE -O1 -g0 -Wno-unused)
  set_target_properties(${program} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/mutants)

  add_test(NAME ${M_SWARM}.mutant.${name}
    COMMAND ${program} --seed ${M_SEED} --packets ${M_PACKETS} --until ${M_FOUND_BY})
  set_tests_properties(${M_SWARM}.mutant.${name} PROPERTIES LABELS swarm TIMEOUT 300
    PASS_REGULAR_EXPRESSION "run [0-9]+: ${M_FOUND_BY}: ")
endfunction()
