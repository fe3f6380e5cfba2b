// Checks that a record is consistent with its type.
#pragma once

#include <cstddef>

#include "bpf/records.h"

namespace lagtrap::trace {

enum class RecordCheck { Whole, UnknownType, Damaged };

// Checks a record of which `available_bytes` (at least a lagtrap_record) are in memory: its size
// must lie within them and cover its type's struct and the trailing data it declares, and its
// counts must be within their limits.
[[nodiscard]] RecordCheck check_record(const lagtrap_record* record, std::size_t available_bytes);

}  // namespace lagtrap::trace
