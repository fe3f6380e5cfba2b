// Switches of the mistakes that mutate.py puts into the sources. The environment variable
// LAGTRAP_MUTANT has the number of the one that is on.
#pragma once

#include <cstdlib>
#include <type_traits>

#pragma clang diagnostic ignored "-Weverything"

namespace lagtrap_mutant {

inline bool is_on(int number) {
    static const int on = [] {
        const char* text = std::getenv("LAGTRAP_MUTANT");
        return text == nullptr ? 0 : std::atoi(text);
    }();
    return on == number;
}

template <typename Condition>
constexpr bool negate(int number, const Condition& condition) {
    if (std::is_constant_evaluated()) return static_cast<bool>(condition);
    return static_cast<bool>(condition) != is_on(number);
}

// `<` becomes `<=`, and so on; `==` becomes true.
#define LAGTRAP_COMPARE(name, right, wrong)                               \
    template <typename A, typename B>                                     \
    constexpr bool name(int number, const A& a, const B& b) {             \
        if (!std::is_constant_evaluated() && is_on(number)) return wrong; \
        return right;                                                     \
    }
LAGTRAP_COMPARE(less, a < b, a <= b)
LAGTRAP_COMPARE(less_equal, a <= b, a < b)
LAGTRAP_COMPARE(greater, a > b, a >= b)
LAGTRAP_COMPARE(greater_equal, a >= b, a > b)
LAGTRAP_COMPARE(equal, a == b, true)
LAGTRAP_COMPARE(not_equal, a != b, true)

}  // namespace lagtrap_mutant
