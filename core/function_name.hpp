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

}  // namespace lagtrap
