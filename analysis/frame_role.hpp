// What a function is for the reader of a report: the program's own work, or the plumbing beneath and around it.
#pragma once

#include <string>
#include <string_view>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

enum class FrameRole : std::uint8_t {
    Kernel,
    Start,        // only starts threads or programs ("_start", "clone3")
    Plumbing,     // the C and C++ libraries, the dynamic linker, a language's runtime: called, never looked for
    Interpreter,  // the loop that runs a script, and the calls from it and back ("_PyEval_EvalFrameDefault")
    RunTimeCode,  // JIT code: a script's own functions
    Code,         // the program, its libraries, and others' libraries that work for it
};

[[nodiscard]] FrameRole role_of(const Recording& recording, const Frame& frame);

// Whether a file is the runtime of a language ("/usr/bin/node", "libjvm.so", "libpython3.11.so.1.0"): plumbing wherever
// the script's own functions are known.
[[nodiscard]] bool is_language_runtime(std::string_view path);

// "libz" for "/usr/lib/x86_64-linux-gnu/libz.so.1.2.13", "node" for "/usr/bin/node"; empty for an empty path.
[[nodiscard]] std::string_view module_name(std::string_view path);

// "pthread_mutex_lock" for "___pthread_mutex_lock", "__GI___clock_nanosleep@@GLIBC_2.17" and the like: the C library's
// function as programs call it.
[[nodiscard]] std::string_view plain_function(std::string_view function);

}  // namespace lagtrap::analysis
