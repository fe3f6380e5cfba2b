// Parts of watches of objects, as they come in with batches and are removed again.
#pragma once

#include <cstdint>

#include "core/result.hpp"
#include "server/store/connection.hpp"
#include "server/store/object_figures.hpp"
#include "server/store/run_store.hpp"

namespace lagtrap::server {

// `batch.objects`, in a transaction; `figures` are those of its lines. What is older goes where there is no room (object_store.hpp). ErrorKind::Invalid: the watch
// is another sender's, or another host's.
[[nodiscard]] Status add_objects_part(Connection& connection, const Receipt& receipt, const trace::RunBatch& batch,
                                      const ObjectFigures& figures);
// Watches whose last part came before.
[[nodiscard]] Status drop_object_watches_before(Connection& connection, std::uint64_t last_ns);

}  // namespace lagtrap::server
