#include "analysis/place_words.hpp"

#include <cmath>

#include "analysis/frame_role.hpp"
#include "analysis/function_name.hpp"

namespace lagtrap::analysis {

namespace {

std::string function_words(const CallPlace& place) {
    return analysis::function_words(place.function, place.module);
}

// "libcurl", "LLVM's JIT compiler (libLLVM-14)".
std::string library_words(const CallFocus& focus) {
    const std::string name(module_name(focus.place.module));
    const bool compiles_at_run_time =
        name.starts_with("libLLVM") &&
        module_name(focus.caller_module).find("jit") != std::string_view::npos;
    return compiles_at_run_time ? "LLVM's JIT compiler (" + name + ")" : name;
}

std::string called_by(const CallFocus& focus) {
    if (!focus.caller.empty() && !focus.caller.starts_with('['))
        return ", called by " + short_function_name(focus.caller);
    return focus.library && !focus.caller_module.empty()
               ? ", called from " + std::string(module_name(focus.caller_module))
               : "";
}

std::string parts_words(const CallFocus& focus, std::uint64_t whole_ns) {
    std::string text;
    for (const CallLine& part : focus.parts) {
        const bool of_place = focus.library && part.place.module == focus.place.module &&
                              !part.place.function.starts_with('[');
        const std::string function =
            of_place ? short_function_name(part.place.function) : function_words(part.place);
        text += (text.empty() ? "" : ", ") + percent(part.total_ns(), whole_ns) + " in " + function;
    }
    return text;
}

// Unnamed code of an interpreter says less than the function of the script that it runs.
bool says_what_it_called(const CallPlace& place) {
    return !place.called.empty() &&
           !(place.called.starts_with('[') && is_language_runtime(place.called_module));
}

// For time that is mostly in no single function.
std::string spread_words(const CallFocus& focus, std::uint64_t whole_ns) {
    if (focus.parts.empty()) return " (no call stack shows where)";
    const CallLine& first = focus.parts.front();
    if (first.total_ns() * 2 >= whole_ns)
        return " mostly in " + function_words(first.place) + " (" +
               percent(first.total_ns(), whole_ns) + ")";
    return (first.total_ns() * 6 < whole_ns ? " in many functions: " : " in several functions: ") +
           parts_words(focus, whole_ns);
}

}  // namespace

std::string percent(std::uint64_t part, std::uint64_t whole) {
    const double share = whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
    if (share > 0 && share < 0.01) return "<1 %";
    return std::to_string(std::lround(share * 100)) + " %";
}

std::string place_words(const CallFocus& focus) {
    return focus.library ? library_words(focus) : function_words(focus.place);
}

std::string place_of_wait(const ThreadDoing& doing) {
    const CallFocus& focus = doing.focus;
    if (!focus.has_place()) return "";
    std::string text = " in " + place_words(focus);
    // How an interpreter waits for its locks says nothing.
    const bool says_how =
        doing.wait != WaitKind::InterpreterLock && doing.wait != WaitKind::PythonLock;
    if (says_how && !focus.place.called.empty())
        text += " (" + short_function_name(focus.place.called) + ")";
    return text + called_by(focus);
}

std::string place_of_work(const ThreadDoing& doing) {
    const CallFocus& focus = doing.focus;
    const std::string parts = parts_words(focus, doing.time_ns);
    if (!focus.has_place()) {
        if (!doing.kernel.empty()) return " in " + doing.kernel;
        return spread_words(focus, doing.time_ns);
    }
    const std::string function = place_words(focus);
    if (!doing.kernel.empty()) {
        if (focus.place.function + " of the kernel" == doing.kernel) return " in " + doing.kernel;
        const std::string called = says_what_it_called(focus.place)
                                       ? short_function_name(focus.place.called) + " in "
                                       : "";
        return " in " + doing.kernel + ", called by " + called + function;
    }
    if (says_what_it_called(focus.place)) {
        return " in " + short_function_name(focus.place.called) + ", called by " + function;
    }
    const std::string shares = parts.empty() ? "" : " (" + parts + ")";
    // Below a script, its own function is what readers know.
    const bool says_caller = parts.empty() || focus.library || focus.caller_module == "[jit]";
    return " in " + function + shares + (says_caller ? called_by(focus) : "");
}

std::string handler_clause(const ThreadDoing& doing) {
    if (doing.handler.empty()) return "";
    const CallFocus& focus = doing.focus;
    const bool names_caller =
        doing.kernel.empty() && focus.place.called.empty() && focus.parts.empty();
    if (doing.handler == focus.place.function || (names_caller && doing.handler == focus.caller))
        return ", a signal handler";
    return ", in the signal handler " + short_function_name(doing.handler);
}

}  // namespace lagtrap::analysis
