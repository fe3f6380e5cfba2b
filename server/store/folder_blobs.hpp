// Blobs in a folder: written into incoming/, synced, and renamed to blobs/ab/cdef....
#pragma once

#include <filesystem>
#include <memory>

#include "server/store/blobs.hpp"

namespace lagtrap::server {

// Creates the folders and removes leftovers in incoming/. Only one server may use a folder.
[[nodiscard]] Result<std::unique_ptr<Blobs>> open_folder_blobs(const std::filesystem::path& folder);

}  // namespace lagtrap::server
