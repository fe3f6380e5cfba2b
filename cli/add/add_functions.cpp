#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include <fmt/core.h>

#include "analysis/block_reason.hpp"
#include "cli/add/add_offers.hpp"
#include "cli/add/event_names.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/programs/function_ways.hpp"
#include "core/text.hpp"
#include "settings/element_text.hpp"

namespace lagtrap::cli {

namespace {

using formats::StackProfile;

constexpr std::size_t functions_limit = 24;
constexpr std::size_t seen_limit = 4096;
constexpr double min_share = 0.05;           // of the program's CPU time
constexpr double always_there_share = 0.98;  // of its threads' time

struct Seen {
    std::uint64_t busy_ns = 0;
    std::uint64_t total_ns = 0;
    std::uint64_t idle_ns = 0;    // part spent waiting for events
    std::uint64_t stretches = 0;  // number of times a thread entered it
    std::size_t depth = 0;        // smallest, from the outside
    std::set<const formats::ProfiledThread*> threads;
};

// Functions of one module, over all stacks of the target's threads.
class FunctionSearch {
  public:
    FunctionSearch(const AddTarget& target, const StackProfile& profile)
        : profile_(profile), module_(target.program) {
        std::set<std::uint32_t> pids;
        for (const MappedProcess& process : target.processes) pids.insert(process.pid);
        for (const formats::ProfiledThread& thread : profile.threads)
            if (pids.contains(thread.pid)) look_at(thread);
    }

    // Names and what was seen, most CPU time first; among equals, the outermost first.
    [[nodiscard]] std::vector<std::pair<std::string, Seen>> found() const {
        std::vector<std::pair<std::string, Seen>> found;
        for (const auto& [name, seen] : seen_) {
            std::uint64_t threads_ns = 0;
            for (const auto* thread : seen.threads) threads_ns += known_ns_.at(thread);
            const bool is_always_there = static_cast<double>(seen.total_ns) >
                                             always_there_share * static_cast<double>(threads_ns) &&
                                         seen.stretches <= 2 * seen.threads.size();
            const bool is_rare =
                static_cast<double>(seen.busy_ns) < min_share * static_cast<double>(busy_ns_);
            if (!is_always_there && !is_rare && seen.busy_ns > 0) found.emplace_back(name, seen);
        }
        std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
            if (a.second.busy_ns != b.second.busy_ns) return a.second.busy_ns > b.second.busy_ns;
            return a.second.depth < b.second.depth;
        });
        return found;
    }
    [[nodiscard]] std::uint64_t busy_ns() const { return busy_ns_; }
    [[nodiscard]] const CalleeTimes& callees() const { return callees_; }

  private:
    void look_at(const formats::ProfiledThread& thread) {
        std::set<std::string> before;
        for (const formats::Piece& piece : thread.pieces) {
            if (piece.stack == 0) continue;
            const auto& functions = functions_of(piece.stack);
            const bool busy = piece.kind == analysis::TimeKind::OnCpu;
            const bool idle = piece.kind == analysis::TimeKind::Blocked &&
                              profile_.texts[piece.reason] ==
                                  analysis::facts_of(analysis::BlockReason::Events).name;
            known_ns_[&thread] += piece.weight_ns;
            callees_.add(functions, piece.weight_ns);
            if (busy) busy_ns_ += piece.weight_ns;
            std::set<std::string> now;
            for (std::size_t depth = 0; depth < functions.size(); ++depth) {
                if (!now.insert(functions[depth]).second) continue;
                Seen& seen = seen_[functions[depth]];
                seen.total_ns += piece.weight_ns;
                if (busy) seen.busy_ns += piece.weight_ns;
                if (idle) seen.idle_ns += piece.weight_ns;
                if (!before.contains(functions[depth])) ++seen.stretches;
                seen.depth = seen.threads.empty() ? depth : std::min(seen.depth, depth);
                seen.threads.insert(&thread);
            }
            before = std::move(now);
        }
    }

    // The program's functions on this stack, outermost first.
    const std::vector<std::string>& functions_of(std::uint32_t stack) {
        const auto [place, added] = functions_.try_emplace(stack);
        if (!added) return place->second;
        for (const std::uint32_t node : profile_.path_of(stack)) {
            const formats::Place& where = profile_.places[profile_.nodes[node].place];
            if (where.module == module_ && !where.state && !where.kernel &&
                !where.function.starts_with('['))
                place->second.push_back(where.function);
        }
        return place->second;
    }

    const StackProfile& profile_;
    std::string module_;
    std::map<std::string, Seen> seen_;
    std::map<const formats::ProfiledThread*, std::uint64_t> known_ns_;
    std::map<std::uint32_t, std::vector<std::string>> functions_;
    std::uint64_t busy_ns_ = 0;
    CalleeTimes callees_;
};

