#include "server/ingest/package_builds.hpp"

#include <set>
#include <string>

namespace lagtrap::server {

std::vector<BuildLabel> package_builds(const std::vector<BundleDelay>& delays,
                                       std::uint64_t now_realtime_ns) {
    std::vector<BuildLabel> labels;
    std::set<std::string> named;
    for (const BundleDelay& delay : delays) {
        if (labels.size() == named_builds_limit) break;
        const std::size_t bytes = delay.program_version.size();
        if (delay.build.empty() || bytes == 0 || bytes > build_name_limit_bytes) continue;
        if (named.insert(delay.build).second)
            labels.push_back({delay.build, delay.program_version, "(package)", now_realtime_ns});
    }
    return labels;
}

}  // namespace lagtrap::server
