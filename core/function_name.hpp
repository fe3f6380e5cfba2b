// Shortens function names as demanglers and languages write them.
#pragma once

#include <string>
#include <string_view>

namespace lagtrap {

// Removes the parameters and what follows them, also those of enclosing functions: "Store::get(int)
// const" -> "Store::get", "f(int)::{lambda()#1}::operator()() const" ->
// "f::{lambda()#1}::operator()". Keeps parentheses that belong to the name: "(anonymous
// namespace)", "operator()", receivers of Go ("main.(*Server).handle"). Keeps a return type.
// Accepts any text; returns it unchanged if its parentheses do not match.
[[nodiscard]] std::string without_parameters(std::string_view name);

// Removes the return type, which demanglers write before template functions alone, and other words
// before the name: "void Queue<int>::push<int>" -> "Queue<int>::push<int>". Call it after
// without_parameters(). Returns other names unchanged, with spaces too ("LazyCompile:~f /app.js").
[[nodiscard]] std::string without_return_type(std::string_view name);

// Removes every "(anonymous namespace)::".
[[nodiscard]] std::string without_anonymous_namespaces(std::string name);

// Removes template arguments: "std::map<int, Item>::find" -> "std::map::find". Keeps operators.
// Returns a name unchanged if it begins with an argument, as some of Rust do ("<T as Trait>::run"),
// or if its brackets do not match.
[[nodiscard]] std::string without_template_arguments(std::string_view name);
// Also keeps only the last `components` between "::": "find" for 1.
[[nodiscard]] std::string last_components(std::string_view name, std::size_t components);

}  // namespace lagtrap
