// Which recording a person means.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::cli {

// `wanted` is a file or folder that exists, or the beginning (4 characters or more) of a session's id or bundle's
// name in the spool; empty: the newest bundle of the spool. Errors say where it looked and what there is.
[[nodiscard]] Result<std::filesystem::path> find_bundle(const std::string& wanted, const std::filesystem::path& spool);

// The spool's bundles, newest first, whatever became of them.
[[nodiscard]] Result<std::vector<std::filesystem::path>> bundles_of_spool(const std::filesystem::path& spool);

}  // namespace lagtrap::cli
