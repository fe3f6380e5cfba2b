#include "settings/function_check.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/core.h>

#include "binaries/code/return_sites.hpp"
#include "core/text.hpp"
#include "settings/missing_function.hpp"

namespace lagtrap::settings {
namespace {

using binaries::Function;
using binaries::ProgramFile;

constexpr std::size_t candidates_shown = 5;
// Libraries take long to read, so stop searching them after this many missing functions.
constexpr std::size_t libraries_searched_for = 8;

bool ends_at_return(const MarkerSource& source) {
    return source.each_call || source.marker.side == FunctionSide::Return;
}

// A jump through a table of cases has an index.
bool ends_in_tail_call(const binaries::FunctionPlaces& end) {
    return !end.return_probe &&
           std::any_of(end.places.begin(), end.places.end(),
                       [](const binaries::FunctionExit& exit) {
                           return exit.by_target && exit.target.index == binaries::no_jump_register;
                       });
}

std::string list_command(const Marker& marker) {
    return fmt::format("lagtrap list-markers --functions {}", printable(marker.binary));
}

}  // namespace

void FunctionCheck::ask_for(const std::string& binary, const std::string& name, bool at_return) {
    Asked& asked = asked_[binary];
    if (asked.numbers.emplace(Query(name, at_return), asked.queries.size()).second)
        asked.queries.push_back({name, at_return});
}

void FunctionCheck::expect(const MarkerSource& source) {
    ask_for(source.marker.binary, source.marker.name, false);
    if (ends_at_return(source)) ask_for(source.marker.binary, source.marker.name, true);
}

void FunctionCheck::check(const MarkerSource& source) {
    const ProgramFile* const file = files_.open(source);
    if (!file) return;
    Asked& asked = asked_.at(source.marker.binary);
    if (!asked.answers) asked.answers = binaries::function_places(*file, asked.queries);
    if (!*asked.answers) return files_.refuse(source, asked.answers->error());
    const auto answer = [&](bool at_return) -> const Places& {
        return asked.answers->value()[asked.numbers.at(Query(source.marker.name, at_return))];
    };
    const Places& entry = answer(false);
    if (!entry && entry.error().kind == ErrorKind::NotFound) return report_missing(source, *file);
    if (!entry) return report_unwatched(source, *file, entry.error());
    if (entry->places.size() > 1) {
        const auto functions = file->find_functions(source.marker.name);
        return functions ? report_ambiguous(source, *functions)
                         : files_.refuse(source, functions.error());
    }
    if (!ends_at_return(source)) return;
    const Places& end = answer(true);
    if (!end) return report_unwatched(source, *file, end.error());
    if (ends_in_tail_call(*end))
        diagnostics_.warn(
            source.name_place,
            fmt::format(
                "function {} of {} may end in a jump through a pointer (tail call); the function "
                "that it jumps to does not count, so watch the caller if that is slow",
                in_quotes(source.marker.name), shortened(source.marker.binary)));
    if (source.calls_place && entry->goid_offset != 0)
        diagnostics_.add(*source.calls_place,
                         fmt::format("<calls> with a function of {}, a Go program",
                                     shortened(source.marker.binary)),
                         "expected none: goroutines can change threads and stacks during a call",
                         "the event itself works without <calls>");
}

void FunctionCheck::report_missing(const MarkerSource& source, const ProgramFile& file) {
    const std::string library = ++missing_ <= libraries_searched_for
                                    ? library_hint(source.marker.binary, source.marker.name)
                                    : std::string();
    const std::string near =
        library.empty() ? near_function(file, source.marker.name) : std::string();
    const auto functions = file.functions();
    const bool nameless = functions && functions->empty();
    const std::string list = nameless ? "it is stripped: it has no function symbols"
                                      : list_command(source.marker) + " lists all";
    const std::string hint = near.empty() ? list : fmt::format("{} ({})", did_you_mean(near), list);
    diagnostics_.add(source.name_place,
                     fmt::format("{} has no function {}", shortened(source.marker.binary),
                                 in_quotes(source.marker.name)),
                     "expected one of its functions", library.empty() ? hint : library);
}

void FunctionCheck::report_unwatched(const MarkerSource& source, const ProgramFile& file,
                                     const Error& error) {
    const auto functions = file.find_functions(source.marker.name);
    std::string reason = printable(
        functions && !functions->empty() ? exit_problem(error, functions->front()) : error.message);
    const std::size_t advice = reason.find("; watch ");
    std::string hint = list_command(source.marker) + " shows which can be watched";
    if (advice != std::string::npos) {
        hint = fmt::format("{} ({})", reason.substr(advice + 2), hint);
        reason.resize(advice);
    }
    diagnostics_.add(
        source.name_place,
        fmt::format("function {} of {} cannot be watched: {}", in_quotes(source.marker.name),
                    shortened(source.marker.binary), reason),
        "expected a function that takes time and whose return can be probed", std::move(hint));
}

void FunctionCheck::report_ambiguous(const MarkerSource& source,
                                     const std::vector<Function>& functions) {
    std::set<std::string_view> symbols;
    for (const Function& function : functions) symbols.insert(function.name);
    std::string list;
    std::size_t shown = 0;
    for (const Function& function : functions) {
        if (++shown > candidates_shown) continue;
        const std::string people_name = binaries::demangle(function.name);
        list += list.empty() ? "" : ", ";
        list += symbols.size() == 1 || people_name == function.name
                    ? fmt::format("{} at 0x{:x}", shortened(people_name), function.address)
                    : fmt::format("{} ({})", shortened(people_name), shortened(function.name));
    }
    if (shown > candidates_shown) list += fmt::format(" and {} more", shown - candidates_shown);
    diagnostics_.add(source.name_place,
                     fmt::format("{} functions in {} are named {}", functions.size(),
                                 shortened(source.marker.binary), in_quotes(source.marker.name)),
                     symbols.size() > 1 ? "expected a unique name, such as its symbol"
                                        : "expected a unique name",
                     "these are: " + list);
}

}  // namespace lagtrap::settings
