// Build names that machines report: the version of a delayed program's Debian package.
#pragma once

#include <cstdint>
#include <vector>

#include "server/store/build_store.hpp"
#include "server/store/bundle_store.hpp"
#include "server/store/delay_store.hpp"
#include "server/store/run_store.hpp"

namespace lagtrap::server {

inline constexpr std::size_t named_builds_limit = 64;  // per bundle

// Each build once, named by its first delay that has a version.
[[nodiscard]] std::vector<BuildLabel> package_builds(const std::vector<BundleDelay>& delays,
                                                     std::uint64_t now_realtime_ns);

}  // namespace lagtrap::server
