// Whether a record is what its type says.
#pragma once

#include <cstddef>

#include "bpf/records.h"

namespace lagtrap::trace {

enum class RecordCheck { Whole, UnknownType, Damaged };

// Checks a record of which `available_bytes` (at least a lagtrap_record) lie in memory: its size is within them
// and holds its type's struct with the trailing data that it announces; counts are within their limits.
[[nodiscard]] RecordCheck check_record(const lagtrap_record* record, std::size_t available_bytes);

}  // namespace lagtrap::trace
