#include "settings/machine_check.hpp"

#include <grp.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include <fmt/core.h>

#include "binaries/program_file.hpp"
#include "core/text.hpp"
#include "settings/tracefs.hpp"

namespace lagtrap::settings {
namespace {

using binaries::Function;
using binaries::ProgramFile;
using binaries::UsdtProbe;

constexpr std::size_t candidates_shown = 5;
constexpr std::size_t near_names_searched = 200'000;

bool group_exists(const std::string& name) {
    group entry{};
    group* found = nullptr;
    std::vector<char> buffer(1 << 16);  // groups may have many members
    const int failure = getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
    return found || failure == ERANGE;
}

// What one file offers, read once.
struct Binary {
    std::string error;  // empty: it could be read
    std::optional<ProgramFile> file;
    std::vector<UsdtProbe> probes;
    std::string probes_error;  // functions of such a file can still be found
};

class MachineCheck {
  public:
    MachineCheck(Diagnostics& diagnostics, std::optional<Tracefs> tracefs)
        : diagnostics_(diagnostics), tracefs_(std::move(tracefs)) {}

    void check(const MarkerSource& source) {
        if (source.marker.kind == MarkerKind::Tracepoint) return check_tracepoint(source);
        Binary& binary = open(source.marker.binary);
        if (!binary.error.empty()) return report_binary(source, binary.error);
        if (source.marker.kind == MarkerKind::Function) return check_function(source, *binary.file);
        if (!binary.probes_error.empty()) return report_binary(source, binary.probes_error);
        check_probe(source, binary);
    }

  private:
    Binary& open(const std::string& path) {
        const auto [entry, is_new] = binaries_.try_emplace(path);
        Binary& binary = entry->second;
        if (!is_new) return binary;
        auto file = ProgramFile::open(path);
        if (!file) {
            binary.error = file.error().kind == ErrorKind::NotFound
                               ? fmt::format("there is no file {}", in_quotes(path))
                               : printable(file.error().message);
            return binary;
        }
        binary.file.emplace(std::move(file).value());
        auto probes = binary.file->usdt_probes();
        if (probes)
            binary.probes = std::move(probes).value();
        else
            binary.probes_error = printable(probes.error().message);
        return binary;
    }

    // Once for each place that names the binary, however many markers inherit it.
    void report_binary(const MarkerSource& source, const std::string& error) {
        if (reported_.emplace(source.binary_place, source.marker.binary).second)
            diagnostics_.add(source.binary_place, error, "expected a program or library (64-bit ELF)");
    }

    void check_probe(const MarkerSource& source, const Binary& binary) {
        const Marker& marker = source.marker;
        const std::string full_name = marker.provider + ":" + marker.name;
        std::set<std::string> names;
        std::optional<std::uint32_t> arguments;  // the fewest of all sites
        std::vector<const UsdtProbe*> sites;
        for (const UsdtProbe& probe : binary.probes) {
            names.insert(probe.provider + ":" + probe.name);
            if (probe.provider != marker.provider || probe.name != marker.name) continue;
            arguments = std::min(arguments.value_or(probe.argument_count), probe.argument_count);
            sites.push_back(&probe);
        }
        if (!arguments) return report_missing_probe(source, full_name, names);
        if (source.marker.kind == MarkerKind::Library) {
            if (source.marker.key && *arguments == 0) report_missing_key(source);
            return;
        }
        check_argument(source.marker.key, "key", source.key_place, full_name, *arguments);
        check_argument(source.begin_time, "begin-time", source.begin_time_place, full_name, *arguments);
        check_readable(source.marker.key, source.key_place, full_name, sites);
        check_readable(source.begin_time, source.begin_time_place, full_name, sites);
    }

