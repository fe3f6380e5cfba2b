// Classifies functions for the reader of a report: the program's own work, or the plumbing around
// and below it.
#pragma once

#include <string>
#include <string_view>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

enum class FrameRole : std::uint8_t {
    Kernel,
    Start,  // only starts threads or programs ("_start", "clone3")
    // C and C++ libraries, dynamic linker, language runtime: called, but never of interest
    Plumbing,
    // the loop that runs a script, and calls to and from it ("_PyEval_EvalFrameDefault")
    Interpreter,
    RunTimeCode,  // JIT code and functions of a script
    // functions of a script in its language's own library ("/usr/lib/python3.11/threading.py")
    ScriptLibrary,
    Code,  // the program, its libraries, and third-party libraries it uses
};

[[nodiscard]] FrameRole role_of(const Recording& recording, const Frame& frame);

// True for functions of a script, whatever their names: of run-time code, only they have a file.
[[nodiscard]] bool is_of_script(std::string_view module, std::string_view source);
[[nodiscard]] bool is_of_script(const Recording& recording, const Frame& frame);

// True if the file is the runtime of a language ("/usr/bin/node", "libjvm.so",
// "libpython3.11.so.1.0"), which is plumbing wherever the script's own functions are known.
[[nodiscard]] bool is_language_runtime(std::string_view path);

// "libz" for "/usr/lib/x86_64-linux-gnu/libz.so.1.2.13", "node" for "/usr/bin/node"; empty for an
// empty path.
[[nodiscard]] std::string_view module_name(std::string_view path);

// True for helpers that wait for their callers: "WaitEventSetWait", "g_cond_wait".
[[nodiscard]] bool is_wait_wrapper(std::string_view function);

// "pthread_mutex_lock" for "___pthread_mutex_lock", "__GI___clock_nanosleep@@GLIBC_2.17" and the
// like: a C library function by the name that programs use.
[[nodiscard]] std::string_view plain_function(std::string_view function);

}  // namespace lagtrap::analysis
