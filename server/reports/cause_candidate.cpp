#include "server/reports/cause_candidate.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "server/reports/cause_names.hpp"

namespace lagtrap::server::reports {
namespace {

// part of a cause's extra time above which the caller is named
constexpr double one_caller_share = 0.6;

// A helper's name says little if one caller has all its extra time: "spin, called by parse_page".
void write_title(const CauseTree& tree, Candidate& candidate) {
    for (const auto& [caller, excess] : candidate.callers) {
        if (caller == 0 || excess < one_caller_share * candidate.excess) continue;
        candidate.parts.caller = tree.names()[caller].frame.function;
        break;
    }
    candidate.cause.title = title_of(candidate.parts).value_or("");
    candidate.cause.holder = holder_of(candidate.parts);
}

}  // namespace

std::vector<Candidate> gather_candidates(const CauseTree& tree, const RunWeights& weights,
                                         const SearchResult& search) {
    // The largest part of a suspect's extra time determines its state.
    const std::vector<std::uint32_t> waits = first_waits(tree);
    std::vector<std::map<std::uint32_t, double>> states(search.suspects.size());       // by name
    std::vector<std::map<std::uint32_t, double>> state_nodes(search.suspects.size());  // by node
    for (std::size_t i = 0; i < tree.runs().size(); ++i) {
        const TreeRun& run = tree.runs()[i];
        for (std::size_t at = run.entries_begin; at < run.entries_end; ++at) {
            const TreeEntry& entry = tree.entries()[at];
            const std::uint32_t suspect = search.suspect_of_node[entry.node];
            const std::uint32_t name = tree.nodes()[waits[entry.node]].name;
            if (suspect == no_suspect || tree.names()[name].kind == NameKind::Unknown) continue;
            const double weighted_ns = weights.of_run[i] * static_cast<double>(entry.time_ns);
            states[suspect][name] += weighted_ns;
            state_nodes[suspect][waits[entry.node]] += weighted_ns;
        }
    }
    std::vector<Candidate> candidates;
    std::map<std::string, std::size_t> by_signature;
    std::vector<std::size_t> candidate_of(search.suspects.size());
    std::vector<double> most(search.suspects.size(), 0);
    for (std::uint32_t i = 0; i < search.suspects.size(); ++i) {
        Candidate candidate;
        const std::uint32_t wait = largest_state(tree, states[i], state_nodes[i]);
        candidate.parts = describe(tree, search.suspects[i], wait, candidate.cause);
        const auto [place, added] =
            by_signature.try_emplace(candidate.cause.signature, candidates.size());
        candidate_of[i] = place->second;
        if (added) {
            candidate.values.assign(tree.runs().size(), 0);
            candidate.below.assign(tree.runs().size(), 0);
            candidate.awaited.assign(tree.runs().size(), 0);
            candidate.awaited_ns.assign(tree.runs().size(), 0);
            candidates.push_back(std::move(candidate));
        } else if (search.suspects[i].excess > most[place->second]) {
            candidates[place->second].cause.frames = candidate.cause.frames;
            candidates[place->second].parts = candidate.parts;
        }
        Candidate& whole = candidates[place->second];
        whole.by_share |= search.suspects[i].by_share;
        whole.one_place |=
            tree.names()[tree.nodes()[search.suspects[i].node].name].kind != NameKind::Function;
        whole.excess += search.suspects[i].excess;
        whole.callers[tree.nodes()[search.suspects[i].caller].name] += search.suspects[i].excess;
        most[place->second] = std::max(most[place->second], search.suspects[i].excess);
    }
    for (Candidate& candidate : candidates) write_title(tree, candidate);
    // By suspect: the candidates that contain it, including its own.
    std::vector<std::set<std::size_t>> around(search.suspects.size());
    for (std::uint32_t i = 0; i < search.suspects.size(); ++i) {
        for (std::uint32_t at = search.suspects[i].node; at != 0; at = tree.nodes()[at].parent) {
            const std::uint32_t suspect = search.suspect_of_node[at];
            if (suspect != no_suspect) around[i].insert(candidate_of[suspect]);
        }
    }
    for (std::size_t i = 0; i < tree.runs().size(); ++i) {
        const TreeRun& run = tree.runs()[i];
        for (std::size_t at = run.entries_begin; at < run.entries_end; ++at) {
            const TreeEntry& entry = tree.entries()[at];
            const std::uint32_t suspect = search.suspect_of_node[entry.node];
            if (suspect == no_suspect) continue;
            candidates[candidate_of[suspect]].add(i, entry);
            for (const std::size_t whole : around[suspect]) {
                candidates[whole].below[i] += static_cast<double>(entry.time_ns);
            }
        }
    }
    return candidates;
}

}  // namespace lagtrap::server::reports
