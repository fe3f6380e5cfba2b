// The build id in a mapping's record.
#pragma once

#include <string>
#include <string_view>

#include "bpf/records.h"

namespace lagtrap::daemon {

// At most 20 bytes of it count; what is no build id leaves the mapping without.
void set_build_id(lagtrap_mapping& mapping, std::string_view hexadecimal);
// Hexadecimal; empty where the mapping has none.
[[nodiscard]] std::string build_id_of(const lagtrap_mapping& mapping);

}  // namespace lagtrap::daemon
