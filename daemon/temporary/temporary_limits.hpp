// How many temporary events may exist, and what each may cost. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/party.hpp"
#include "core/result.hpp"

namespace lagtrap::daemon {

// At once. Each takes about 150 MB of memory, with its maps in the kernel.
inline constexpr std::size_t max_temporary_events = 4;
// Of each party except root.
inline constexpr std::size_t max_temporary_events_of_party = 2;

// ErrorKind::Busy: too many, in all or of this party. `owners` has one party for each that exists.
[[nodiscard]] Status room_for_temporary_event(const std::vector<Party>& owners, Party party);

// The CPU limit of a new temporary event, in millionths of a CPU: half of what service and other
// temporary events leave of the service's limit, and at least a tenth of that limit.
// `reserved_ppm` is the sum of the limits of the other temporary events.
[[nodiscard]] std::uint64_t temporary_share_ppm(std::uint64_t limit_ppm, std::uint64_t used_ppm,
                                                std::uint64_t reserved_ppm);

}  // namespace lagtrap::daemon
