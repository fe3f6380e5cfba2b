// Handles runs that are on no thread between two of their markers, such as requests to disks.
#pragma once

#include <string_view>

namespace lagtrap::analysis {

// Where a disk request is between two markers, each as in the system file ("tracepoint
// block:block_rq_issue"). Returns a reason such as "in the device's queue", or an empty text for
// other markers.
[[nodiscard]] std::string_view queue_between(std::string_view from_marker,
                                             std::string_view to_marker);

}  // namespace lagtrap::analysis
