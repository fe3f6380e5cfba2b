#include "daemon/probes/probe_places.hpp"

#include <fcntl.h>

#include <algorithm>
#include <map>

#include "binaries/usdt/usdt_sites.hpp"

namespace lagtrap::daemon {
namespace {

struct Site {
    unsigned long semaphore = 0;
    lagtrap_site arguments{};
};

// Zero if the site does not have this argument.
Result<lagtrap_argument> wanted_argument(const binaries::UsdtProbe& probe, std::uint16_t number) {
    if (number == LAGTRAP_NO_ARGUMENT || number >= probe.places.size()) return lagtrap_argument{};
    const binaries::UsdtArgument& argument = probe.places[number];
    if (argument.readable()) return argument_at(argument);
    const std::string_view text = binaries::usdt_argument_text(probe.arguments, number);
    return make_error(ErrorKind::Unsupported, "arg" + std::to_string(number) + " " +
                                                  binaries::why_unreadable(argument, text));
}

ProbeKind kind_at(const binaries::ProgramFile& file, unsigned long offset) {
    const auto code = file.code_at(offset);
    return probe_kind_of(code ? *code : std::string());
}

}  // namespace

lagtrap_argument argument_at(const binaries::UsdtArgument& argument) {
    static_assert(binaries::no_register == LAGTRAP_NO_REGISTER);
    lagtrap_argument place{};
    place.number = argument.number;
    switch (argument.place) {
        case binaries::UsdtPlace::Constant: place.place = LAGTRAP_ARGUMENT_CONSTANT; break;
        case binaries::UsdtPlace::Register: place.place = LAGTRAP_ARGUMENT_REGISTER; break;
        case binaries::UsdtPlace::Memory: place.place = LAGTRAP_ARGUMENT_MEMORY; break;
        default: place.place = LAGTRAP_ARGUMENT_NONE; break;
    }
    place.bytes = argument.bytes;
    place.is_signed = argument.is_signed;
    place.first_bit = argument.first_bit;
    place.base = argument.base;
    place.index = argument.index;
    place.scale_shift = argument.scale_shift;
    return place;
}

void ProbePlanner::expect(const settings::Event& event) {
    const auto expect_one = [this](const settings::Marker& marker) {
        if (marker.kind != settings::MarkerKind::Function) return;
        binaries_[marker.binary].expected.emplace_back(
            marker.name, marker.side == settings::FunctionSide::Return);
    };
    expect_one(event.begin);
    expect_one(event.end);
    for (const auto& other : event.other_ends) expect_one(other.marker);
    for (const auto& stage : event.stages) expect_one(stage.marker);
}

Result<ProbePlanner::OpenProgram> ProbePlanner::open(const std::string& binary) const {
    TRY_ASSIGN(auto file, open_(binary));
    // The planner needs its own descriptor, because ProgramFile closes the one it gets.
    UniqueFd descriptor(::fcntl(file->fd(), F_DUPFD_CLOEXEC, 0));
    if (!descriptor.valid()) return system_error(binary);
    TRY_ASSIGN(auto program, binaries::ProgramFile::open(std::move(descriptor), binary, budget_));
    return OpenProgram{std::move(file), std::move(program)};
}

Result<ProbePlanner::OpenProgram*> ProbePlanner::program(const std::string& binary) {
    auto found = programs_.find(binary);
    if (found == programs_.end()) found = programs_.emplace(binary, open(binary)).first;
    if (!found->second) return found->second.error();
    found->second->program.use(budget_);
    return &*found->second;
}

Result<binaries::FunctionPlaces> ProbePlanner::answer_to(const settings::Marker& marker) {
    Binary& binary = binaries_[marker.binary];
    const Query wanted(marker.name, marker.side == settings::FunctionSide::Return);
    if (const auto known = binary.answers.find(wanted); known != binary.answers.end())
        return known->second;
    binary.expected.push_back(wanted);
    std::vector<binaries::FunctionQuery> queries;
    for (const auto& [name, at_return] : binary.expected) queries.push_back({name, at_return});
    TRY_ASSIGN(OpenProgram* const opened, program(marker.binary));
    TRY_ASSIGN(auto answers, binaries::function_places(opened->program, queries));
    for (std::size_t number = 0; number < queries.size(); ++number)
        binary.answers.insert_or_assign(binary.expected[number], std::move(answers[number]));
    binary.expected.clear();
    return binary.answers.at(wanted);
}

Result<ProbePlaces> ProbePlanner::function_places(const settings::Marker& marker) {
    TRY_ASSIGN(binaries::FunctionPlaces found, answer_to(marker));
    TRY_ASSIGN(const OpenProgram* const opened, program(marker.binary));
    ProbePlaces places;
    places.file = opened->file;
    places.build_id = opened->program.build_id();
    places.return_probe = found.return_probe;
    places.goid_offset = found.goid_offset;
    places.frame_offset = found.frame_offset;
    places.arguments_on_stack = found.arguments_on_stack;
    places.kind = found.return_probe ? ProbeKind::Return : probe_kind_of(found.first_code);
    for (const binaries::FunctionExit& place : found.places)
        places.offsets.push_back(place.file_offset);
    const bool any_reported =
        std::any_of(found.places.begin(), found.places.end(), [](const auto& place) {
            return place.condition != binaries::JumpCondition::Always || place.by_target ||
                   place.of_others_too;
        });
    if (any_reported) places.exits = std::move(found.places);
    return places;
}

Result<ProbePlaces> ProbePlanner::usdt_places(const settings::Marker& marker,
                                              WantedArguments wanted) {
    TRY_ASSIGN(const OpenProgram* const opened, program(marker.binary));
    TRY_ASSIGN(const auto found,
               binaries::usdt_sites(opened->program, marker.provider, marker.name));
    std::map<unsigned long, Site> sites;  // the kernel refuses duplicate offsets
    bool any_argument = false;
    for (const auto& [offset, semaphore, probe] : found) {
        Site site{semaphore, {}};
        TRY_ASSIGN(site.arguments.key, wanted_argument(probe, wanted.key));
        TRY_ASSIGN(site.arguments.begin_time, wanted_argument(probe, wanted.begin_time));
        TRY_ASSIGN(site.arguments.trace, wanted_argument(probe, wanted.trace));
        any_argument = any_argument || site.arguments.key.place != LAGTRAP_ARGUMENT_NONE ||
                       site.arguments.begin_time.place != LAGTRAP_ARGUMENT_NONE ||
                       site.arguments.trace.place != LAGTRAP_ARGUMENT_NONE;
        sites[offset] = site;
    }
    ProbePlaces places;
    places.file = opened->file;
    places.build_id = opened->program.build_id();
    for (const auto& [offset, site] : sites) {
        places.offsets.push_back(offset);
        places.semaphores.push_back(site.semaphore);
        if (site.semaphore != 0 && opened->program.is_writable_twice(site.semaphore))
            places.semaphore_writable_twice = true;
        if (any_argument) places.arguments.push_back(site.arguments);
    }
    places.kind = kind_at(opened->program, places.offsets.front());
    return places;
}

}  // namespace lagtrap::daemon
