#include "cli/function_ways.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "binaries/return_sites.hpp"
#include "cli/text_layout.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

std::string way_of(const binaries::FunctionExits& exits) {
    const auto conditional = static_cast<std::size_t>(
        std::count_if(exits.exits.begin(), exits.exits.end(), [](const binaries::FunctionExit& exit) {
            return exit.condition != binaries::JumpCondition::Always || exit.by_target;
        }));
    std::string way = counted(exits.exits.size(), "exit", "exits");
    if (conditional > 0) way += fmt::format(", {} under a condition", conditional);
    if (!exits.exits.empty() && exits.exits.front().of_others_too) way += ", those of the function that it jumps to";
    return way;
}

}  // namespace

Result<FunctionWays> ways_to_watch(const binaries::ProgramFile& file) {
    TRY_ASSIGN(const auto functions, file.functions());
    const bool by_instructions = file.exceptions_may_pass();
    FunctionWays ways;
    std::string of_address;
    std::uint64_t last = 0;
    for (const binaries::Function& function : functions) {
        const std::string name = binaries::demangle(function.name);
        const bool is_new = function.address != last || ways.functions == 0;
        last = function.address;
        if (is_new) {
            of_address = "return probe";
            bool watched = true, no_function = false;
            if (by_instructions) {
                const auto exits = binaries::function_exits(file, function);
                watched = exits.ok();
                of_address = exits ? way_of(*exits) : "not: " + binaries::exit_problem(exits.error(), function);
                no_function = !exits && exits.error().kind == ErrorKind::Invalid;
                if (!exits && exits.error().kind == ErrorKind::NotFound) ++ways.nothing_to_watch;
            }
            ways.functions += no_function ? 0 : 1;
            ways.watched += watched ? 1 : 0;
        }
        ways.by_name.insert_or_assign(printable(name), printable(of_address));
    }
    return ways;
}

std::string FunctionWays::summary() const {
    const std::size_t of = functions - nothing_to_watch;
    const double share = of == 0 ? 100.0 : 100.0 * static_cast<double>(watched) / static_cast<double>(of);
    return fmt::format(
        "{} functions: {} can be watched, {} never return or do nothing, {} cannot be watched ({:.2f} % "
        "of the rest can)",
        with_commas(functions), with_commas(watched), with_commas(nothing_to_watch), with_commas(of - watched), share);
}

}  // namespace lagtrap::cli
