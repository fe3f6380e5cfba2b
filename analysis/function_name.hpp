// Shortens function names for display.
#pragma once

#include <string>
#include <string_view>

namespace lagtrap::analysis {

// The name without its parameters and return type (core/function_name.hpp) and without "(anonymous
// namespace)::"; long names also without template arguments.
[[nodiscard]] std::string short_function_name(std::string_view name);

// "serve", "deflate (libz)" if the file is a library, "unnamed code of redis-server" for
// "[redis-server]".
[[nodiscard]] std::string function_words(std::string_view function, std::string_view module);

}  // namespace lagtrap::analysis
