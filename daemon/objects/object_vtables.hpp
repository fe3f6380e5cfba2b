// Virtual functions of classes of C++ as the memory of a running process has them: by virtual tables whose type has a name
// (run-time type information), whether the file has symbols or not.
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
    std::uint32_t slot = 0;     // from 0, in the order of the table
    std::uint64_t address = 0;  // in the process
};

struct AddressRange {
    std::uint64_t begin = 0, end = 0;
};

// Where a file's data lies that has addresses in it: what follows its last code, from the end of what is only read. `maps` is
// /proc/PID/maps.
[[nodiscard]] std::vector<AddressRange> relocated_data(const std::string& maps, std::uint64_t inode);

// Of tables among `ranges`, by tables of the classes that are `wanted`; those of bases first. At most
// 8 MiB are looked at. Errors: Vanished.
[[nodiscard]] Result<std::vector<VirtualFunction>> find_virtual_functions(
    ProcessInspector& inspector, std::uint32_t pid, const std::vector<AddressRange>& ranges,
    const std::function<bool(std::uint64_t)>& is_code, const std::function<bool(const std::string&)>& wanted);

}  // namespace lagtrap::daemon
