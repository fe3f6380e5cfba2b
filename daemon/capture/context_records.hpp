// What a capture's log contains of published contexts. Programs publish whatever attributes they
// like; only those that the settings name are kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bpf/records.h"
#include "daemon/processes/record_buffer.hpp"

namespace lagtrap::daemon {

// The names of a process's attributes, by number, that are among `wanted`; the others are empty.
[[nodiscard]] std::vector<std::string> wanted_keys(std::vector<std::string> keys,
                                                   const std::vector<std::string>& wanted);
// A lagtrap_context_keys with these names.
[[nodiscard]] RecordBuffer context_keys_record(std::uint32_t pid,
                                               const std::vector<std::string>& keys,
                                               std::uint64_t now_ns);
// The record without attributes that have no name in `keys`, or are not complete.
[[nodiscard]] RecordBuffer context_record(const lagtrap_context& record,
                                          const std::vector<std::string>& keys);

}  // namespace lagtrap::daemon
