# lagtrap_unit_test(NAME LINK targets... [SOURCES files...]): builds tests/unit/NAME, with the tests of its rooms, into one
# GoogleTest program NAME_tests, which CTest runs as unit.NAME: to start it for each of its tests took longer than most of them.
# lagtrap_integration_test(NAME COMMAND command... [TIMEOUT seconds]): a test under the label "integration" that skips,
# with its reason, by exit code 77.
option(LAGTRAP_TESTS "Build and register the tests" ON)
if(LAGTRAP_TESTS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  # Itself: what lies in PATH may be a script of pyenv, which takes half a second for each start.
  execute_process(COMMAND ${Python3_EXECUTABLE} -c "import sys; print(sys.executable)" OUTPUT_VARIABLE Python3_EXECUTABLE
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  find_package(GTest REQUIRED)
  # In a quarter of the time; of the programs that people run none is linked so (docs/decisions/0065).
  add_library(lagtrap_test_linker INTERFACE)
  option(LAGTRAP_LLD "Link unit tests with lld" OFF)
  if(LAGTRAP_LLD)
    target_link_options(lagtrap_test_linker INTERFACE -fuse-ld=lld -Wl,--build-id=sha1)  # of the length that GNU ld gives
  endif()
  add_library(lagtrap_test_main STATIC ${PROJECT_SOURCE_DIR}/tests/unit/main.cpp)
  target_link_libraries(lagtrap_test_main PUBLIC lagtrap_flags lagtrap_test_linker GTest::gmock GTest::gtest)
  # The one file that knows where the tests are: all others are compiled once for any number of work trees.
  add_library(lagtrap_test_paths STATIC ${PROJECT_SOURCE_DIR}/tests/unit/test_paths.cpp)
  target_link_libraries(lagtrap_test_paths PUBLIC lagtrap_flags)
  target_compile_definitions(lagtrap_test_paths PRIVATE
    LAGTRAP_SOURCE_DIR="${PROJECT_SOURCE_DIR}" LAGTRAP_BINARY_DIR="${PROJECT_BINARY_DIR}"
    LAGTRAP_TEST_PYTHON="${Python3_EXECUTABLE}")
endif()

function(lagtrap_unit_test name)
  if(NOT LAGTRAP_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/${name}/*.cpp
      ${PROJECT_SOURCE_DIR}/tests/unit/${name}/*/*_test.cpp)
  endif()
  add_executable(${name}_tests ${arg_SOURCES})
  target_link_libraries(${name}_tests PRIVATE lagtrap_flags ${arg_LINK} lagtrap_test_paths lagtrap_test_main)
  add_test(NAME unit.${name} COMMAND ${name}_tests --gtest_brief=1)
  set_tests_properties(unit.${name} PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
endfunction()

function(lagtrap_integration_test name)
  if(NOT LAGTRAP_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "TIMEOUT" "COMMAND" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS integration SKIP_RETURN_CODE 77 TIMEOUT ${arg_TIMEOUT})
endfunction()
