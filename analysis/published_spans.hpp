// Which spans a thread worked for, as its program published them. For analysis/ only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

struct SpanPart {
    const PublishedSpan* span = nullptr;  // as it was last seen
    Window seen;                          // from when until when
    std::uint64_t time_ns = 0;            // of the given times that lie in it
};

// The span that the thread worked for during at least half of `times`, which are in order and do
// not overlap. A span that was first seen while its thread did not run began before that wait.
[[nodiscard]] std::optional<SpanPart> span_of(const Recording& recording, std::uint32_t tid,
                                              std::span<const Window> times);

}  // namespace lagtrap::analysis
