// What the list shows of a bundle, read from its system file.
#pragma once

#include <filesystem>

#include "core/result.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

// Within the limits of trace/bundle.hpp and trace/system_file.hpp; an error says what is wrong with the bundle.
[[nodiscard]] Result<BundleFacts> describe_bundle(const std::filesystem::path& path);

}  // namespace lagtrap::server
