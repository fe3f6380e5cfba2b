// Reading and writing files: bounded reads, durable writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap {

// Opens with O_CLOEXEC | `flags`. Error messages name the path.
[[nodiscard]] Result<UniqueFd> open_file(const std::filesystem::path& path, int flags,
                                         unsigned mode = 0);

// Returns the whole file, which may be one of /proc. ErrorKind::TooLarge if it exceeds
// `limit_bytes`; memory use stays within that limit.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path,
                                            std::uint64_t limit_bytes);
[[nodiscard]] Result<std::string> read_all(int fd, std::uint64_t limit_bytes);

// Writes all bytes; continues after short writes and EINTR.
[[nodiscard]] Status write_all(int fd, const void* data, std::size_t size);

// Creates the file or replaces its content. Neither atomic nor synced.
[[nodiscard]] Status write_file(const std::filesystem::path& path, std::string_view content,
                                unsigned mode = 0644);

// Creates or replaces the file atomically: writes a temporary file beside it, syncs, renames, and
// syncs the directory.
[[nodiscard]] Status write_file_durably(const std::filesystem::path& path, std::string_view content,
                                        unsigned mode = 0644);

// Like mkostemp(): creates a file of mode 0600. Replaces the X at the end of `name` to make it
// unique.
[[nodiscard]] Result<UniqueFd> make_temporary_file(std::string& name);
// Not synced.
[[nodiscard]] Status rename_file(const std::filesystem::path& from,
                                 const std::filesystem::path& to);
// Names in the folder except "." and "..", in no particular order; at most `limit`.
[[nodiscard]] Result<std::vector<std::string>> list_folder(const std::filesystem::path& folder,
                                                           std::size_t limit);
// fchmod() for a file from make_temporary_file().
[[nodiscard]] Status set_mode(int fd, unsigned mode);
// Ignores errors; the file may be missing.
void remove_file(const std::filesystem::path& path);

// Renames and syncs both directories, so that the move survives a power failure.
[[nodiscard]] Status rename_durably(const std::filesystem::path& from,
                                    const std::filesystem::path& to);

[[nodiscard]] Status sync_directory(const std::filesystem::path& directory);

// Like mkdir -p; new directories get `mode`.
[[nodiscard]] Status make_directories(const std::filesystem::path& directory, unsigned mode = 0755);

}  // namespace lagtrap
