// Records that were shorter in older versions, or are where they have less to say.
#pragma once

#include <algorithm>
#include <cstring>

#include "bpf/records.h"

namespace lagtrap::trace {

// What the record does not have is 0.
template <typename Record>
[[nodiscard]] Record whole_record(const lagtrap_record* record) {
    Record whole{};
    std::memcpy(&whole, record, std::min<std::size_t>(record->size_bytes, sizeof(whole)));
    return whole;
}

}  // namespace lagtrap::trace
