// Reads from a process's memory which of its threads hold the mutexes that others wait for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>

namespace lagtrap::cli {

// By waiting thread: the owner that the C library noted in the mutex (glibc, and mutexes with
// priority inheritance). Reads three numbers per waiting thread, as a debugger would and with the
// same permission; without it, or for other locks, there is no entry.
[[nodiscard]] std::map<std::uint32_t, std::uint32_t> lock_owners(
    std::uint32_t pid, const std::filesystem::path& proc_root = "/proc");

}  // namespace lagtrap::cli
