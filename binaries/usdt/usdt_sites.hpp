// Finds where to probe a USDT probe in its file.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "binaries/elf/program_file.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

struct UsdtSite {
    std::uint64_t file_offset = 0;       // of the nop
    std::uint64_t semaphore_offset = 0;  // in the file; 0 if there is none
    UsdtProbe probe;
};

// Every site with this name. ErrorKind::NotFound if there is none; Invalid if a site or its
// semaphore is outside the file's segments; errors of ProgramFile::usdt_probes().
[[nodiscard]] Result<std::vector<UsdtSite>> usdt_sites(const ProgramFile& file,
                                                       std::string_view provider,
                                                       std::string_view name);

}  // namespace lagtrap::binaries
