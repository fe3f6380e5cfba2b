#include "binaries/usdt/usdt_sites.hpp"

#include <optional>
#include <utility>

namespace lagtrap::binaries {

Result<std::vector<UsdtSite>> usdt_sites(const ProgramFile& file, std::string_view provider,
                                         std::string_view name) {
    TRY_ASSIGN(auto probes, file.usdt_probes());
    std::vector<UsdtSite> sites;
    for (UsdtProbe& probe : probes) {
        if (probe.provider != provider || probe.name != name) continue;
        const auto offset = file.file_offset_of(probe.address);
        if (!offset)
            return make_error(ErrorKind::Invalid, "a probe address is outside the file's segments");
        const auto semaphore = probe.semaphore == 0 ? std::optional<std::uint64_t>(0)
                                                    : file.file_offset_of(probe.semaphore);
        if (!semaphore)
            return make_error(ErrorKind::Invalid, "a semaphore is outside the file's segments");
        sites.push_back({*offset, *semaphore, std::move(probe)});
    }
    if (sites.empty()) return make_error(ErrorKind::NotFound, "no such probe");
    return sites;
}

}  // namespace lagtrap::binaries
