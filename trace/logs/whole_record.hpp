// Completes records that older versions wrote shorter, or that are shorter when they have less to
// report.
#pragma once

#include <algorithm>
#include <cstring>

#include "bpf/records.h"

namespace lagtrap::trace {

// Missing fields are 0.
template <typename Record>
[[nodiscard]] Record whole_record(const lagtrap_record* record) {
    Record whole{};
    std::memcpy(&whole, record, std::min<std::size_t>(record->size_bytes, sizeof(whole)));
    return whole;
}

}  // namespace lagtrap::trace
