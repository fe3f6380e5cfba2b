// What is asked about bundles and what is in them.
#pragma once

#include "server/accounts/audit.hpp"
#include "server/accounts/places_of_senders.hpp"
#include "server/accounts/principal.hpp"
#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/store/blobs.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

// Who takes a file away, and what limits it.
struct DownloadParts {
    PlacesOfSenders& places;    // of parsers whose answers go out as they come: a slow reader holds one, and its memory
    const std::string& sender;  // for whom a place is counted
    Audit& audit;
    const Principal& principal;
    const Request& request;
};

[[nodiscard]] Reply list_bundles(BundleStore& store, const Route& route);
// HEAD and GET.
[[nodiscard]] Reply has_bundle(BundleStore& store, const Route& route);
// Noted in the audit, as the system file and the trace are: they hold the whole machine.
[[nodiscard]] Reply get_bundle(BundleStore& store, Blobs& blobs, const Route& route, const DownloadParts& parts);
// The machine's other processes around a delay, with their command lines, and what was not watched of other events: not for
// people who see a part of the events alone.
enum class Neighbours { Shown, Hidden };
[[nodiscard]] Reply list_delays(BundleStore& store, Blobs& blobs, const Route& route, Neighbours neighbours);
// Each of these five starts a confined process that reads the bundle. A trace or an export is sent while it works: 429
// where the sender or all together have as many of these under way as may be.
[[nodiscard]] Reply get_system_file(BundleStore& store, Blobs& blobs, const Route& route, const DownloadParts& parts);
[[nodiscard]] Reply get_trace(BundleStore& store, Blobs& blobs, const Route& route, const DownloadParts& parts);
[[nodiscard]] Reply get_timeline(BundleStore& store, Blobs& blobs, const Route& route);
[[nodiscard]] Reply get_machine(BundleStore& store, Blobs& blobs, const Route& route);
[[nodiscard]] Reply export_delay(BundleStore& store, Blobs& blobs, const Route& route, const DownloadParts& parts);
// The forms that it knows.
[[nodiscard]] Reply list_formats();

}  // namespace lagtrap::server
