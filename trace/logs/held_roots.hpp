// `held-roots.txt` in a capture's folder: whose root folders the daemon holds open until the capture is merged, so that files
// of containers are found that have ended since.
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
    std::map<std::uint32_t, int> descriptors;  // its descriptor of the root of each process, by pid

    // Where a file lies that the process had at `path`; nullopt: its root is not held.
    [[nodiscard]] std::optional<std::filesystem::path> find(std::uint32_t pid, const std::filesystem::path& path) const;
    [[nodiscard]] bool holds(int descriptor) const;
};

[[nodiscard]] Status write_held_roots(const std::filesystem::path& capture, const HeldRoots& roots);
// Nothing is held where the capture does not say so, or says it in another form.
[[nodiscard]] HeldRoots read_held_roots(const std::filesystem::path& capture);

}  // namespace lagtrap::trace
