#include "server/reports/change_split.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "server/reports/worsening.hpp"

namespace lagtrap::server::reports {
namespace {

// Of a logarithm of likelihoods: how strongly counts must speak for one of two explanations.
constexpr double strong_evidence = 6;
// How strongly the counts of one part may speak against a pattern that fits the others.
constexpr double bearable = 4;
constexpr double hardly_ran = 0.05;  // of its runs after the change
constexpr int max_rounds = 20;

using Chosen = std::vector<bool>;

double log_likelihood(double counted, double expected) {
    return counted * std::log(std::max(expected, 1e-12)) - expected;
}

// What is known of a change that some parts have.
class PartChange {
  public:
    explicit PartChange(std::vector<ChangedPart>& parts) : parts_(parts) {
        for (const ChangedPart& part : parts) {
            before_.add(part.before);
            after_.add(part.after);
        }
        prior_slow_ = prior_slow();
        for (ChangedPart& part : parts) {
            expected_.push_back(usual_share(part) * part.after.runs);
            part.beyond = part.after.slow - expected_.back();
            // What is expected is itself an estimate from few slow runs.
            noise_of_.push_back(1 + expected_.back() / (part.before.slow + prior_slow_));
        }
        noise_ = noise();
    }

    // The parts that fit a common factor better than no change; found by turns with the factor.
    [[nodiscard]] Chosen changed_parts() const {
        Chosen chosen(parts_.size(), false);
        const bool more = after_.share() > before_.share();
        for (std::size_t i = 0; i < parts_.size(); ++i) chosen[i] = (parts_[i].beyond > 0) == more;
        for (int round = 0; round < max_rounds; ++round) {
            const double factor = factor_of(chosen);
            Chosen next(parts_.size(), false);
            for (std::size_t i = 0; i < parts_.size(); ++i) next[i] = evidence(i, factor) > 0;
            if (next == chosen) break;
            chosen = std::move(next);
        }
        return chosen;
    }

    // By what the chosen parts changed together.
    [[nodiscard]] double factor_of(const Chosen& chosen) const {
        double slow = 0, expected = 0;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            if (!chosen[i]) continue;
            slow += parts_[i].after.slow;
            expected += expected_[i];
        }
        constexpr double prior = 0.5;
        return (slow + prior) / (expected + prior);
    }

    // How strongly one part's counts speak for the factor, against no change.
    [[nodiscard]] double evidence(std::size_t part, double factor) const {
        const double slow = parts_[part].after.slow, expected = expected_[part];
        return (log_likelihood(slow, expected * factor) - log_likelihood(slow, expected)) /
               noise_of_[part] / noise_;
    }

    // How strongly all counts speak for a change of the chosen parts, against none.
    [[nodiscard]] double evidence_for(const Chosen& chosen) const {
        const double factor = factor_of(chosen);
        double sum = 0;
        for (std::size_t i = 0; i < parts_.size(); ++i)
            if (chosen[i]) sum += evidence(i, factor);
        return sum;
    }

    // Whether the chosen parts changed while the others drifted at most, as all do from hour to
    // hour: plainly likelier than that all changed by one factor.
    [[nodiscard]] bool stands_out(const Chosen& chosen) const {
        Chosen others = chosen;
        others.flip();
        const double factor = factor_of(chosen), drift = factor_of(others);
        return std::abs(std::log(drift)) <= std::abs(std::log(factor)) / 2 &&
               evidence_for(chosen) + evidence_for(others) >
                   evidence_for(Chosen(parts_.size(), true)) + strong_evidence;
    }

  private:
    // The share before the change, drawn to that of all parts the more, the less the parts differ.
    [[nodiscard]] double usual_share(const ChangedPart& part) const {
        const double all = before_.share();
        if (part.before.runs <= hardly_ran * part.after.runs) return all;
        if (all <= 0) return prior_slow_ / 4 / std::max(before_.runs, 1.0);
        return (part.before.slow + prior_slow_) / (part.before.runs + prior_slow_ / all);
    }

    // How many slow runs the share of all parts counts for: shares of parts that differ by no more
    // than chance are alike.
    [[nodiscard]] double prior_slow() const {
        constexpr double least = 2, most = 200;
        const double all = before_.share();
        double squares = 0, mean = 0, count = 0;
        for (const ChangedPart& part : parts_) {
            const double expected = all * part.before.runs;
            if (expected <= 0) continue;
            squares += std::pow(part.before.slow - expected, 2) / expected;
            mean += expected;
            ++count;
        }
        if (count < 4) return least;
        const double beyond_chance = squares / (count - 1) - 1;
        return beyond_chance <= 0 ? most : std::clamp(mean / count / beyond_chance, least, most);
    }

