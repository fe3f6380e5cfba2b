// Language runtimes whose functions are not machine code in a file: which runtime a file belongs
// to, what it reports about functions through its USDT probes, and how to format that.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "calls/function_sorting.hpp"

namespace lagtrap::calls {

enum class Runtime : std::uint8_t { Ruby, Python, Java, Node };

inline constexpr int no_probe_argument = -1;

// Two probes, and the meaning of their arguments, which count from 0.
struct RuntimeProbes {
    const char* begin = nullptr;  // nullptr if there are none
    const char* end = nullptr;
    bool in_c = false;  // for functions of the language implemented in machine code
};

struct RuntimeTraits {
    const char* language;
    const char* provider;
    std::array<RuntimeProbes, 2> probes;
    int scope, scope_length, name, name_length, file, line;
    bool reports_ends_alone;  // some versions do not report every begin
    const char* condition;    // condition for reporting; part of a sentence
    const char* advice;       // what to do if it reported nothing; a sentence
    const char* missing;      // why these probes may be missing, and what to do; part of a sentence
};

[[nodiscard]] const RuntimeTraits& traits_of(Runtime runtime);

// Recognizes a runtime's program or library by its file name.
[[nodiscard]] std::optional<Runtime> runtime_of_file(std::string_view path);
// Folder of a runtime's program and other libraries, with a trailing slash, if it has one of its
// own; otherwise empty. `path` must be a file that runtime_of_file() recognizes.
[[nodiscard]] std::string_view folder_of_runtime(std::string_view path);

// What a runtime reports about a function. Texts come from the watched program and may be
// truncated.
struct RuntimeFunction {
    Runtime runtime = Runtime::Ruby;
    std::string scope;  // class, or file
    std::string name;
    std::string file;  // empty if not reported
    std::uint32_t line = 0;
    bool in_c = false;
};

// "Cart#add", "shop.Cart.add", "cart.py:add".
[[nodiscard]] std::string name_of(const RuntimeFunction& function);
// The function's file if that adds something to its name, otherwise the language.
[[nodiscard]] std::string module_of(const RuntimeFunction& function);
// As system_function_reason().
[[nodiscard]] SystemReason system_reason(const RuntimeFunction& function);

}  // namespace lagtrap::calls