    void report_missing_probe(const MarkerSource& source, const std::string& full_name,
                              const std::set<std::string>& names) {
        const std::string path = printable(source.marker.binary);
        const std::string list = fmt::format("lagtrap list-markers {} lists all", path);
        const std::string near = nearest_name(full_name, names);
        const bool library = source.marker.kind == MarkerKind::Library;
        std::string allowed =
            names.empty() ? "expected a file that has USDT probes" : "expected one of its USDT probes";
        if (library) allowed = "expected a file with the markers of lagtrap.h for this event";
        std::string hint = near.empty() ? list : fmt::format("{} ({})", did_you_mean(near), list);
        if (names.empty()) hint = "it has no USDT probes at all";
        diagnostics_.add(source.name_place,
                         fmt::format("{} has no {} {}", path, library ? "marker" : "probe", shortened(full_name)),
                         std::move(allowed), std::move(hint));
    }

    void report_missing_key(const MarkerSource& source) {
        diagnostics_.add(
            source.key_place,
            fmt::format("lagtrap:{} in {} carries no key", source.marker.name, shortened(source.marker.binary)),
            "expected markers with a key, such as LAGTRAP_BEGIN_KEY, wherever the program marks the event");
    }

    void check_argument(const std::optional<ArgumentRef>& argument, std::string_view name, Place place,
                        const std::string& probe, std::uint32_t count) {
        if (!argument || argument->index < count) return;
        const std::string has = count == 0   ? std::string("no arguments")
                                : count == 1 ? std::string("1 argument")
                                             : fmt::format("{} arguments", count);
        const std::string allowed = count == 0   ? fmt::format("expected no {}", name)
                                    : count == 1 ? std::string("expected arg0")
                                                 : fmt::format("expected arg0 to arg{}", count - 1);
        diagnostics_.add(place,
                         fmt::format("{} is \"arg{}\", but {} has {}", name, argument->index, shortened(probe), has),
                         allowed);
    }

    // The first site where it can not be read.
    void check_readable(const std::optional<ArgumentRef>& argument, Place place, const std::string& probe,
                        const std::vector<const UsdtProbe*>& sites) {
        if (!argument) return;
        const auto unreadable = [&](const UsdtProbe* site) {
            return argument->index < site->places.size() && !site->places[argument->index].readable();
        };
        const auto found = std::find_if(sites.begin(), sites.end(), unreadable);
        if (found == sites.end()) return;
        const std::string_view text = binaries::usdt_argument_text((*found)->arguments, argument->index);
        diagnostics_.add(place,
                         fmt::format("arg{} of {} {}", argument->index, shortened(probe),
                                     binaries::why_unreadable((*found)->places[argument->index], text)),
                         "expected an argument in a register, in memory at a register, or a constant");
    }

    void check_function(const MarkerSource& source, const ProgramFile& file) {
        const std::string& name = source.marker.name;
        auto found = file.find_functions(name);
        if (!found) return report_binary(source, printable(found.error().message));
        std::map<std::uint64_t, const Function*> by_address;  // names of one address are one function
        for (const Function& function : *found) by_address.emplace(function.address, &function);
        if (by_address.empty())
            return diagnostics_.add(
                source.name_place,
                fmt::format("{} has no function {}", shortened(source.marker.binary), in_quotes(name)),
                "expected one of its functions", missing_function_hint(source.marker, file));
        if (by_address.size() > 1) report_ambiguous(source, by_address);
        if (const std::string refusal = file.go_refusal(); !refusal.empty()) report_refused(source, refusal);
    }

    void report_refused(const MarkerSource& source, const std::string& refusal) {
        diagnostics_.add(source.name_place, fmt::format("{} {}", shortened(source.marker.binary), printable(refusal)),
                         "expected a program of Go that can be watched, or one that is not of Go",
                         "build it with a version of Go that is named here");
    }

    static std::string missing_function_hint(const Marker& marker, const ProgramFile& file) {
        const auto functions = file.functions();
        if (!functions || functions->empty()) return "it has no symbols of functions: it is stripped";
        std::set<std::string> near;
        for (std::size_t i = 0; i < functions->size() && i < near_names_searched; ++i) {
            const std::string& name = (*functions)[i].name;
            const std::size_t difference =
                std::max(name.size(), marker.name.size()) - std::min(name.size(), marker.name.size());
            if (difference < marker.name.size() / 3 + 2) near.insert(name);
        }
        const std::string nearest = marker.name.size() < 200 ? nearest_name(marker.name, near) : std::string();
        const std::string list = fmt::format("lagtrap list-markers --functions {} lists all", printable(marker.binary));
        return nearest.empty() ? list : fmt::format("{} ({})", did_you_mean(nearest), list);
    }

