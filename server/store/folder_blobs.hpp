// Blobs in a folder: blobs/ab/cdef..., written into incoming/, synced and renamed.
#pragma once

#include <filesystem>
#include <memory>

#include "server/store/blobs.hpp"

namespace lagtrap::server {

// Makes the folders, and removes what an earlier run left in incoming/. One server uses a folder.
[[nodiscard]] Result<std::unique_ptr<Blobs>> open_folder_blobs(const std::filesystem::path& folder);

}  // namespace lagtrap::server
