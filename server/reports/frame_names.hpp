// Names of frames that mean the same on every machine and in every build. Used inside server/reports/ alone.
#pragma once

#include <string>
#include <string_view>

namespace lagtrap::server::reports {

// Without what compilers and linkers add: ".isra.0", ".constprop.0", ".part.1", ".cold", " [clone ...]", "@plt".
[[nodiscard]] std::string_view stable_function(std::string_view function);

// The file's name without folder and without a library's version: "libc.so" for "/usr/lib/libc.so.6".
[[nodiscard]] std::string_view stable_module(std::string_view path);

// Whether a function of a program's or library's stack says nothing of the program: the C and C++ run-time libraries, the
// dynamic linker, interpreters' inner loops, functions that start threads. `function` and `module` as above.
// What a function belongs to, without arguments of templates: "std::__detail::_Executor" of
// "std::__detail::_Executor<char const*, false>::_M_dfs(int)"; the function itself if it belongs to nothing.
[[nodiscard]] std::string owner_of(std::string_view function);

[[nodiscard]] bool is_run_time(std::string_view function, std::string_view module);

}  // namespace lagtrap::server::reports
