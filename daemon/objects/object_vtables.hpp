// Finds virtual functions of C++ classes in the memory of a running process, by virtual tables with
// run-time type information. Works with stripped files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "daemon/processes/process_files.hpp"
#include "daemon/processes/process_inspector.hpp"

namespace lagtrap::daemon {

struct VirtualFunction {
    std::string class_name;     // "shop::Item"
    std::uint32_t slot = 0;     // index in the table, from 0
    std::uint64_t address = 0;  // in the process
};

struct AddressRange {
    std::uint64_t begin = 0, end = 0;
};

// Ranges of a file's data that contain relocated addresses, after its last code mapping and from
// the end of its read-only data on. `maps` is the text of /proc/PID/maps.
[[nodiscard]] std::vector<AddressRange> relocated_data(const std::string& maps,
                                                       std::uint64_t inode);

// Functions of the virtual tables in `ranges` that belong to `wanted` classes, tables of bases
// first. Reads at most 8 MiB. Errors: Vanished.
[[nodiscard]] Result<std::vector<VirtualFunction>> find_virtual_functions(
    ProcessInspector& inspector, std::uint32_t pid, const std::vector<AddressRange>& ranges,
    const std::function<bool(std::uint64_t)>& is_code,
    const std::function<bool(const std::string&)>& wanted);

}  // namespace lagtrap::daemon
