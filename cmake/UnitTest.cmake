# lagtrap_unit_test(NAME [OWN_FLAGS] LINK targets... [SOURCES files...] [SLOW pattern]): builds tests/unit/NAME, with the tests of its
# rooms, into one GoogleTest program NAME_tests, which CTest runs as unit.NAME: to start it for each of its tests took longer than most of
# them. Those that the pattern SLOW names are unit.NAME.all, for ./dev test --all. OWN_FLAGS: its flags differ from the compiled headers'.
# lagtrap_integration_test(NAME COMMAND command... [TIMEOUT seconds]): a test under the label "integration" that skips,
# with its reason, by exit code 77.
# Programs of tests that ./dev test does not run (fuzz targets, cases): built by name alone where this is off.
option(LAGTRAP_ALL_TESTS "Build the programs of all tests" ON)

# lagtrap_programs_of_all_tests(TARGET...): programs that no test of ./dev test runs.
function(lagtrap_programs_of_all_tests)
  if(NOT LAGTRAP_ALL_TESTS)
    set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# lagtrap_tier(all|long TEST...): leaves tests to ./dev test --all or --long. Tests without a tier are run by ./dev test.
function(lagtrap_tier tier)
  foreach(name ${ARGN})
    set_property(TEST ${name} APPEND PROPERTY LABELS ${tier})
  endforeach()
endfunction()

if(LAGTRAP_TESTS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  # Itself: what lies in PATH may be a script of pyenv, which takes half a second for each start.
  execute_process(COMMAND ${Python3_EXECUTABLE} -c "import sys; print(sys.executable)" OUTPUT_VARIABLE Python3_EXECUTABLE
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  find_package(GTest REQUIRED)
  # lld takes a quarter of the time. Programs that people run are not linked with it (docs/decisions/0029-builds.md).
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
  cmake_parse_arguments(arg "OWN_FLAGS" "SLOW" "SOURCES;LINK" ${ARGN})
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/${name}/*.cpp
      ${PROJECT_SOURCE_DIR}/tests/unit/${name}/*/*_test.cpp)
  endif()
  add_executable(${name}_tests ${arg_SOURCES})
  target_link_libraries(${name}_tests PRIVATE lagtrap_flags ${arg_LINK} lagtrap_test_paths lagtrap_test_main)
  # GoogleTest guards its macros against a dangling else; GCC warns all the same.
  target_compile_options(${name}_tests PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-dangling-else>)
  if(NOT arg_OWN_FLAGS)
    lagtrap_precompile(${name}_tests lagtrap_precompiled_tests)
  endif()
  set(filter "")
  if(arg_SLOW)
    set(filter --gtest_filter=-${arg_SLOW})
    add_test(NAME unit.${name}.all COMMAND ${name}_tests --gtest_brief=1 --gtest_filter=${arg_SLOW})
    set_tests_properties(unit.${name}.all PROPERTIES LABELS "unit;all" SKIP_RETURN_CODE 77)
  endif()
  add_test(NAME unit.${name} COMMAND ${name}_tests --gtest_brief=1 ${filter})
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
