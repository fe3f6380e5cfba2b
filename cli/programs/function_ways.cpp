#include "cli/programs/function_ways.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include <fmt/core.h>

#include "binaries/code/function_places.hpp"
#include "binaries/code/return_sites.hpp"
#include "binaries/elf/unique_names.hpp"
#include "cli/console/text_layout.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

std::string way_of(const binaries::FunctionExits& exits) {
    const auto conditional = static_cast<std::size_t>(std::count_if(
        exits.exits.begin(), exits.exits.end(), [](const binaries::FunctionExit& exit) {
            return exit.condition != binaries::JumpCondition::Always || exit.by_target;
        }));
    std::string way = counted(exits.exits.size(), "exit", "exits");
    if (conditional > 0) way += fmt::format(", {} conditional", conditional);
    if (!exits.exits.empty() && exits.exits.front().of_others_too)
        way += ", those of the function it jumps to";
    return way;
}

// Whether and how one function can be watched, without its names.
FunctionWay way_of_code(const binaries::ProgramFile& file, const binaries::Function& function,
                        FunctionWays& counts) {
    const auto exits = binaries::function_exits(file, function);
    const ErrorKind problem = exits ? ErrorKind::System : exits.error().kind;
    if (!exits && problem == ErrorKind::NotFound) ++counts.nothing_to_watch;
    // A part of another function does not count.
    if (exits || problem != ErrorKind::Invalid) ++counts.count;
    if (exits) return {{}, {}, way_of(*exits), true};
    return {{}, {}, "not: " + binaries::exit_problem(exits.error(), function), false};
}

void sort_by_name(std::vector<FunctionWay>& functions) {
    const auto key = [](const FunctionWay& function) {
        return std::tie(function.name, function.written);
    };
    std::sort(functions.begin(), functions.end(),
              [&](const auto& a, const auto& b) { return key(a) < key(b); });
    functions.erase(std::unique(functions.begin(), functions.end(),
                                [&](const auto& a, const auto& b) { return key(a) == key(b); }),
                    functions.end());
}

}  // namespace

Result<FunctionWays> ways_to_watch(const binaries::ProgramFile& file) {
    TRY_ASSIGN(const auto functions, file.functions());
    const bool by_instructions = file.exceptions_may_pass();
    const binaries::UniqueNames names(functions);
    FunctionWays ways;
    FunctionWay of_address;
    std::optional<std::uint64_t> last;
    for (const binaries::Function& function : functions) {
        if (function.address != last) {
            if (!by_instructions) ++ways.count;
            of_address = by_instructions ? way_of_code(file, function, ways)
                                         : FunctionWay{{}, {}, "return probe", true};
            if (of_address.watchable) ++ways.watched;
            last = function.address;
        }
        FunctionWay way = of_address;
        way.name = printable(binaries::demangle(function.name));
        way.way = printable(way.way);
        way.written = names.name_of(function).value_or("");
        ways.functions.push_back(std::move(way));
    }
    sort_by_name(ways.functions);
    return ways;
}

Result<std::vector<FunctionWay>> ways_to_watch(const binaries::ProgramFile& file,
                                               const WantedFunction& wanted) {
    TRY_ASSIGN(const auto functions, file.functions());
    const binaries::UniqueNames names(functions);
    std::vector<FunctionWay> ways;
    std::vector<const binaries::Function*> asked;
    std::vector<binaries::FunctionQuery> queries;
    for (const binaries::Function& function : functions) {
        FunctionWay way{printable(binaries::demangle(function.name)),
                        names.name_of(function).value_or(""),
                        {},
                        false};
        if (!wanted(way.name, way.written)) continue;
        if (way.written.empty()) way.way = "not: has no unique name";
        asked.push_back(&function);
        queries.push_back({way.written, true});
        ways.push_back(std::move(way));
        if (ways.size() == max_wanted_functions) break;
    }
    TRY_ASSIGN(const auto found, binaries::function_places(file, queries));
    for (std::size_t i = 0; i < ways.size(); ++i) {
        if (ways[i].written.empty()) continue;
        ways[i].watchable = found[i].ok();
        ways[i].way =
            printable(!found[i] ? "not: " + binaries::exit_problem(found[i].error(), *asked[i])
                      : found[i]->return_probe ? "return probe"
                                               : way_of({found[i]->places}));
    }
    sort_by_name(ways);
    return ways;
}

std::string FunctionWays::summary() const {
    const std::size_t of = count - nothing_to_watch;
    const double share =
        of == 0 ? 100.0 : 100.0 * static_cast<double>(watched) / static_cast<double>(of);
    return fmt::format(
        "{} functions: {} can be watched, {} never return or do nothing, {} cannot be watched "
        "({:.2f} % of the rest can)",
        with_commas(count), with_commas(watched), with_commas(nothing_to_watch),
        with_commas(of - watched), share);
}

}  // namespace lagtrap::cli
