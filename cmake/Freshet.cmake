# One helper per kind of target, so that warnings, sanitizers and include paths are said once.

option(FRESHET_SANITIZE "Comma-separated sanitizers, e.g. address,undefined" "")

add_library(freshet_flags INTERFACE)
target_compile_features(freshet_flags INTERFACE cxx_std_20)
target_include_directories(freshet_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(freshet_flags INTERFACE
  # Designated initialisers leave out what keeps its default, on purpose.
  -Wall -Wextra -Wno-missing-field-initializers -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wunused
  -Werror=unused-result -Werror=return-type -Werror=switch -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(freshet_flags INTERFACE -Werror=thread-safety)
endif()
if(FRESHET_SANITIZE)
  target_compile_options(freshet_flags INTERFACE -fsanitize=${FRESHET_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(freshet_flags INTERFACE -fsanitize=${FRESHET_SANITIZE})
endif()

# What a release build compiles with link-time optimisation, and what it links so (docs/decisions/0007). Fat objects
# serve both: programs are optimised as a whole; tests, which say so, link in a moment.
set(freshet_lto_compile "")
set(freshet_lto_link "")
set(freshet_plain_link "")
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT FRESHET_SANITIZE)
  set(freshet_lto_compile -flto -ffat-lto-objects)
  set(freshet_lto_link -flto=auto)
  set(freshet_plain_link -fno-lto)
endif()

# freshet_library(NAME SOURCES a.cc b.cc DEPS x y): one layer, one library; the linker enforces direction.
function(freshet_library NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${NAME} STATIC ${ARG_SOURCES})
  target_link_libraries(${NAME} PUBLIC freshet_flags ${ARG_DEPS})
endfunction()

# freshet_program(NAME SOURCES main.cc DEPS x y): lands in build/<preset>/bin.
function(freshet_program NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE freshet_flags ${ARG_DEPS})
  target_link_options(${NAME} PRIVATE ${freshet_lto_link})
  set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endfunction()

# freshet_test(NAME SOURCES x_test.cc DEPS y LABELS z TIMEOUT s): one GoogleTest program, one ctest entry.
function(freshet_test NAME)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE freshet_flags ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  target_link_options(${NAME} PRIVATE ${freshet_plain_link})
  target_compile_definitions(${NAME} PRIVATE
    FRESHET_SOURCE_DIR="${PROJECT_SOURCE_DIR}" FRESHET_BIN_DIR="${PROJECT_BINARY_DIR}/bin")
  set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${NAME} COMMAND ${NAME})
  set_tests_properties(${NAME} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
