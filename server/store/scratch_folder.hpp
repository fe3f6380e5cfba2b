// The local folder of blobs that are being received or fetched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::server {

inline constexpr unsigned blob_folder_mode = 0750;

[[nodiscard]] Result<std::vector<std::filesystem::path>> paths_in(
    const std::filesystem::path& folder);
// Creates the folder and removes its contents; returns how many files those were.
[[nodiscard]] Result<std::uint32_t> make_empty(const std::filesystem::path& folder);
// Free disk space for this user.
[[nodiscard]] Result<std::uint64_t> free_bytes_at(const std::filesystem::path& folder);

}  // namespace lagtrap::server
