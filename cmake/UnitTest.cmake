# lagtrap_unit_test(NAME LINK targets... [SOURCES files...]): builds tests/unit/NAME/*.cpp into one
# GoogleTest program NAME_tests and registers each of its tests with CTest under the label "unit".
find_package(GTest REQUIRED)
include(GoogleTest)

function(lagtrap_unit_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/${name}/*.cpp)
  endif()
  add_executable(${name}_tests ${arg_SOURCES})
  target_link_libraries(${name}_tests PRIVATE lagtrap_flags ${arg_LINK} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name}_tests PRIVATE
    LAGTRAP_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data" LAGTRAP_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    LAGTRAP_BINARY_DIR="${PROJECT_BINARY_DIR}")
  gtest_discover_tests(${name}_tests PROPERTIES LABELS unit DISCOVERY_TIMEOUT 60)
endfunction()
