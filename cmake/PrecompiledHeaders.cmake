# Headers that most sources include, compiled once: for ./dev demo and ./dev test. Elsewhere they would hide missing includes and
# keep ccache from finding anything.

# Libraries that compute for seconds in tests. The preset "test" optimises them and nothing else: without it a merge takes five times as
# long and uses up its budget for names.
set(lagtrap_optimised_in_tests "^(core|sandbox|binaries|trace_.*|server_reports|server_sketch)$")

# lagtrap_precompile(TARGET HEADERS): gives the target the compiled headers of that name, where there are any.
function(lagtrap_precompile target headers)
  if(TARGET ${headers})
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
endfunction()

# lagtrap_precompile_library(NAME): the same for the library of a folder.
function(lagtrap_precompile_library name)
  if(TARGET lagtrap_precompiled_optimised AND name MATCHES "${lagtrap_optimised_in_tests}")
    target_compile_options(lagtrap_${name} PRIVATE -O1)
    lagtrap_precompile(lagtrap_${name} lagtrap_precompiled_optimised)
  else()
    lagtrap_precompile(lagtrap_${name} lagtrap_precompiled)
  endif()
endfunction()

# lagtrap_compiled_headers(NAME COMPILE options... LINK targets... MORE headers...)
function(lagtrap_compiled_headers name)
  cmake_parse_arguments(arg "" "" "COMPILE;LINK;MORE" ${ARGN})
  add_library(${name} STATIC core/libraries/precompiled.cpp)
  target_compile_options(${name} PRIVATE ${arg_COMPILE})
  target_link_libraries(${name} PRIVATE lagtrap_flags lagtrap_fmt Boost::json ${arg_LINK})
  target_precompile_headers(${name} PRIVATE
    <algorithm> <array> <chrono> <filesystem> <functional> <map> <memory> <mutex> <optional> <set> <string> <string_view> <thread>
    <unordered_map> <variant> <vector> <boost/asio/io_context.hpp> <boost/asio/post.hpp> <boost/asio/posix/stream_descriptor.hpp>
    <boost/asio/steady_timer.hpp> <boost/json.hpp> <fmt/format.h> ${arg_MORE})
endfunction()

if(LAGTRAP_PRECOMPILED_HEADERS)
  find_package(Boost REQUIRED COMPONENTS json)
  lagtrap_compiled_headers(lagtrap_precompiled)
  if(LAGTRAP_TESTS)
    find_package(GTest REQUIRED)
    lagtrap_compiled_headers(lagtrap_precompiled_optimised COMPILE -O1)
    lagtrap_compiled_headers(lagtrap_precompiled_tests LINK GTest::gmock GTest::gtest MORE <gmock/gmock.h> <gtest/gtest.h>)
  endif()
endif()
