// Opens files whose names or folders someone else controls. Links, pipes and devices in their place
// can neither redirect nor block the caller.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap {

// Which links are followed. Links::Refused: no symbolic links, except /proc/PID/root itself.
enum class Links { Followed, Refused };

// Opens a regular file for reading. Checks its type before opening it, so that opening a pipe or
// device has no effect. Below /proc/PID/root, a folder /proc/PID/fd/N, or the machine's root, links
// cannot lead out of that folder. Magic links of /proc are not followed on the way, but
// /proc/PID/exe and the entries of /proc/PID/map_files and /proc/PID/fd can be opened themselves.
// ErrorKind::Denied if it is not a regular file.
[[nodiscard]] Result<UniqueFd> open_regular_file(const std::filesystem::path& path,
                                                 Links links = Links::Followed);

// Opens what is there, a folder too, with O_PATH. Paths resolve as in open_regular_file().
[[nodiscard]] Result<UniqueFd> open_place(const std::filesystem::path& path,
                                          Links links = Links::Followed);

// Reopens `place`, which may be an O_PATH descriptor, for reading. ErrorKind::Denied if it is not a
// regular file.
[[nodiscard]] Result<UniqueFd> reopen_regular_file(int place);

// Returns the content of a regular file in a folder where others may create files; refuses links
// and pipes. ErrorKind::NotFound, Denied, TooLarge.
[[nodiscard]] Result<std::string> read_regular_file(const std::filesystem::path& path,
                                                    std::uint64_t limit_bytes);

// The path by which an open descriptor can be opened again.
[[nodiscard]] std::filesystem::path path_of_descriptor(int fd);

// openat2() relative to `directory`, with RESOLVE_* flags.
[[nodiscard]] Result<UniqueFd> open_resolved(int directory, const std::filesystem::path& path,
                                             int flags, unsigned mode, unsigned long long resolve);

}  // namespace lagtrap