    // How much more counts vary than chance alone, as far as the share before explains; at least 1.
    // From the parts that changed least, because the others changed.
    [[nodiscard]] double noise() const {
        std::vector<double> squares;
        for (std::size_t i = 0; i < parts_.size(); ++i)
            if (expected_[i] > 0)
                squares.push_back(parts_[i].beyond * parts_[i].beyond / expected_[i] /
                                  noise_of_[i]);
        std::sort(squares.begin(), squares.end());
        squares.resize(squares.size() / 3);
        if (squares.size() < 4) return 1;
        // The lowest third of the squares of independent counts has this mean.
        constexpr double mean_of_third = 0.06;
        const double mean = std::accumulate(squares.begin(), squares.end(), 0.0) /
                            static_cast<double>(squares.size());
        constexpr double most = 4;
        return std::clamp(mean / mean_of_third, 1.0, most);
    }

    std::vector<ChangedPart>& parts_;
    SlowRuns before_, after_;
    std::vector<double> expected_, noise_of_;
    double prior_slow_ = 0;
    double noise_ = 1;
};

bool is_separator(char c) {
    return c == '-' || c == '.' || c == '_' || c == '@' || c == '/' || c == ':';
}

bool matches(const std::string& name, const std::string& pattern) {
    if (pattern.back() == '*') return name.starts_with(pattern.substr(0, pattern.size() - 1));
    return name.ends_with(pattern.substr(1));
}

// Beginnings and ends of names at separators: "fra-*", "*.example.org".
std::set<std::string> patterns_of(const std::vector<ChangedPart>& parts, const Chosen& chosen) {
    std::set<std::string> patterns;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::string& name = parts[i].name;
        if (!chosen[i]) continue;
        for (std::size_t at = 1; at + 1 < name.size(); ++at) {
            if (!is_separator(name[at])) continue;
            patterns.insert(name.substr(0, at + 1) + "*");
            patterns.insert("*" + name.substr(at));
        }
    }
    return patterns;
}

Chosen parts_of_pattern(const std::vector<ChangedPart>& parts, const std::string& pattern) {
    Chosen chosen;
    for (const ChangedPart& part : parts) chosen.push_back(matches(part.name, pattern));
    return chosen;
}

// The pattern with most evidence of which no part speaks plainly against it.
std::string best_pattern(const PartChange& change, const std::vector<ChangedPart>& parts,
                         const Chosen& chosen) {
    std::string best;
    double most = 0;
    for (const std::string& pattern : patterns_of(parts, chosen)) {
        const Chosen of_pattern = parts_of_pattern(parts, pattern);
        const auto count = std::count(of_pattern.begin(), of_pattern.end(), true);
        if (count < 2 || count == static_cast<std::ptrdiff_t>(parts.size())) continue;
        const double factor = change.factor_of(of_pattern);
        bool fits = true;
        for (std::size_t i = 0; i < parts.size() && fits; ++i)
            if (of_pattern[i] != chosen[i]) fits = std::abs(change.evidence(i, factor)) <= bearable;
        const double evidence = change.evidence_for(of_pattern);
        if (!fits || evidence <= most) continue;
        most = evidence;
        best = pattern;
    }
    return best;
}

}  // namespace

void SlowRuns::add(const SlowRuns& other) {
    runs += other.runs;
    slow += other.slow;
}

ChangeSplit split_change(std::vector<ChangedPart> parts) {
    ChangeSplit split;
    std::erase_if(parts, [](const ChangedPart& part) {
        return part.before.runs <= 0 && part.after.runs <= 0;
    });
    const PartChange change(parts);
    Chosen chosen = change.changed_parts();
    const Chosen all(parts.size(), true);
    if (const std::string pattern = best_pattern(change, parts, chosen); !pattern.empty()) {
        split.pattern = pattern;
        chosen = parts_of_pattern(parts, pattern);
    }
    const auto count = std::count(chosen.begin(), chosen.end(), true);
    // Parts of a pattern are not chosen by their counts, so that the others may have drifted.
    split.concentrated =
        count > 0 && count < static_cast<std::ptrdiff_t>(parts.size()) &&
        (change.evidence_for(chosen) > change.evidence_for(all) + strong_evidence ||
         (!split.pattern.empty() && change.stands_out(chosen)));
    if (!split.concentrated) {
        split.pattern.clear();
        chosen = all;
    }
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i].changed = chosen[i];
    split.changed = static_cast<std::uint64_t>(std::count(chosen.begin(), chosen.end(), true));
    double beyond = 0;
    for (const ChangedPart& part : parts) beyond += part.beyond;
    std::stable_sort(parts.begin(), parts.end(), [&](const ChangedPart& a, const ChangedPart& b) {
        return beyond >= 0 ? a.beyond > b.beyond : a.beyond < b.beyond;
    });
    split.parts = std::move(parts);
    return split;
}

ComparedTimes compared_times(std::uint64_t at_ns, std::uint64_t to_ns) {
    constexpr std::uint64_t compared_ns = 7 * day_length_ns;
    return {at_ns > compared_ns ? at_ns - compared_ns : 0,
            std::max(std::min(to_ns, at_ns + compared_ns), at_ns + 1)};
}

}  // namespace lagtrap::server::reports
