#include "server/reports/frame_names.hpp"

#include <algorithm>
#include <array>

#include "analysis/plumbing.hpp"

namespace lagtrap::server::reports {

namespace {

constexpr auto suffixes = std::to_array<std::string_view>(
    {".isra.", ".constprop.", ".part.", ".cold", ".lto_priv.", ".llvm.", " [clone", "@"});

constexpr auto run_time_modules = std::to_array<std::string_view>({
    "libc.so",
    "libpthread.so",
    "libm.so",
    "libdl.so",
    "librt.so",
    "libgcc_s.so",
    "libstdc++.so",
    "libc++.so",
    "libc++abi.so",
    "libjemalloc.so",
    "libtcmalloc.so",
    "libmimalloc.so",
    "ld-linux-x86-64.so",
    "ld-linux-aarch64.so",
    "ld-musl-x86_64.so",
    "[vdso]",
});

// A pattern with '*' at its end is a prefix; otherwise it is the whole name.
constexpr auto run_time_functions = std::to_array<std::string_view>({
    "std::*",
    "__gnu_cxx::*",
    "void std::*",
    "operator new*",
    "operator delete*",
    "boost::asio::detail::*",
    "__cxa_*",
    "_Unwind_*",
    "_PyEval_*",
    "_PyFunction_*",
    "_PyObject_*",
    "PyObject_Call*",
    "PyEval_*",
    "cfunction_*",
    "method_vectorcall*",
    "runtime.mcall",
    "runtime.goexit*",
    "runtime.main",
    "runtime.systemstack*",
    "core::ops::function::*",
    "std::rt::lang_start*",
    "__rust_begin_short_backtrace*",
    "_dl_*",
});

bool matches(std::string_view name, std::string_view pattern) {
    if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
    return name == pattern;
}

}  // namespace

std::string_view stable_function(std::string_view function) {
    std::size_t end = function.size();
    for (const std::string_view suffix : suffixes) {
        // Searched from 1, because "@" alone is a name. "[libfoo.cold.so]" has no suffix either.
        const std::size_t place = function.find(suffix, 1);
        if (place != std::string_view::npos && function.front() != '[') end = std::min(end, place);
    }
    return function.substr(0, end);
}

std::string_view stable_module(std::string_view path) {
    const std::string_view file = path.substr(path.rfind('/') + 1);
    const std::size_t place = file.find(".so.");
    return place == std::string_view::npos ? file : file.substr(0, place + 3);
}

std::string owner_of(std::string_view function) {
    std::string name;
    std::size_t owner_size = 0;
    int depth = 0;
    for (const char letter : function.substr(0, function.find('('))) {
        depth -= letter == '>' && depth > 0 ? 1 : 0;
        if (depth == 0 && letter != '<' && letter != '>') {
            if (letter == ':' && name.ends_with(':')) owner_size = name.size() - 1;
            name += letter;
            // The return type precedes a blank.
            if (letter == ' ') name.clear(), owner_size = 0;
        }
        depth += letter == '<' ? 1 : 0;
    }
    if (name.empty()) return std::string(function);
    return owner_size > 0 ? name.substr(0, owner_size) : name;
}

bool is_run_time(std::string_view function, std::string_view module) {
    if (std::find(run_time_modules.begin(), run_time_modules.end(), module) !=
        run_time_modules.end())
        return true;
    if (analysis::is_thread_start(function)) return true;
    return std::any_of(run_time_functions.begin(), run_time_functions.end(),
                       [&](std::string_view pattern) { return matches(function, pattern); });
}

}  // namespace lagtrap::server::reports
