#include "analysis/call_words.hpp"

#include <algorithm>
#include <array>

namespace lagtrap::analysis {

namespace {

// The GNU C library's functions, and those of C++ that call them (operator new).
constexpr auto allocating = std::to_array<std::string_view>(
    {"malloc", "calloc", "realloc", "reallocarray", "free", "memalign", "posix_memalign",
     "aligned_alloc", "malloc_trim", "malloc_info", "mallinfo", "mallinfo2", "operator new",
     "operator new[]", "operator delete", "operator delete[]"});

// All threads change their ids together (nptl/nptl_setxid.c).
constexpr auto changing_ids = std::to_array<std::string_view>(
    {"setuid", "setgid", "seteuid", "setegid", "setreuid", "setregid", "setresuid", "setresgid",
     "setgroups", "initgroups"});

constexpr auto asynchronous =
    std::to_array<std::string_view>({"aio_suspend", "aio_suspend64", "lio_listio", "lio_listio64"});

template <std::size_t Count>
bool is_one_of(std::string_view function, const std::array<std::string_view, Count>& names) {
    return std::find(names.begin(), names.end(), function) != names.end();
}

}  // namespace

std::string_view words_of_call(WaitKind kind, std::string_view called) {
    const std::string_view function = called.substr(0, called.find('('));
    if (kind == WaitKind::Lock && is_one_of(function, allocating))
        return "for a lock of the memory allocator (malloc)";
    if (kind != WaitKind::Futex) return "";
    if (is_one_of(function, changing_ids))
        return "for the other threads of its process to change their user or group";
    return is_one_of(function, asynchronous) ? "for asynchronous I/O (AIO)" : "";
}

}  // namespace lagtrap::analysis