    void report_ambiguous(const MarkerSource& source, const std::map<std::uint64_t, const Function*>& functions) {
        std::string list;
        std::set<std::string_view> symbols;
        std::size_t shown = 0;
        for (const auto& [address, function] : functions) {
            symbols.insert(function->name);
            if (++shown > candidates_shown) continue;
            const std::string people_name = binaries::demangle(function->name);
            list += list.empty() ? "" : ", ";
            list += people_name == function->name
                        ? fmt::format("{} at 0x{:x}", shortened(people_name), address)
                        : fmt::format("{} ({})", shortened(people_name), shortened(function->name));
        }
        if (shown > candidates_shown) list += fmt::format(" and {} more", shown - candidates_shown);
        diagnostics_.add(source.name_place,
                         fmt::format("{} functions of {} are called {}", functions.size(),
                                     shortened(source.marker.binary), in_quotes(source.marker.name)),
                         symbols.size() > 1 ? "expected a name that only one has, such as its symbol"
                                            : "expected a name that only one has",
                         "these are: " + list);
    }

    void check_tracepoint(const MarkerSource& source) {
        if (!tracefs_) return;
        const Marker& marker = source.marker;
        const std::string full_name = marker.provider + ":" + marker.name;
        if (!tracefs_->has(marker.provider, marker.name)) {
            std::vector<std::string> near;
            for (const std::string& name : tracefs_->names(marker.provider))
                near.push_back(marker.provider + ":" + name);
            if (near.empty())
                for (const std::string& category : tracefs_->categories()) near.push_back(category + ":" + marker.name);
            return diagnostics_.add(source.name_place,
                                    fmt::format("the kernel has no tracepoint {}", shortened(full_name)),
                                    "expected one of its tracepoints", did_you_mean(nearest_name(full_name, near)));
        }
        const auto fields = tracefs_->number_fields(marker.provider, marker.name);
        if (!fields) return;
        check_field(marker.key, "key", source.key_place, full_name, *fields);
        check_field(source.begin_time, "begin-time", source.begin_time_place, full_name, *fields);
    }

    void check_field(const std::optional<ArgumentRef>& argument, std::string_view name, Place place,
                     const std::string& tracepoint, const std::vector<std::string>& fields) {
        if (!argument || std::find(fields.begin(), fields.end(), argument->field) != fields.end()) return;
        std::string list;
        for (const std::string& field : fields) list += (list.empty() ? "" : ", ") + printable(field);
        diagnostics_.add(
            place,
            fmt::format("{} is {}, which is no number in {}", name, in_quotes(argument->field), shortened(tracepoint)),
            fields.empty() ? fmt::format("expected no {}", name) : "expected one of " + list,
            did_you_mean(nearest_name(argument->field, fields)));
    }

    Diagnostics& diagnostics_;
    std::optional<Tracefs> tracefs_;
    std::map<std::string, Binary> binaries_;
    std::set<std::pair<Place, std::string>> reported_;
};

}  // namespace

std::vector<std::filesystem::path> tracefs_roots() { return {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}; }

void check_machine(const MachineSources& sources, Diagnostics& diagnostics,
                   const std::vector<std::filesystem::path>& tracefs) {
    for (const AccountSource& user : sources.unknown_users)
        diagnostics.add(user.place, fmt::format("user is {}", in_quotes(user.name)), "expected a user of this machine");
    for (const AccountSource& account : sources.groups)
        if (!group_exists(account.name))
            diagnostics.add(account.place, fmt::format("group is {}", in_quotes(account.name)),
                            "expected a group of this machine");
    MachineCheck check(diagnostics, Tracefs::find(tracefs));
    for (const MarkerSource& source : sources.markers) check.check(source);
}

}  // namespace lagtrap::settings
