#include "daemon/calls/call_plan.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <boost/regex.hpp>
#include <fmt/core.h>

#include "binaries/elf/program_file.hpp"
#include "binaries/reader/file_reader.hpp"
#include "bpf/calls.h"
#include "core/text.hpp"
#include "settings/program_name.hpp"

namespace lagtrap::daemon {
namespace {

using binaries::FunctionCalls;

constexpr std::size_t max_refused_reported = 50;
constexpr std::size_t max_visited = 200'000;
constexpr std::size_t max_name_bytes = 4096;

// File number and offset.
using Place = std::pair<std::uint32_t, std::uint64_t>;

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
    std::optional<boost::regex> match;
    std::set<Place> visited;
    // Names that other files use. The function chosen for memcpy, for example, has no symbol of its
    // own.
    std::map<Place, std::string> called_as;

    [[nodiscard]] std::optional<Place> place_at(std::uint64_t address) const;
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

std::optional<Place> CallPlanner::Search::place_at(std::uint64_t address) const {
    for (const Part& part : parts())
        if (address >= part.mapping.start && address - part.mapping.start < part.mapping.length)
            return Place{part.file, address - part.mapping.start + part.mapping.file_offset};
    return std::nullopt;
}

std::vector<Place> CallPlanner::Search::find_everywhere(const std::string& name) {
    std::vector<Place> places;
    for (std::uint32_t number = 0; number < files().size(); ++number) {
        auto code = program(number);
        if (!code) continue;
        const auto functions = (*code)->find_functions(name);
        if (!functions) continue;
        for (const binaries::Function& function : *functions)
            places.emplace_back(number, function.file_offset);
    }
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
            places.emplace_back(number, function.file_offset);
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
    if (!match) return true;
    try {
        const std::string name = found.name.substr(0, max_compared_bytes);
        const std::string module =
            std::filesystem::path(files()[file].file.path).filename().string();
        return boost::regex_search(name, *match) || boost::regex_search(module, *match);
    } catch (const std::exception&) {
        return make_error(ErrorKind::Invalid,
                          "the regular expression takes too long; use a simpler one");
    }
}

Status CallPlanner::Search::add(const Place& place, FunctionCalls found, std::uint32_t level,
                                CallPlan& plan) const {
    if (const auto known = called_as.find(place); found.name.empty() && known != called_as.end())
        found.name = printable(known->second);
    const std::string name = found.name.empty() ? fmt::format("{:#x}", place.second)
                                                : found.name.substr(0, max_name_bytes);
    if (level > 0) {
        TRY_ASSIGN(const bool wanted, matches(found, place.first));
        if (!wanted) return success();
    }
    if (plan.functions.empty()) plan.go = {found.goid_offset, found.frame_offset};
    if (found.problem.empty() && found.goid_offset != plan.go.goid_offset)
        found.problem =
            "cannot be mixed with the others: only one of them is Go code with goroutines";
    if (!found.problem.empty()) {
        ++plan.refused_count;
        if (plan.refused.size() < max_refused_reported)
            plan.refused.push_back({name, found.problem});
        return success();
    }
    if (plan.functions.size() >= LAGTRAP_CALL_FUNCTIONS) {
        ++plan.beyond_limit;
        return success();
    }
    plan.indirect_calls += found.indirect.size();
    PlannedFunction planned;
    planned.file = place.first;
    planned.entry = place.second;
    planned.probed_entry = found.entry;
    planned.name = name;
    planned.level = level;
    planned.first_code = std::move(found.first_code);
    planned.exits = std::move(found.exits);
    planned.return_probe = found.return_probe;
    planned.indirect = std::move(found.indirect);
    plan.functions.push_back(std::move(planned));
    return success();
}

void CallPlanner::Search::gather_slots(const Place& place, const FunctionCalls& found,
                                       std::vector<Slot>& slots) {
    if (found.slots.empty()) return;
    const auto part = std::find_if(parts().begin(), parts().end(), [&](const Part& one) {
        return one.file == place.first && place.second >= one.mapping.file_offset &&
               place.second - one.mapping.file_offset < one.mapping.length;
    });
    const auto code = program(place.first);
    const auto linked = code ? (*code)->address_of(place.second) : std::nullopt;
    if (part == parts().end() || !linked) return;
    const std::uint64_t bias =
        part->mapping.start + (place.second - part->mapping.file_offset) - *linked;
    for (const binaries::CodeSlot& slot : found.slots)
        slots.push_back({bias + slot.address, slot.symbol, place.first});
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
    std::map<std::uint32_t, std::vector<std::pair<std::uint64_t, const Slot*>>> perhaps_lazy;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const Slot* const slot = wanted[addresses[i]];
        const auto place = place_at(values[i]);
        if (!place) continue;
        if (place->first == slot->file && !slot->symbol.empty()) {
            perhaps_lazy[place->first].emplace_back(place->second, slot);
        } else {
            if (!slot->symbol.empty()) called_as.emplace(*place, without_version(slot->symbol));
            next.push_back(*place);
        }
    }
    std::set<std::string> unbound;
    for (const auto& [file, entries] : perhaps_lazy) {
        for (std::size_t at = 0; at < entries.size(); at += functions_of_question) {
            std::vector<std::uint64_t> offsets;
            const std::size_t end = std::min(entries.size(), at + functions_of_question);
            for (std::size_t i = at; i < end; ++i) offsets.push_back(entries[i].first);
            const auto found = calls_of(file, offsets);
            for (std::size_t i = at; i < end; ++i) {
                if (found && is_lazy_stub((*found)[i - at])) {
                    unbound.insert(std::string(without_version(entries[i].second->symbol)));
                } else {
                    next.emplace_back(file, entries[i].first);
                }
            }
        }
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
            by_file[place.first].push_back(place.second);
    std::vector<Slot> slots;
    for (auto& [file, entries] : by_file) {
        std::sort(entries.begin(), entries.end());
        for (std::size_t at = 0; at < entries.size(); at += functions_of_question) {
            const std::vector<std::uint64_t> some(
                entries.begin() + static_cast<std::ptrdiff_t>(at),
                entries.begin() + static_cast<std::ptrdiff_t>(
                                      std::min(entries.size(), at + functions_of_question)));
            auto found = calls_of(file, some);
            if (!found && number == 0) return found.error().within(files()[file].file.path);
            TRY(still_wanted());
            if (!found) {
                plan.refused_count += some.size();
                if (plan.refused.size() < max_refused_reported)
                    plan.refused.push_back({files()[file].file.path, found.error().message});
                continue;
            }
            for (std::size_t i = 0; i < some.size(); ++i) {
                const Place place{file, some[i]};
                if (!last) {
                    for (const std::uint64_t callee : (*found)[i].callees)
                        next.emplace_back(file, callee);
                    gather_slots(place, (*found)[i], slots);
                }
                TRY(add(place, std::move((*found)[i]), number, plan));
            }
        }
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
    if (!wishes.match.empty()) {
        try {
            search.match.emplace(wishes.match);
        } catch (const std::exception& wrong) {
            return make_error(ErrorKind::Invalid,
                              fmt::format("\"{}\" is not a valid regular expression: {}",
                                          wishes.match, std::string_view(wrong.what())));
        }
    }
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
