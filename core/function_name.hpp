// Names of functions, as demanglers and languages write them.
#pragma once

#include <string>
#include <string_view>

namespace lagtrap {

// The name without its parameters and what follows them, and without those of the functions that it is inside of:
// "Store::get(int) const" -> "Store::get", "f(int)::{lambda()#1}::operator()() const" -> "f::{lambda()#1}::operator()".
// Parentheses that belong to the name stay: "(anonymous namespace)", "operator()", receivers of Go ("main.(*Server).handle").
// A return type stays too. Any text may be given; one whose parentheses do not match stays as it is.
[[nodiscard]] std::string without_parameters(std::string_view name);

// The name without "(anonymous namespace)::", wherever that stands in it.
[[nodiscard]] std::string without_anonymous_namespaces(std::string name);

// The name without template arguments, and with its last `components` ("::" between them) alone:
// "std::map<int, Item>::find" -> "std::map::find", of 1 component "find". Signs of operators stay. A name that begins with an
// argument, as those of Rust may ("<T as Trait>::run"), and one whose brackets do not match stay as they are.
[[nodiscard]] std::string without_template_arguments(std::string_view name);
[[nodiscard]] std::string last_components(std::string_view name, std::size_t components);

}  // namespace lagtrap
