// Finds the destructors among the virtual functions of classes without symbols.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "daemon/objects/object_vtables.hpp"
#include "daemon/processes/process_files.hpp"

namespace lagtrap::daemon {

// Offset of an address in the code of this file; nullopt if it is not there.
[[nodiscard]] std::optional<std::uint64_t> offset_in(const ProcessFiles& code, std::uint32_t file,
                                                     std::uint64_t address);
// Their addresses. `functions` of the file are in the order of their tables.
[[nodiscard]] std::set<std::uint64_t> destructors_among(
    ProcessFiles& code, std::uint32_t file, const std::vector<VirtualFunction>& functions);

}  // namespace lagtrap::daemon
