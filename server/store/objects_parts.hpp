// Adds parts of object watches, which arrive with batches, and removes old ones.
#pragma once

#include <cstdint>

#include "core/result.hpp"
#include "server/store/batch_store.hpp"
#include "server/store/connection.hpp"
#include "server/store/object_figures.hpp"

namespace lagtrap::server {

// Stores `batch.objects` inside a transaction; `figures` are those of its lines. Removes older
// parts and watches if there is no room (object_store.hpp). ErrorKind::Invalid if the watch is of
// another sender or host.
[[nodiscard]] Status add_objects_part(Connection& connection, const Receipt& receipt,
                                      const trace::RunBatch& batch, const ObjectFigures& figures);
// Removes watches whose last part came earlier.
[[nodiscard]] Status drop_object_watches_before(Connection& connection, std::uint64_t last_ns);

}  // namespace lagtrap::server
