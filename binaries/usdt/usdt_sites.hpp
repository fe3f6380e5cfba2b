// Where a USDT probe is probed in its file.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "binaries/elf/program_file.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

struct UsdtSite {
    std::uint64_t file_offset = 0;       // of the nop
    std::uint64_t semaphore_offset = 0;  // in the file; 0: none
    UsdtProbe probe;
};

// Every site of one name. ErrorKind::NotFound where there is none; Invalid where a site or its semaphore lies in no
// segment of the file; errors of ProgramFile::usdt_probes().
[[nodiscard]] Result<std::vector<UsdtSite>> usdt_sites(const ProgramFile& file, std::string_view provider,
                                                       std::string_view name);

}  // namespace lagtrap::binaries
