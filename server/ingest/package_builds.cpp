#include "server/ingest/package_builds.hpp"

#include <set>
#include <string>

#include <boost/json.hpp>

namespace lagtrap::server {
namespace {

namespace json = boost::json;

// What the parser wrote; empty where that is not as it should be.
std::string version_of(const BundleDelay& delay) {
    boost::system::error_code failure;
    const json::value details = json::parse(delay.details, failure);
    if (failure) return {};
    const json::value* const version = details.find_pointer("/surroundings/program_version", failure);
    return version != nullptr && version->is_string() ? std::string(version->as_string()) : std::string();
}

}  // namespace

std::vector<BuildLabel> package_builds(const std::vector<BundleDelay>& delays, std::uint64_t now_realtime_ns) {
    std::vector<BuildLabel> labels;
    std::set<std::string> named;
    for (const BundleDelay& delay : delays) {
        if (labels.size() == named_builds_limit) break;
        if (delay.build.empty() || delay.details.empty() || named.contains(delay.build)) continue;
        const std::string version = version_of(delay);
        if (version.empty() || version.size() > build_name_limit_bytes) continue;
        named.insert(delay.build);
        labels.push_back({delay.build, version, "(package)", now_realtime_ns});
    }
    return labels;
}

}  // namespace lagtrap::server
