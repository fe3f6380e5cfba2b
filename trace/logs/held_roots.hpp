// `held-roots.txt` in a capture's folder lists the processes whose root folders the daemon keeps
// open until the merge, so that it still finds files of containers that have ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "core/result.hpp"

namespace lagtrap::trace {

inline constexpr const char* held_roots_name = "held-roots.txt";

struct HeldRoots {
    pid_t holder = 0;                          // the daemon's process
    std::map<std::uint32_t, int> descriptors;  // its descriptors of the processes' roots, by pid

    // Where to find the file that was at `path` for the process; nullopt if its root is not held.
    [[nodiscard]] std::optional<std::filesystem::path> find(
        std::uint32_t pid, const std::filesystem::path& path) const;
    [[nodiscard]] bool holds(int descriptor) const;
};

[[nodiscard]] Status write_held_roots(const std::filesystem::path& capture, const HeldRoots& roots);
// Empty if the file is missing or malformed.
[[nodiscard]] HeldRoots read_held_roots(const std::filesystem::path& capture);

}  // namespace lagtrap::trace
