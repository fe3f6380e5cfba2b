// Routes for bundles and their contents.
#pragma once

#include "server/accounts/audit.hpp"
#include "server/accounts/places_of_senders.hpp"
#include "server/accounts/principal.hpp"
#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/store/blobs.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

// The client of a download, and what limits it.
struct DownloadParts {
    // for streamed worker output; a slow reader holds a slot and the worker's memory
    PlacesOfSenders& places;
    const std::string& sender;  // the key of the slot
    Audit& audit;
    const Principal& principal;
    const Request& request;
};

[[nodiscard]] Reply list_bundles(const BundleStore& store, const Route& route);
// HEAD and GET.
[[nodiscard]] Reply has_bundle(const BundleStore& store, const Route& route);
// Recorded in the audit log, like downloads of the system file and the trace: they contain the
// whole machine.
[[nodiscard]] Reply get_bundle(const Evidence& evidence, Blobs& blobs, const Route& route,
                               const DownloadParts& parts);
// Whether a reply includes the machine's other processes around a delay, with their command lines,
// and which other events were not watched. Hidden from people who may see only some events.
enum class Neighbours { Shown, Hidden };
[[nodiscard]] Reply list_delays(const Evidence& evidence, Blobs& blobs, const Route& route,
                                Neighbours neighbours);
// Each of these five starts a sandboxed process that reads the bundle. Traces and exports are
// streamed: 429 if the sender, or all senders together, already have as many in progress as
// allowed.
[[nodiscard]] Reply get_system_file(const Evidence& evidence, Blobs& blobs, const Route& route,
                                    const DownloadParts& parts);
[[nodiscard]] Reply get_trace(const Evidence& evidence, Blobs& blobs, const Route& route,
                              const DownloadParts& parts);
[[nodiscard]] Reply get_timeline(const Evidence& evidence, Blobs& blobs, const Route& route);
[[nodiscard]] Reply get_machine(const Evidence& evidence, Blobs& blobs, const Route& route);
[[nodiscard]] Reply export_delay(const Evidence& evidence, Blobs& blobs, const Route& route,
                                 const DownloadParts& parts);
// Lists the export formats.
[[nodiscard]] Reply list_formats();

}  // namespace lagtrap::server
