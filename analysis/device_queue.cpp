#include "analysis/device_queue.hpp"

#include <algorithm>
#include <array>

namespace lagtrap::analysis {

namespace {

constexpr auto queued = std::to_array<std::string_view>({"tracepoint block:block_bio_queue",
                                                         "tracepoint block:block_getrq",
                                                         "tracepoint block:block_rq_insert"});
constexpr auto completed = std::to_array<std::string_view>(
    {"tracepoint block:block_rq_complete", "tracepoint block:block_bio_complete"});
constexpr std::string_view issued = "tracepoint block:block_rq_issue";

template <typename Markers>
bool among(const Markers& markers, std::string_view marker) {
    return std::find(markers.begin(), markers.end(), marker) != markers.end();
}

}  // namespace

std::string_view queue_between(std::string_view from_marker, std::string_view to_marker) {
    if (from_marker == issued && among(completed, to_marker)) return "in the device's queue";
    if (!among(queued, from_marker)) return {};
    if (to_marker == issued) return "in the queue of the kernel";
    return among(completed, to_marker) ? "in the queues of the disk" : std::string_view();
}

}  // namespace lagtrap::analysis
