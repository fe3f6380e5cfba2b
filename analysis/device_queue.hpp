// Runs that are on no thread between two of their markers, as the kernel's requests to disks are.
#pragma once

#include <string_view>

namespace lagtrap::analysis {

// Where a request to a disk is between two markers, each as the system file has it ("tracepoint block:block_rq_issue"): a
// reason such as "in the device's queue". Empty for all other markers.
[[nodiscard]] std::string_view queue_between(std::string_view from_marker, std::string_view to_marker);

}  // namespace lagtrap::analysis
