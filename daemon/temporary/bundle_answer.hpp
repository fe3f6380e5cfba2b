// What a lagtrapd that watches a temporary event answers to its client about recordings.
#pragma once

#include <optional>

#include "daemon/control/client_link.hpp"
#include "daemon/merges/merge_queue.hpp"

namespace lagtrap::daemon {

// The last bundle, opened, because the client may not have the rights to open it; or a refusal.
[[nodiscard]] ClientLink::Answer bundle_answer(const std::optional<LastBundle>& last);

}  // namespace lagtrap::daemon
