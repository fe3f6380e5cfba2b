// Names of builds that machines know: the version of the Debian package that a delayed program is from.
#pragma once

#include <cstdint>
#include <vector>

#include "server/store/bundle_store.hpp"
#include "server/store/run_store.hpp"

namespace lagtrap::server {

inline constexpr std::size_t named_builds_limit = 64;  // of a bundle

// Each build once, by the first of its delays that knows the version.
[[nodiscard]] std::vector<BuildLabel> package_builds(const std::vector<BundleDelay>& delays,
                                                     std::uint64_t now_realtime_ns);

}  // namespace lagtrap::server
