# lagtrap_unit_test(NAME LINK targets... [SOURCES files...]): builds tests/unit/NAME, with the tests of its rooms, into one
# GoogleTest program NAME_tests and registers each of its tests with CTest under the label "unit".
# lagtrap_integration_test(NAME COMMAND command... [TIMEOUT seconds]): a test under the label "integration" that skips,
# with its reason, by exit code 77.
option(LAGTRAP_TESTS "Build and register the tests" ON)
option(LAGTRAP_PRECOMPILED_HEADERS "Compile the headers that every unit test includes once; then ccache keeps nothing of them" OFF)
if(LAGTRAP_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# The headers are half of the time that a unit test takes to compile.
function(lagtrap_precompile_test_headers target)
  if(NOT LAGTRAP_PRECOMPILED_HEADERS)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE
    <algorithm> <array> <chrono> <filesystem> <fstream> <functional> <map> <memory> <optional> <set> <span> <sstream> <string>
    <thread> <unordered_map> <variant> <vector> <gmock/gmock.h> <gtest/gtest.h>)
  # GCC 12 forgets which precompiled headers are the system's own, and warns of what it has inlined from them.
  target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread
    -Wno-maybe-uninitialized -Wno-nonnull)
endfunction()

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
  target_link_libraries(${name}_tests PRIVATE lagtrap_flags ${arg_LINK} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name}_tests PRIVATE
    LAGTRAP_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data" LAGTRAP_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    LAGTRAP_BINARY_DIR="${PROJECT_BINARY_DIR}")
  lagtrap_precompile_test_headers(${name}_tests)
  gtest_discover_tests(${name}_tests PROPERTIES LABELS unit DISCOVERY_TIMEOUT 60)
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