// Each of those seen that is watchable, by its name in stacks, with and without parameters.
std::map<std::string, std::string> written_names(const AddTarget& target,
                                                 const std::vector<SeenFunction>& seen) {
    std::map<std::string, std::string> names;
    std::set<std::string> wanted;
    for (const SeenFunction& one : seen) {
        wanted.insert(without_parameters(one.name));
        for (const SeenCallee& callee : one.callees) wanted.insert(without_parameters(callee.name));
    }
    const auto file = binaries::ProgramFile::open(readable_file(target));
    if (!file) return names;
    const auto ways =
        ways_to_watch(*file, [&](const std::string& name, const std::string& written) {
            return !written.empty() && wanted.contains(without_parameters(name));
        });
    if (!ways) return names;
    for (const FunctionWay& way : *ways)
        if (way.watchable && !way.written.empty()) {
            names[way.name] = way.written;
            names.emplace(without_parameters(way.name), way.written);
        }
    return names;
}

}  // namespace

std::vector<SeenFunction> functions_seen(const AddTarget& target, const StackProfile& profile) {
    const FunctionSearch search(target, profile);
    std::vector<SeenFunction> seen;
    for (const auto& [name, facts] : search.found()) {
        const double share =
            static_cast<double>(facts.busy_ns) / static_cast<double>(search.busy_ns());
        seen.push_back({printable(name),
                        static_cast<std::uint64_t>(share * 1000),
                        facts.idle_ns > facts.total_ns / 2,
                        {}});
        for (const SeenCallee& callee : search.callees().dividing(name))
            seen.back().callees.push_back({printable(callee.name), callee.share_permille});
        if (seen.size() == seen_limit) break;
    }
    return seen;
}

std::string lines_of(const std::vector<SeenFunction>& seen) {
    std::string lines;
    for (const SeenFunction& one : seen) {
        lines +=
            fmt::format("{} {} {}\n", one.share_permille, one.waits_for_events ? 1 : 0, one.name);
        for (const SeenCallee& callee : one.callees)
            lines += fmt::format("> {} {}\n", callee.share_permille, callee.name);
    }
    return lines;
}

namespace {

// "734 NAME"; nullopt if it is anything else.
std::optional<SeenCallee> callee_of(std::string_view line) {
    SeenCallee callee;
    const char* const end = line.data() + line.size();
    const auto share = std::from_chars(line.data(), end, callee.share_permille);
    if (share.ec != std::errc() || callee.share_permille > 1000 || end - share.ptr < 2 ||
        *share.ptr != ' ')
        return std::nullopt;
    callee.name.assign(share.ptr + 1, end);
    if (printable(callee.name) != callee.name) return std::nullopt;
    return callee;
}

}  // namespace

std::vector<SeenFunction> seen_functions_of(std::string_view lines) {
    std::vector<SeenFunction> seen;
    while (!lines.empty() && seen.size() < seen_limit) {
        const std::string_view line = lines.substr(0, lines.find('\n'));
        lines.remove_prefix(std::min(lines.size(), line.size() + 1));
        if (line.starts_with("> ")) {
            if (auto callee = callee_of(line.substr(2));
                callee && !seen.empty() && seen.back().callees.size() < max_dividing_callees)
                seen.back().callees.push_back(std::move(*callee));
            continue;
        }
        SeenFunction one;
        const char* const end = line.data() + line.size();
        const auto share = std::from_chars(line.data(), end, one.share_permille);
        if (share.ec != std::errc() || one.share_permille > 1000 || end - share.ptr < 4) continue;
        const std::string_view rest(share.ptr, static_cast<std::size_t>(end - share.ptr));
        if (!rest.starts_with(" 0 ") && !rest.starts_with(" 1 ")) continue;
        one.waits_for_events = rest[1] == '1';
        one.name = rest.substr(3);
        if (printable(one.name) == one.name) seen.push_back(std::move(one));
    }
    return seen;
}

std::vector<Offer> function_offers(const AddTarget& target, const std::vector<SeenFunction>& seen) {
    std::vector<Offer> offers;
    if (target.processes.empty() || seen.empty()) return offers;
    const auto names = written_names(target, seen);
    const auto find = [&](const std::string& name) {
        const auto written = names.find(name);
        return written == names.end() ? names.find(without_parameters(name)) : written;
    };
    for (const SeenFunction& one : seen) {
        const std::string& name = one.name;
        const auto written = find(name);
        if (written == names.end()) continue;
        Offer offer{OfferKind::Function,
                    "function " + name,
                    fmt::format("On the stack for {} of the program's CPU time.",
                                percent(static_cast<double>(one.share_permille) / 1000)),
                    {},
                    true,
                    target.name,
                    {}};
        offer.waits_for_events = one.waits_for_events;
        if (offer.waits_for_events) offer.about += " It mostly waits for events.";
        offer.events.push_back({event_name(target.name, name),
                                fmt::format("    <function name=\"{}\"/>\n",
                                            settings::attribute_text(written->second)),
                                {},
                                {},
                                {}});
        std::vector<std::string> callees;
        for (const SeenCallee& callee : one.callees)
            if (const auto called = find(callee.name); called != names.end())
                callees.push_back(called->second);
        offer.stages = stages_at(callees);
        offers.push_back(std::move(offer));
        if (offers.size() == functions_limit) break;
    }
    return offers;
}

}  // namespace lagtrap::cli
