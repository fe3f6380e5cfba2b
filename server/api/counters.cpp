#include "server/api/counters.hpp"

#include <fmt/format.h>

namespace lagtrap::server {
namespace {

std::string metric(const char* type, const char* name, const char* help, std::uint64_t value) {
    return fmt::format("# HELP lagtrap_server_{0} {1}\n# TYPE lagtrap_server_{0} {2}\nlagtrap_server_{0} {3}\n", name,
                       help, type, value);
}

}  // namespace

std::string format_metrics(const Counters& counters, const Totals& totals) {
    std::string text;
    text += metric("counter", "requests_total", "Requests answered.", counters.requests);
    text +=
        metric("counter", "requests_refused_total", "Requests answered with 4xx or 5xx.", counters.refused_requests);
    text += metric("counter", "uploads_new_total", "Bundles stored.", counters.uploads_new);
    text += metric("counter", "uploads_already_total", "Uploads of bundles that were there.", counters.uploads_already);
    text += metric("counter", "uploads_refused_total", "Uploads refused.", counters.uploads_refused);
    text += metric("counter", "uploads_aborted_total", "Uploads that ended early or were too slow.",
                   counters.uploads_aborted);
    text += metric("counter", "upload_bytes_total", "Bytes of bundles received.", counters.upload_bytes);
    text += metric("counter", "bundles_expired_total", "Bundles removed by retention.", counters.bundles_expired);
    text += metric("gauge", "connections", "Connections open.", counters.connections);
    text += metric("counter", "connections_refused_total", "Connections over the limit.", counters.connections_refused);
    text += metric("gauge", "bundles", "Bundles stored now.", totals.bundles);
    text += metric("gauge", "bundles_bad", "Stored bundles that can not be read.", totals.bad);
    text += metric("gauge", "bundle_bytes", "Bytes of the stored bundles.", totals.bytes);
    text += metric("gauge", "delays", "Delays in the stored bundles.", totals.delays);
    return text;
}

}  // namespace lagtrap::server
