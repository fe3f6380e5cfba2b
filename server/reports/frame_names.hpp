// Names of frames that are the same on every machine and in every build. Internal to
// server/reports/.
#pragma once

#include <string>
#include <string_view>

namespace lagtrap::server::reports {

// Without suffixes of compilers and linkers: ".isra.0", ".constprop.0", ".part.1", ".cold", "
// [clone ...]", "@plt".
[[nodiscard]] std::string_view stable_function(std::string_view function);

// The file name without the folder and a library's version: "libc.so" for "/usr/lib/libc.so.6".
[[nodiscard]] std::string_view stable_module(std::string_view path);

// The class or namespace of a function, without template arguments: "std::__detail::_Executor" for
// "std::__detail::_Executor<char const*, false>::_M_dfs(int)". The function itself if it has none.
[[nodiscard]] std::string owner_of(std::string_view function);

// Whether a user-space function says nothing about the program: C and C++ run-time libraries, the
// dynamic linker, inner loops of interpreters, functions that start threads. Pass results of
// stable_function() and stable_module().
[[nodiscard]] bool is_run_time(std::string_view function, std::string_view module);

}  // namespace lagtrap::server::reports
