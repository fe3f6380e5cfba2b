// Finds the recording that the user means.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::cli {

// `wanted` is an existing file or folder, or the first 4 or more characters of a session id or
// bundle name in the spool; empty for the spool's newest bundle. Errors say where it looked and
// what there is.
[[nodiscard]] Result<std::filesystem::path> find_bundle(const std::string& wanted, const std::filesystem::path& spool);

// The spool's bundles in any state, newest first.
[[nodiscard]] Result<std::vector<std::filesystem::path>> bundles_of_spool(const std::filesystem::path& spool);

}  // namespace lagtrap::cli
