// What is asked about bundles and what is in them.
#pragma once

#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/store/blobs.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

[[nodiscard]] Reply list_bundles(BundleStore& store, const Route& route);
// HEAD and GET.
[[nodiscard]] Reply has_bundle(BundleStore& store, const Route& route);
[[nodiscard]] Reply get_bundle(BundleStore& store, Blobs& blobs, const Route& route);
// The machine's other processes around a delay, with their command lines: not for people who see a part of the events alone.
enum class Neighbours { Shown, Hidden };
[[nodiscard]] Reply list_delays(BundleStore& store, Blobs& blobs, const Route& route, Neighbours neighbours);
// Each of these four starts a confined process that reads the bundle.
[[nodiscard]] Reply get_system_file(BundleStore& store, Blobs& blobs, const Route& route);
[[nodiscard]] Reply get_trace(BundleStore& store, Blobs& blobs, const Route& route);
[[nodiscard]] Reply get_timeline(BundleStore& store, Blobs& blobs, const Route& route);
[[nodiscard]] Reply get_machine(BundleStore& store, Blobs& blobs, const Route& route);
[[nodiscard]] Reply export_delay(BundleStore& store, Blobs& blobs, const Route& route);
// The forms that it knows.
[[nodiscard]] Reply list_formats();

}  // namespace lagtrap::server
