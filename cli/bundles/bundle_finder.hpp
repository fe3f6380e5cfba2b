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
[[nodiscard]] Result<std::filesystem::path> find_bundle(const std::string& wanted,
                                                        const std::filesystem::path& spool);

// As find_bundle(), but each of `wanted` may also be a folder of bundles, such as a spool, which
// stands for all of them, newest first. Without duplicates. `wanted` must not be empty.
[[nodiscard]] Result<std::vector<std::filesystem::path>> find_bundles(
    const std::vector<std::string>& wanted, const std::filesystem::path& spool);

// The spool's bundles in any state, newest first.
[[nodiscard]] Result<std::vector<std::filesystem::path>> bundles_of_spool(
    const std::filesystem::path& spool);

}  // namespace lagtrap::cli
