#include "daemon/probe_places.hpp"

#include <algorithm>
#include <map>

#include "binaries/program_file.hpp"
#include "binaries/return_sites.hpp"
#include "daemon/argument_sites.hpp"

namespace lagtrap::daemon {
namespace {

struct Site {
    unsigned long semaphore = 0;
    lagtrap_site arguments{};
};

// Zero where the site does not have it.
Result<lagtrap_argument> wanted_argument(const binaries::UsdtProbe& probe, std::uint16_t number) {
    if (number == LAGTRAP_NO_ARGUMENT || number >= probe.places.size()) return lagtrap_argument{};
    const binaries::UsdtArgument& argument = probe.places[number];
    if (argument.readable()) return argument_at(argument);
    const std::string_view text = binaries::usdt_argument_text(probe.arguments, number);
    return make_error(ErrorKind::Unsupported,
                      "arg" + std::to_string(number) + " " + binaries::why_unreadable(argument, text));
}

ProbeKind kind_at(const binaries::ProgramFile& file, unsigned long offset) {
    const auto code = file.code_at(offset);
    return probe_kind_of(code ? *code : std::string());
}

}  // namespace

// A return probe of the kernel hides the caller from whoever unwinds the stack: an exception that passes the function
// would end the program. Where exceptions may pass, the instructions that leave the function are probed instead.
Result<ProbePlaces> function_places(const settings::Marker& marker) {
    TRY_ASSIGN(const auto file, binaries::ProgramFile::open(marker.binary));
    TRY_ASSIGN(const auto functions, file.find_functions(marker.name));
    const bool at_return = marker.side == settings::FunctionSide::Return;
    const bool probe_exits = at_return && file.exceptions_may_pass();
    ProbePlaces places;
    places.return_probe = at_return && !probe_exits;
    for (const auto& function : functions) {
        if (!probe_exits) {
            places.offsets.push_back(function.file_offset);
            continue;
        }
        TRY_ASSIGN(const auto exits, binaries::return_sites(file, function));
        places.offsets.insert(places.offsets.end(), exits.begin(), exits.end());
    }
    std::sort(places.offsets.begin(), places.offsets.end());
    places.offsets.erase(std::unique(places.offsets.begin(), places.offsets.end()), places.offsets.end());
    if (places.offsets.empty()) return make_error(ErrorKind::NotFound, "no such function");
    places.kind = places.return_probe ? ProbeKind::Return : kind_at(file, places.offsets.front());
    return places;
}

Result<ProbePlaces> usdt_places(const settings::Marker& marker, WantedArguments wanted) {
    TRY_ASSIGN(const auto file, binaries::ProgramFile::open(marker.binary));
    TRY_ASSIGN(const auto probes, file.usdt_probes());
    std::map<unsigned long, Site> sites;  // the kernel refuses a place given twice
    bool any_argument = false;
    for (const auto& probe : probes) {
        if (probe.provider != marker.provider || probe.name != marker.name) continue;
        const auto offset = file.file_offset_of(probe.address);
        if (!offset) return make_error(ErrorKind::Invalid, "a site lies in no segment of the file");
        const auto semaphore = probe.semaphore == 0 ? 0 : file.file_offset_of(probe.semaphore);
        if (!semaphore) return make_error(ErrorKind::Invalid, "a semaphore lies in no segment of the file");
        Site site{*semaphore, {}};
        TRY_ASSIGN(site.arguments.key, wanted_argument(probe, wanted.key));
        TRY_ASSIGN(site.arguments.begin_time, wanted_argument(probe, wanted.begin_time));
        any_argument = any_argument || site.arguments.key.place != LAGTRAP_ARGUMENT_NONE ||
                       site.arguments.begin_time.place != LAGTRAP_ARGUMENT_NONE;
        sites[*offset] = site;
    }
    if (sites.empty()) return make_error(ErrorKind::NotFound, "no such probe");
    ProbePlaces places;
    for (const auto& [offset, site] : sites) {
        places.offsets.push_back(offset);
        places.semaphores.push_back(site.semaphore);
        if (any_argument) places.arguments.push_back(site.arguments);
    }
    places.kind = kind_at(file, places.offsets.front());
    return places;
}

}  // namespace lagtrap::daemon
