#include "daemon/functions/runtime_plan.hpp"

#include <fmt/core.h>

#include "binaries/usdt/usdt_sites.hpp"
#include "daemon/probes/probe_places.hpp"

namespace lagtrap::daemon {
namespace {

Result<lagtrap_argument> argument(const binaries::UsdtProbe& probe, int number) {
    if (number == calls::no_probe_argument) return lagtrap_argument{};
    const auto place = static_cast<std::size_t>(number);
    if (place < probe.places.size() && probe.places[place].readable())
        return argument_at(probe.places[place]);
    return make_error(
        ErrorKind::Unsupported,
        fmt::format("argument {} of its probe {} cannot be read", number, probe.name));
}

Status add(const binaries::ProgramFile& file, const calls::RuntimeTraits& traits, const char* name,
           bool at_end, bool in_c, std::vector<RuntimeProbe>& probes) {
    TRY_ASSIGN(const auto sites, binaries::usdt_sites(file, traits.provider, name));
    for (const binaries::UsdtSite& one : sites) {
        RuntimeProbe probe{one.file_offset, one.semaphore_offset, at_end, {}};
        TRY_ASSIGN(probe.site.scope, argument(one.probe, traits.scope));
        TRY_ASSIGN(probe.site.scope_length, argument(one.probe, traits.scope_length));
        TRY_ASSIGN(probe.site.name, argument(one.probe, traits.name));
        TRY_ASSIGN(probe.site.name_length, argument(one.probe, traits.name_length));
        TRY_ASSIGN(probe.site.file, argument(one.probe, traits.file));
        // At an exit, the probe has the last executed line.
        TRY_ASSIGN(probe.site.line,
                   argument(one.probe, at_end ? calls::no_probe_argument : traits.line));
        probe.site.flags = (in_c ? LAGTRAP_RUNTIME_IN_C : 0) |
                           (traits.reports_ends_alone ? LAGTRAP_RUNTIME_UNBEGUN : 0);
        probes.push_back(probe);
    }
    return success();
}

}  // namespace

Result<std::vector<RuntimeProbe>> runtime_probes(const binaries::ProgramFile& file,
                                                 calls::Runtime runtime, bool in_c) {
    const calls::RuntimeTraits& traits = calls::traits_of(runtime);
    std::vector<RuntimeProbe> probes;
    for (const calls::RuntimeProbes& pair : traits.probes) {
        if (pair.begin == nullptr || (pair.in_c && !in_c)) continue;
        TRY(add(file, traits, pair.begin, false, pair.in_c, probes));
        TRY(add(file, traits, pair.end, true, pair.in_c, probes));
    }
    if (probes.empty()) return make_error(ErrorKind::NotFound, traits.missing);
    if (probes.size() > LAGTRAP_RUNTIME_SITES)
        return make_error(ErrorKind::TooLarge, fmt::format("its probes have more than {} addresses",
                                                           LAGTRAP_RUNTIME_SITES));
    return probes;
}

}  // namespace lagtrap::daemon
