#include "daemon/calls/call_plan.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include <boost/regex.hpp>
#include <fmt/core.h>

#include "binaries/elf/program_file.hpp"
#include "binaries/reader/file_reader.hpp"
#include "bpf/calls.h"
#include "core/text.hpp"
#include "daemon/calls/name_expressions.hpp"
#include "settings/program_name.hpp"

namespace lagtrap::daemon {
namespace {

using binaries::FunctionCalls;

constexpr std::size_t max_refused_reported = 50;
constexpr std::size_t max_visited = 200'000;

using Place = CodePlace;

// With lazy binding, until the first call, a slot points to a stub that pushes a number.
bool is_lazy_stub(const FunctionCalls& found) {
    constexpr std::string_view end_branch = "\xf3\x0f\x1e\xfa";
    std::string_view code = found.first_code;
    if (code.starts_with(end_branch)) code.remove_prefix(end_branch.size());
    return found.symbol.empty() && code.starts_with('\x68');
}

std::string_view without_version(std::string_view symbol) {
    return symbol.substr(0, symbol.find('@'));
}

}  // namespace

struct CallPlanner::Search : ProcessFiles {
    struct Slot {
        std::uint64_t address;
        std::string symbol;
        std::uint32_t file;
    };

    Search(ProcessInspector& used_inspector, const std::atomic<bool>& is_given_up)
        : ProcessFiles(used_inspector, is_given_up), inspector(used_inspector) {
        take_go();
    }

    ProcessInspector& inspector;
    std::uint32_t pid = 0;
    unsigned depth = 0;
    boost::regex match;
    std::set<Place> visited;
    // Names that other files use. The function chosen for memcpy, for example, has no symbol of its
    // own.
    std::map<Place, std::string> called_as;

