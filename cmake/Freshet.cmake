# One helper per kind of target, so that warnings, sanitizers and include paths are defined once.

option(FRESHET_SANITIZE "Comma-separated sanitizers, e.g. address,undefined" "")

add_library(freshet_flags INTERFACE)
target_compile_features(freshet_flags INTERFACE cxx_std_20)
target_include_directories(freshet_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(freshet_flags INTERFACE
  # Designated initialisers leave out what keeps its default, on purpose.
  -Wall -Wextra -Wno-missing-field-initializers -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wunused
  -Werror=unused-result -Werror=return-type -Werror=switch -fno-omit-frame-pointer
  # Some libraries require it; without it everywhere, targets could not share precompiled headers.
  -pthread)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(freshet_flags INTERFACE -Werror=thread-safety)
else()
  # Compiled together, sources look like headers to the compiler.
  target_compile_options(freshet_flags INTERFACE -Wno-subobject-linkage)
  # GCC then collects no garbage below 768 MB: a source takes 4 to 16% less time.
  add_compile_options(--param=ggc-min-heapsize=786432)
endif()
if(FRESHET_SANITIZE)
  target_compile_options(freshet_flags INTERFACE -fsanitize=${FRESHET_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(freshet_flags INTERFACE -fsanitize=${FRESHET_SANITIZE})
endif()

# Link-time optimisation of release builds (docs/decisions/0007). Fat objects serve both kinds of link: programs are
# optimised as a whole; tests, which opt out, link quickly.
set(freshet_lto_compile "")
set(freshet_lto_link "")
set(freshet_plain_link "")
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT FRESHET_SANITIZE)
  set(freshet_lto_compile -flto -ffat-lto-objects)
  set(freshet_lto_link -flto=auto)
  set(freshet_plain_link -fno-lto -fno-use-linker-plugin)
endif()

include(cmake/Precompiled.cmake)

# freshet_library(NAME SOURCES a.cc b.cc DEPS x y PRECOMPILED kind): one layer, one library; the linker enforces
# direction. Precompiled.cmake has the kinds of precompiled headers.
function(freshet_library NAME)
  cmake_parse_arguments(ARG "" "PRECOMPILED" "SOURCES;DEPS" ${ARGN})
  add_library(${NAME} STATIC ${ARG_SOURCES})
  target_link_libraries(${NAME} PUBLIC freshet_flags ${ARG_DEPS})
  if(ARG_PRECOMPILED)
    freshet_use_precompiled(${NAME} ${ARG_PRECOMPILED})
  endif()
endfunction()

# freshet_program(NAME SOURCES main.cc DEPS x y PRECOMPILED kind): a program in build/<preset>/bin.
function(freshet_program NAME)
  cmake_parse_arguments(ARG "" "PRECOMPILED" "SOURCES;DEPS" ${ARGN})
  add_executable(${NAME} ${ARG_SOURCES})
  if(ARG_PRECOMPILED)
    freshet_use_precompiled(${NAME} ${ARG_PRECOMPILED})
  endif()
  target_link_libraries(${NAME} PRIVATE freshet_flags ${ARG_DEPS})
  target_link_options(${NAME} PRIVATE ${freshet_lto_link})
  set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endfunction()

# Tests, and programs that attack and kill servers, compile faster with less optimisation, and run as fast: the code
# that they call is fully optimised.
add_library(freshet_test_flags INTERFACE)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_options(freshet_test_flags INTERFACE -O1)
endif()

# freshet_part(LABEL TARGET...): the target tests_LABEL builds everything that the tests with that label need.
function(freshet_part LABEL)
  if(NOT TARGET tests_${LABEL})
    add_custom_target(tests_${LABEL})
  endif()
  if(ARGN)
    add_dependencies(tests_${LABEL} ${ARGN})
  endif()
endfunction()

# freshet_test(NAME SOURCES x_test.cc y_test.cc DEPS z LABELS l TIMEOUT s SHARDS x_test=4 PRECOMPILED kind): the tests
# of a folder as one GoogleTest program, which links once. Each source gets a ctest entry, named after it, and with
# FOLDER after the folder too, so that sources run in parallel. SHARDS splits a source into several entries. A limit in
# seconds is at least ten times the longest run on a quiet machine. PRECOMPILED: `test` by default. Each label is a part
# (freshet_part).
function(freshet_test NAME)
  cmake_parse_arguments(ARG "" "TIMEOUT;PRECOMPILED;FOLDER" "SOURCES;DEPS;LABELS;SHARDS" ${ARGN})
  if(NOT ARG_PRECOMPILED)
    set(ARG_PRECOMPILED test)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${NAME} ${ARG_SOURCES})
  # Includes fmt, one of the precompiled headers.
  target_link_libraries(${NAME} PRIVATE
    freshet_flags freshet_test_flags ${ARG_DEPS} fmt::fmt GTest::gmock GTest::gtest_main)
  target_link_options(${NAME} PRIVATE ${freshet_plain_link})
  freshet_use_precompiled(${NAME} ${ARG_PRECOMPILED})
  target_compile_definitions(${NAME} PRIVATE
    FRESHET_SOURCE_DIR="${PROJECT_SOURCE_DIR}" FRESHET_BIN_DIR="${PROJECT_BINARY_DIR}/bin")
  set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  foreach(label ${ARG_LABELS})
    freshet_part(${label} ${NAME})
  endforeach()
  foreach(source ${ARG_SOURCES})
    if(source MATCHES "_test\\.cc$")
      freshet_test_entries(${source})
    endif()
  endforeach()
endfunction()

# Makes the ctest entries of a source; reads NAME and the arguments of freshet_test.
macro(freshet_test_entries SOURCE)
  # Reads the tests from the source, again whenever it changes.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${SOURCE})
  file(STRINGS ${SOURCE} tests REGEX "^(TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\\(")
  if(NOT tests)
    message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR}/${SOURCE} has no tests")
  endif()
  list(TRANSFORM tests REPLACE "^[A-Z_]+\\(([A-Za-z0-9]+).*" "\\1.*:*/\\1.*:\\1/*")
  list(REMOVE_DUPLICATES tests)
  list(JOIN tests ":" filter)
  get_filename_component(entry ${SOURCE} NAME_WE)
  set(shards 1)
  foreach(of ${ARG_SHARDS})
    if(of MATCHES "^${entry}=([0-9]+)$")
      set(shards ${CMAKE_MATCH_1})
    endif()
  endforeach()
  if(ARG_FOLDER)
    set(entry ${ARG_FOLDER}_${entry})
  endif()
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    set(test ${entry})
    if(shards GREATER 1)
      set(test ${entry}_${shard})
    endif()
    add_test(NAME ${test} COMMAND ${NAME} "--gtest_filter=${filter}")
    set_tests_properties(${test} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endmacro()

option(FRESHET_FUZZ "Link fuzzers with libFuzzer, which needs clang; see the preset `fuzz`" OFF)
add_custom_target(fuzzers)

# freshet_fuzzer(NAME SOURCES x_fuzz.cc DEPS y MAX_LEN bytes): a harness (LLVMFuzzerTestOneInput), with its seeds in
# tests/fuzz/seeds/NAME. The preset `fuzz` makes it a libFuzzer program, which ./dev fuzz runs. Every other build links
# it with tests/fuzz/driver.cc and runs it as a test, for a second.
function(freshet_fuzzer NAME)
  cmake_parse_arguments(ARG "" "MAX_LEN" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_MAX_LEN)
    set(ARG_MAX_LEN 4096)
  endif()
  set(seeds ${PROJECT_SOURCE_DIR}/tests/fuzz/seeds/${NAME})
  if(NOT IS_DIRECTORY ${seeds})
    message(FATAL_ERROR "${NAME} needs at least one input to start from, in ${seeds}")
  endif()
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE freshet_flags ${ARG_DEPS})
  set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
  add_dependencies(fuzzers ${NAME})
  set_property(GLOBAL APPEND PROPERTY freshet_fuzzers "${NAME} ${ARG_MAX_LEN}")
  if(FRESHET_FUZZ)
    target_link_options(${NAME} PRIVATE -fsanitize=fuzzer)
    return()
  endif()
  target_sources(${NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/driver.cc)
  target_link_options(${NAME} PRIVATE ${freshet_plain_link})
  add_test(NAME ${NAME}
    COMMAND ${NAME} --seconds 1 --max-len ${ARG_MAX_LEN} --seeds ${seeds})
  set_tests_properties(${NAME} PROPERTIES TIMEOUT 300 LABELS fuzz)
  freshet_part(fuzz ${NAME})
endfunction()
