// Where blobs are on their way, on this machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::server {

inline constexpr unsigned blob_folder_mode = 0750;

[[nodiscard]] Result<std::vector<std::filesystem::path>> paths_in(const std::filesystem::path& folder);
// Makes the folder and removes what is in it; how many files that were.
[[nodiscard]] Result<std::uint32_t> make_empty(const std::filesystem::path& folder);
// Room on the disk for this user.
[[nodiscard]] Result<std::uint64_t> free_bytes_at(const std::filesystem::path& folder);

}  // namespace lagtrap::server