    [[nodiscard]] Result<std::vector<Place>> targets(const std::string& name,
                                                     const std::string& binary);
    [[nodiscard]] std::vector<std::uint32_t> files_named(const std::string& binary) const;
    [[nodiscard]] std::vector<Place> find_everywhere(const std::string& name);
    [[nodiscard]] Result<bool> matches(const FunctionCalls& found, std::uint32_t file) const;
    [[nodiscard]] Status add_level(std::vector<Place> level, std::uint32_t number, bool last,
                                   CallPlan& plan, std::vector<Place>& next);
    [[nodiscard]] Status add(const Place& place, FunctionCalls found, std::uint32_t level,
                             CallPlan& plan) const;
    void gather_slots(const Place& place, const FunctionCalls& found, std::vector<Slot>& slots);
    [[nodiscard]] Status follow(const std::vector<Slot>& slots, std::vector<Place>& next);
};

std::vector<Place> CallPlanner::Search::find_everywhere(const std::string& name) {
    std::vector<Place> places;
    for (std::uint32_t number = 0; number < files().size(); ++number)
        for (const Place& place : find(number, name)) places.push_back(place);
    return places;
}

// The files that `binary` names. If no path matches (a copy in a container, or a link), the files
// with the same file name.
std::vector<std::uint32_t> CallPlanner::Search::files_named(const std::string& binary) const {
    std::vector<std::uint32_t> all, named, like;
    for (std::uint32_t number = 0; number < files().size(); ++number) {
        const std::string& path = files()[number].file.path;
        all.push_back(number);
        if (settings::means_file(binary, path, {})) named.push_back(number);
        if (settings::file_name_of(path) == settings::file_name_of(binary)) like.push_back(number);
    }
    if (binary.empty()) return all;
    if (named.empty()) named = std::move(like);
    return named.empty() ? all : named;
}

// Searches the files in order, the program first, and returns the matches of the first file that
// has any.
Result<std::vector<Place>> CallPlanner::Search::targets(const std::string& name,
                                                        const std::string& binary) {
    for (const std::uint32_t number : files_named(binary)) {
        TRY(still_wanted());
        auto code = program(number);
        if (!code && number == 0) return code.error();
        if (!code) continue;
        const auto functions = (*code)->find_functions(name);
        if (!functions && number == 0) return functions.error();
        if (!functions || functions->empty()) continue;
        std::vector<Place> places;
        for (const binaries::Function& function : *functions)
            places.push_back({number, function.file_offset});
        return places;
    }
    return make_error(
        ErrorKind::NotFound,
        fmt::format("no function {} in {} or in the {} other files loaded by the process; "
                    "\"lagtrap list-markers --functions {}\" lists functions; in a stripped "
                    "program, static functions have no names",
                    name, files().front().file.path, files().size() - 1, pid));
}

Result<bool> CallPlanner::Search::matches(const FunctionCalls& found, std::uint32_t file) const {
    constexpr std::size_t max_compared_bytes = 4096;
    if (match.empty()) return true;
    try {
        const std::string name = found.name.substr(0, max_compared_bytes);
        return boost::regex_search(name, match) || boost::regex_search(name_of(file), match);
    } catch (const std::exception&) {
        return make_error(ErrorKind::Invalid,
                          "the regular expression takes too long; use a simpler one");
    }
}

Status CallPlanner::Search::add(const Place& place, FunctionCalls found, std::uint32_t level,
                                CallPlan& plan) const {
    if (const auto known = called_as.find(place); found.name.empty() && known != called_as.end())
        found.name = printable(known->second);
    const std::string name = found.name.empty() ? fmt::format("{:#x}", place.offset) : found.name;
    if (level > 0) {
        TRY_ASSIGN(const bool wanted, matches(found, place.file));
        if (!wanted) return success();
    }
    if (plan.functions.empty()) plan.go = {found.goid_offset, found.frame_offset};
    if (found.problem.empty() && found.goid_offset != plan.go.goid_offset)
        found.problem =
            "cannot be mixed with the others: only one of them is Go code with goroutines";
    if (!found.problem.empty()) {
        ++plan.refused_count;
        if (plan.refused.size() < max_refused_reported)
            plan.refused.push_back({name.substr(0, max_name_bytes), found.problem});
        return success();
    }
    if (plan.functions.size() >= LAGTRAP_CALL_FUNCTIONS) {
        ++plan.beyond_limit;
        return success();
    }
    plan.indirect_calls += found.indirect.size();
    PlannedFunction planned = planned_function(place, name, level, found);
    planned.probed_entry = found.entry;
    planned.indirect = std::move(found.indirect);
    plan.functions.push_back(std::move(planned));
    return success();
}

void CallPlanner::Search::gather_slots(const Place& place, const FunctionCalls& found,
                                       std::vector<Slot>& slots) {
    if (found.slots.empty()) return;
    const auto address = address_of(place);
    const auto code = program(place.file);
    const auto linked = code ? (*code)->address_of(place.offset) : std::nullopt;
    if (!address || !linked) return;
    const std::uint64_t bias = *address - *linked;
    for (const binaries::CodeSlot& slot : found.slots)
        slots.push_back({bias + slot.address, slot.symbol, place.file});
}

// Follows the slots of the process. Slots that are not bound yet are resolved by symbol.
Status CallPlanner::Search::follow(const std::vector<Slot>& slots, std::vector<Place>& next) {
    std::map<std::uint64_t, const Slot*> wanted;
    for (const Slot& slot : slots) wanted.emplace(slot.address, &slot);
    std::vector<std::uint64_t> addresses;
    for (const auto& [address, slot] : wanted)
        if (addresses.size() < inspected_words_limit) addresses.push_back(address);
    if (addresses.empty()) return success();
    TRY_ASSIGN(const std::vector<std::uint64_t> values, inspector.read_words(pid, addresses));
    std::map<std::uint32_t, std::map<std::uint64_t, std::set<std::string>>> perhaps_lazy;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const Slot* const slot = wanted[addresses[i]];
        const auto place = place_at(values[i]);
        if (!place) continue;
        if (place->file == slot->file && !slot->symbol.empty()) {
            perhaps_lazy[place->file][place->offset].emplace(without_version(slot->symbol));
        } else {
            if (!slot->symbol.empty()) called_as.emplace(*place, without_version(slot->symbol));
            next.push_back(*place);
        }
    }
    std::set<std::string> unbound;
    for (const auto& lazy : perhaps_lazy) {
        const std::uint32_t file = lazy.first;
        const auto& symbols = lazy.second;
        std::vector<std::uint64_t> offsets;
        for (const auto& [offset, of_it] : symbols) offsets.push_back(offset);
        TRY(for_each_part(file, offsets, [&](const auto& part, const auto& found) {
            for (std::size_t i = 0; i < part.size(); ++i) {
                if (found && is_lazy_stub((*found)[i])) {
                    const std::set<std::string>& of_it = symbols.at(part[i]);
                    unbound.insert(of_it.begin(), of_it.end());
                } else {
                    next.push_back({file, part[i]});
                }
            }
            return success();
        }));
    }
    for (const std::string& symbol : unbound) {
        const auto places = find_everywhere(symbol);
        if (!places.empty()) next.push_back(places.front());
    }
    return success();
}

