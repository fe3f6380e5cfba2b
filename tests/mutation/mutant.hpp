// Switches of the mistakes that mutate.py puts into the sources. The environment variable
// LAGTRAP_MUTANT has the number of the one that is on. The file that LAGTRAP_MUTANTS_REACHED names
// has a byte for each, which becomes 1 when its place is run.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <type_traits>

#pragma clang diagnostic ignored "-Weverything"

namespace lagtrap_mutant {

// Shared with the file, so that children and processes that are killed count, too.
inline char* map_reached() {
    const char* path = std::getenv("LAGTRAP_MUTANTS_REACHED");
    if (path == nullptr) return nullptr;
    const int file = open(path, O_RDWR | O_CLOEXEC);
    struct stat status = {};
    if (file < 0 || fstat(file, &status) != 0) std::abort();
    const auto size = static_cast<size_t>(status.st_size);
    void* map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) std::abort();
    close(file);
    return static_cast<char*>(map);
}

inline bool is_on(int number) {
    static const int on = [] {
        const char* text = std::getenv("LAGTRAP_MUTANT");
        return text == nullptr ? 0 : std::atoi(text);
    }();
    static char* const reached = map_reached();
    if (reached != nullptr) reached[number] = 1;
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
