// Opens files whose names, or whose folders, are somebody else's: links, pipes and devices in their place must neither
// lead astray nor hold anybody up.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap {

// A regular file, for reading. What lies there is looked at before it is opened, so that a pipe or a device has no
// effect. Below /proc/PID/root, a folder /proc/PID/fd/N and the machine's root, links stay within that folder. No link of /proc (a magic link) is followed on the way,
// except /proc/PID/exe and those of /proc/PID/map_files and /proc/self/fd themselves.
// Links::Refused: nor is any other link, but that of /proc/PID/root. ErrorKind::Denied: there is something else.
enum class Links { Followed, Refused };
[[nodiscard]] Result<UniqueFd> open_regular_file(const std::filesystem::path& path, Links links = Links::Followed);

// What lies there, a folder too, to be looked at alone (O_PATH); found in the same way.
[[nodiscard]] Result<UniqueFd> open_place(const std::filesystem::path& path, Links links = Links::Followed);

// `place` (O_PATH will do) opened for reading, if it is a regular file.
[[nodiscard]] Result<UniqueFd> reopen_regular_file(int place);

// All of a regular file in a folder where others may put things: a link or a pipe of its name is refused.
// ErrorKind::NotFound, Denied, TooLarge.
[[nodiscard]] Result<std::string> read_regular_file(const std::filesystem::path& path, std::uint64_t limit_bytes);

// The name of an open descriptor, by which it can be opened once more.
[[nodiscard]] std::filesystem::path path_of_descriptor(int fd);

// openat2() below `directory` with RESOLVE_* flags.
[[nodiscard]] Result<UniqueFd> open_resolved(int directory, const std::filesystem::path& path, int flags, unsigned mode,
                                             unsigned long long resolve);

}  // namespace lagtrap
