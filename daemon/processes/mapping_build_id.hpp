// The build id in a mapping's record.
#pragma once

#include <string>
#include <string_view>

#include "bpf/records.h"

namespace lagtrap::daemon {

// Uses at most 20 bytes. If it is not valid, the mapping gets no build id.
void set_build_id(lagtrap_mapping& mapping, std::string_view hexadecimal);
// Hexadecimal; empty if the mapping has none.
[[nodiscard]] std::string build_id_of(const lagtrap_mapping& mapping);

}  // namespace lagtrap::daemon