Status CallPlanner::Search::add_level(std::vector<Place> level, std::uint32_t number, bool last,
                                      CallPlan& plan, std::vector<Place>& next) {
    std::map<std::uint32_t, std::vector<std::uint64_t>> by_file;
    for (const Place& place : level)
        if (visited.size() < max_visited && visited.insert(place).second)
            by_file[place.file].push_back(place.offset);
    std::vector<Slot> slots;
    for (auto& [number_of_file, entries] : by_file) {
        const std::uint32_t file = number_of_file;
        std::sort(entries.begin(), entries.end());
        const auto take = [&](const auto& part, auto found) -> Status {
            if (!found && number == 0) return found.error().within(files()[file].file.path);
            TRY(still_wanted());
            if (!found) {
                plan.refused_count += part.size();
                if (plan.refused.size() < max_refused_reported)
                    plan.refused.push_back({files()[file].file.path, found.error().message});
                return success();
            }
            for (std::size_t i = 0; i < part.size(); ++i) {
                const Place place{file, part[i]};
                if (!last) {
                    for (const std::uint64_t callee : (*found)[i].callees)
                        next.push_back({file, callee});
                    gather_slots(place, (*found)[i], slots);
                }
                TRY(add(place, std::move((*found)[i]), number, plan));
            }
            return success();
        };
        TRY(for_each_part(file, entries, take));
    }
    return last ? success() : follow(slots, next);
}

CallPlanner::CallPlanner(ProcessInspector& inspector, const std::atomic<bool>& given_up)
    : search_(std::make_unique<Search>(inspector, given_up)) {}

CallPlanner::~CallPlanner() = default;

Result<CallPlan> CallPlanner::plan(const CallWishes& wishes) {
    Search& search = *search_;
    search.pid = wishes.pid;
    search.begin_anew();
    TRY_ASSIGN(search.match, expression_of(wishes.match));
    TRY(search.read(wishes.pid));
    TRY_ASSIGN(std::vector<Place> level, search.targets(wishes.function, wishes.binary));
    CallPlan plan;
    std::vector<Place> next;
    const unsigned depth = wishes.only.empty() ? std::min(wishes.depth, max_call_levels) : 0;
    search.depth = depth;
    TRY(search.add_level(level, 0, depth == 0, plan, next));
    if (plan.functions.empty())
        return make_error(ErrorKind::Unsupported,
                          fmt::format("{} {}", wishes.function, plan.refused.front().reason));
    for (unsigned number = 1; number <= depth && !next.empty(); ++number) {
        level = std::exchange(next, {});
        TRY(search.add_level(level, number, number == depth, plan, next));
    }
    for (const std::string& name : wishes.only) {
        const auto places = search.find_everywhere(name);
        if (places.empty())
            return make_error(
                ErrorKind::NotFound,
                fmt::format("no function {} in any file loaded by the process", name));
        TRY(search.add_level(places, 1, true, plan, next));
    }
    plan.files = search.opened();
    return plan;
}

Result<std::set<std::uint32_t>> CallPlanner::add(const std::vector<Address>& addresses,
                                                 CallPlan& plan) {
    Search& search = *search_;
    search.begin_anew();
    std::map<std::uint32_t, std::vector<Place>> levels;
    std::set<Place> direct;
    for (const Address& one : addresses) {
        const auto place = search.place_at(one.address);
        if (!place || one.level > search.depth) continue;
        levels[one.level].push_back(*place);
        direct.insert(*place);
    }
    const auto before = static_cast<std::uint32_t>(plan.functions.size());
    for (std::uint32_t number = 1; number <= search.depth; ++number) {
        std::vector<Place> next;
        TRY(search.add_level(std::exchange(levels[number], {}), number, number == search.depth,
                             plan, next));
        auto& below = levels[number + 1];
        below.insert(below.end(), next.begin(), next.end());
    }
    plan.files = search.opened();
    std::set<std::uint32_t> numbers;
    for (std::uint32_t number = before; number < plan.functions.size(); ++number)
        if (direct.contains({plan.functions[number].file, plan.functions[number].entry}))
            numbers.insert(number);
    return numbers;
}

}  // namespace lagtrap::daemon
