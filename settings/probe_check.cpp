#include "settings/probe_check.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include <fmt/core.h>

#include "binaries/usdt/usdt_sites.hpp"
#include "core/text.hpp"

namespace lagtrap::settings {
namespace {

using binaries::ProgramFile;
using binaries::UsdtProbe;

class ProbeCheck {
  public:
    explicit ProbeCheck(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

    void check(const MarkerSource& source, const ProgramFile& file,
               const std::vector<UsdtProbe>& probes) {
        const Marker& marker = source.marker;
        const std::string full_name = marker.provider + ":" + marker.name;
        std::set<std::string> names;
        std::optional<std::uint32_t> arguments;  // the minimum over all sites
        std::vector<const UsdtProbe*> sites;
        for (const UsdtProbe& probe : probes) {
            names.insert(probe.provider + ":" + probe.name);
            if (probe.provider != marker.provider || probe.name != marker.name) continue;
            arguments = std::min(arguments.value_or(probe.argument_count), probe.argument_count);
            sites.push_back(&probe);
        }
        if (!arguments) return report_missing_probe(source, full_name, names);
        const auto placed = binaries::usdt_sites(file, marker.provider, marker.name);
        if (!placed) return report_misplaced(source, full_name, placed.error());
        if (source.marker.kind == MarkerKind::Library) {
            if (source.marker.key && *arguments == 0) report_missing_key(source);
        } else {
            check_argument(source.marker.key, "key", source.key_place, full_name, *arguments);
            check_argument(source.begin_time, "begin-time", source.begin_time_place, full_name,
                           *arguments);
            check_argument(source.trace_id, "trace-id", source.trace_id_place, full_name,
                           *arguments);
        }
        check_readable(source.marker.key, source.key_place, full_name, sites);
        check_readable(source.begin_time, source.begin_time_place, full_name, sites);
        check_readable(source.trace_id, source.trace_id_place, full_name, sites);
    }

  private:
    void report_missing_probe(const MarkerSource& source, const std::string& full_name,
                              const std::set<std::string>& names) {
        const std::string path = printable(source.marker.binary);
        const std::string list = fmt::format("lagtrap list-markers {} lists all", path);
        const std::string near = nearest_name(full_name, names);
        const bool library = source.marker.kind == MarkerKind::Library;
        std::string allowed =
            names.empty() ? "expected a file with USDT probes" : "expected one of its USDT probes";
        if (library) allowed = "expected a file with lagtrap.h markers for this event";
        std::string hint = near.empty() ? list : fmt::format("{} ({})", did_you_mean(near), list);
        if (names.empty()) hint = "it has no USDT probes";
        diagnostics_.add(source.name_place,
                         fmt::format("{} has no {} {}", path, library ? "marker" : "probe",
                                     shortened(full_name)),
                         std::move(allowed), std::move(hint));
    }

    void report_misplaced(const MarkerSource& source, const std::string& full_name,
                          const Error& error) {
        diagnostics_.add(source.name_place,
                         fmt::format("probe {} of {}: {}", shortened(full_name),
                                     shortened(source.marker.binary), printable(error.message)),
                         "expected a probe inside the file's code");
    }

    void report_missing_key(const MarkerSource& source) {
        diagnostics_.add(source.key_place,
                         fmt::format("lagtrap:{} in {} has no key", source.marker.name,
                                     shortened(source.marker.binary)),
                         "expected a key at every marker of the event, as with LAGTRAP_BEGIN_KEY");
    }

    void check_argument(const std::optional<ArgumentRef>& argument, std::string_view name,
                        Place place, const std::string& probe, std::uint32_t count) {
        if (!argument || argument->index < count) return;
        const std::string has = count == 0   ? std::string("no arguments")
                                : count == 1 ? std::string("1 argument")
                                             : fmt::format("{} arguments", count);
        const std::string allowed = count == 0   ? fmt::format("expected no {}", name)
                                    : count == 1 ? std::string("expected arg0")
                                                 : fmt::format("expected arg0 to arg{}", count - 1);
        diagnostics_.add(place,
                         fmt::format("{} is \"arg{}\", but {} has {}", name, argument->index,
                                     shortened(probe), has),
                         allowed);
    }

    // Reports the first site where the argument cannot be read.
    void check_readable(const std::optional<ArgumentRef>& argument, Place place,
                        const std::string& probe, const std::vector<const UsdtProbe*>& sites) {
        if (!argument) return;
        const auto unreadable = [&](const UsdtProbe* site) {
            return argument->index < site->places.size() &&
                   !site->places[argument->index].readable();
        };
        const auto found = std::find_if(sites.begin(), sites.end(), unreadable);
        if (found == sites.end()) return;
        const std::string_view text =
            binaries::usdt_argument_text((*found)->arguments, argument->index);
        diagnostics_.add(
            place,
            fmt::format("arg{} of {} {}", argument->index, shortened(probe),
                        binaries::why_unreadable((*found)->places[argument->index], text)),
            "expected an argument in a register, in memory at a register, or a constant");
    }

    Diagnostics& diagnostics_;
};

}  // namespace

void check_probe(const MarkerSource& source, CheckedFiles& files, Diagnostics& diagnostics) {
    const ProgramFile* const file = files.open(source);
    if (!file) return;
    const auto probes = file->usdt_probes();
    if (!probes) return files.refuse(source, probes.error());
    ProbeCheck(diagnostics).check(source, *file, *probes);
}

}  // namespace lagtrap::settings
