// Runtimes of languages whose functions are no machine code in a file: which of them a file belongs to, what it tells of
// functions by USDT probes of its own, and how people write what it tells.
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

// Two probes, and which of their arguments say what; counted from 0.
struct RuntimeProbes {
    const char* begin = nullptr;  // nullptr: there are none
    const char* end = nullptr;
    bool in_c = false;  // of functions of the language that are machine code
};

struct RuntimeTraits {
    const char* language;
    const char* provider;
    std::array<RuntimeProbes, 2> probes;
    int scope, scope_length, name, name_length, file, line;
    bool tells_ends_alone;  // there are versions that do not tell all begins
    const char* condition;  // under which it tells; a part of a sentence
    const char* advice;     // what to do where it told nothing; a sentence
    const char* missing;    // why there may be none of these probes, and what to do; a part of a sentence
};

[[nodiscard]] const RuntimeTraits& traits_of(Runtime runtime);

// By the file's name: the runtime's program or library.
[[nodiscard]] std::optional<Runtime> runtime_of_file(std::string_view path);
// Where the runtime has its program and its other libraries, if they have a folder of their own: with a slash at the end. Of the
// path of a file for which runtime_of_file() has it.
[[nodiscard]] std::string_view folder_of_runtime(std::string_view path);

// What a runtime tells of a function. Texts are the watched program's, and may be cut.
struct RuntimeFunction {
    Runtime runtime = Runtime::Ruby;
    std::string scope;  // class, or file
    std::string name;
    std::string file;  // empty: not told
    std::uint32_t line = 0;
    bool in_c = false;
};

// "Cart#add", "shop.Cart.add", "cart.py:add".
[[nodiscard]] std::string name_of(const RuntimeFunction& function);
// Its file where that tells more than its name; else the language.
[[nodiscard]] std::string module_of(const RuntimeFunction& function);
// As system_function_reason().
[[nodiscard]] SystemReason system_reason(const RuntimeFunction& function);

}  // namespace lagtrap::calls
