#include "server/ingest/describe.hpp"

#include <algorithm>

#include "core/text.hpp"
#include "trace/bundle.hpp"
#include "trace/system_file.hpp"

namespace lagtrap::server {

Result<BundleFacts> describe_bundle(const std::filesystem::path& path) {
    TRY_ASSIGN(const std::string xml, trace::read_bundle_system_file(path));
    TRY_ASSIGN(const trace::SystemFile file, trace::read_system_file(xml));
    BundleFacts facts;
    facts.session_id = printable(file.session_id);
    facts.host = printable(file.host);
    facts.event = printable(file.trigger_event);
    facts.started_realtime_ns = file.started_realtime_ns;
    facts.delays = static_cast<std::uint32_t>(file.delays.size());
    const auto longest = std::max_element(file.delays.begin(), file.delays.end(),
                                          [](const auto& a, const auto& b) { return a.duration_ns < b.duration_ns; });
    if (longest != file.delays.end()) {
        facts.event = printable(longest->event);
        facts.process = printable(longest->process);
        facts.longest_delay_ns = longest->duration_ns;
    }
    return facts;
}

}  // namespace lagtrap::server
