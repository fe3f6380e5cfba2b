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

// Opens with O_CLOEXEC | `flags`. Errors name the path.
[[nodiscard]] Result<UniqueFd> open_file(const std::filesystem::path& path, int flags, unsigned mode = 0);

// The whole file, which may be one of /proc. ErrorKind::TooLarge beyond `limit_bytes`; nothing larger is held.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t limit_bytes);
[[nodiscard]] Result<std::string> read_all(int fd, std::uint64_t limit_bytes);

// Writes all bytes, going on after short writes and EINTR.
[[nodiscard]] Status write_all(int fd, const void* data, std::size_t size);

// Makes a new file, or replaces what one holds. Not synced, and not at once.
[[nodiscard]] Status write_file(const std::filesystem::path& path, std::string_view content, unsigned mode = 0644);

// Makes `path` hold `content` at once or not at all: written beside, synced, renamed, directory synced.
[[nodiscard]] Status write_file_durably(const std::filesystem::path& path, std::string_view content,
                                        unsigned mode = 0644);

// As mkostemp(): makes a file of mode 0600; the X at the end of `name` become what nobody has.
[[nodiscard]] Result<UniqueFd> make_temporary_file(std::string& name);
// Not synced.
[[nodiscard]] Status rename_file(const std::filesystem::path& from, const std::filesystem::path& to);
// Names of what is in the folder, "." and ".." apart; no more than `limit`, in no order.
[[nodiscard]] Result<std::vector<std::string>> list_folder(const std::filesystem::path& folder, std::size_t limit);
// fchmod(), of a file that make_temporary_file() made.
[[nodiscard]] Status set_mode(int fd, unsigned mode);
// A file that is not there is as good.
void remove_file(const std::filesystem::path& path);

// Renames and syncs both directories, so that the move survives a power failure.
[[nodiscard]] Status rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

[[nodiscard]] Status sync_directory(const std::filesystem::path& directory);

// mkdir -p with `mode` for what is made.
[[nodiscard]] Status make_directories(const std::filesystem::path& directory, unsigned mode = 0755);

}  // namespace lagtrap
