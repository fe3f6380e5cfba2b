#include "server/reports/change_points.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "server/reports/level_stretch.hpp"
#include "server/reports/quantiles.hpp"

namespace lagtrap::server::reports {

namespace {

constexpr std::size_t window_units = 50;
// Splits with up to this times the p-value are examined first: separating what they divide can make
// others more significant.
constexpr double weak_factor = 100;
// Of Welch's test, which examines the place that the other test has confirmed.
constexpr double highest_welch_p = 0.001;
constexpr std::size_t cycles_to_know_one = 4;

class Splitter {
  public:
    Splitter(const KnownUnits& known, const ChangeOptions& options)
        : known_(known), options_(options), sums_(known), clumping_(clumping_of(known)) {
        for (const LikelyPlace& likely : options.likely) {
            const auto first =
                std::lower_bound(known.places.begin(), known.places.end(), likely.unit);
            const auto unit = static_cast<std::size_t>(first - known.places.begin());
            if (unit < min_side || unit + min_side > known.units.size()) continue;
            bool& confirmed = likely_[unit];
            confirmed |= likely.confirmed;
        }
    }

    [[nodiscard]] Places split() const {
        Places splits;
        const std::size_t count = known_.units.size();
        split(0, count, splits);
        for (std::size_t begin = 0; begin + window_units < count; begin += window_units / 2)
            split(begin, std::min(begin + window_units, count), splits);
        for (const auto& [place, confirmed] : likely_)
            if (p_value(0, place, count) <= highest_p(place) * weak_factor) splits.push_back(place);
        std::sort(splits.begin(), splits.end());
        // Of splits closer together than the minimum length of a side, keep the first, or a likely
        // one.
        Places apart;
        for (const std::size_t place : splits)
            if (apart.empty() || place - apart.back() >= min_side) {
                apart.push_back(place);
            } else if (is_likely(place)) {
                apart.back() = place;
            }
        constexpr int rounds = 5;
        remove_weak(apart);
        for (int round = 0; round < rounds && improve(apart); ++round) remove_weak(apart);
        return apart;
    }

    [[nodiscard]] bool is_confirmed(std::size_t place) const {
        const auto likely = likely_.find(place);
        return likely != likely_.end() && likely->second;
    }

    [[nodiscard]] std::vector<ChangePoint> changes_at(const Places& splits) const {
        std::vector<ChangePoint> changes;
        for (std::size_t i = 0; i < splits.size(); ++i) {
            const std::size_t begin = i == 0 ? 0 : splits[i - 1];
            const std::size_t end = i + 1 == splits.size() ? known_.units.size() : splits[i + 1];
            changes.push_back({splits[i], sums_.share(begin, splits[i]),
                               sums_.share(splits[i], end), p_value(begin, splits[i], end)});
        }
        return changes;
    }

  private:
    // The larger p-value of the two tests, Welch's on the scale of the other.
    [[nodiscard]] double p_value(std::size_t begin, std::size_t place, std::size_t end) const {
        const Stretch a = sums_.stretch(begin, place), b = sums_.stretch(place, end);
        return std::max(common_p(a, b, clumping_), welch_p(a, b) * highest_p(place) /
                                                       std::max(highest_p(place), highest_welch_p));
    }

    [[nodiscard]] bool is_likely(std::size_t place) const { return likely_.contains(place); }
    [[nodiscard]] double highest_p(std::size_t place) const {
        if (!is_likely(place)) return options_.highest_p;
        return is_confirmed(place) ? options_.highest_confirmed_p : options_.highest_likely_p;
    }

    [[nodiscard]] bool large_enough(const ChangePoint& change) const {
        if (known_.kind == LevelKind::Value)
            return std::abs(change.after - change.before) >= std::log1p(options_.min_change);
        const double low = std::min(change.before, change.after),
                     high = std::max(change.before, change.after);
        return high >= low * (1 + options_.min_change);
    }

    // The weighted distance between the levels of both sides.
    [[nodiscard]] double gain(std::size_t begin, std::size_t place, std::size_t end) const {
        const double n = sums_.weight(begin, place), m = sums_.weight(place, end);
        const double distance = sums_.level(begin, place) - sums_.level(place, end);
        return n * m / (n + m) * distance * distance;
    }

    // The confirmed place with the smallest p-value, if that is small enough; 0 if there is none.
    [[nodiscard]] std::size_t confirmed_split(std::size_t begin, std::size_t end) const {
        std::size_t best = 0;
        double least = options_.highest_confirmed_p;
        for (const auto& [place, confirmed] : likely_) {
            if (!confirmed || place < begin + min_side || place + min_side > end) continue;
            const double p = p_value(begin, place, end);
            if (p > least) continue;
            least = p;
            best = place;
        }
        return best;
    }

    // The split with the largest gain; 0 if the stretch is too short. A likely place instead, if it
    // is not plainly worse, and a confirmed one in any case.
    [[nodiscard]] std::size_t best_split(std::size_t begin, std::size_t end) const {
        if (const std::size_t place = confirmed_split(begin, end); place != 0) return place;
        std::size_t best = 0;
        double most = 0;
        for (std::size_t place = begin + min_side; place + min_side <= end; ++place) {
            const double gained = gain(begin, place, end);
            if (gained <= most) continue;
            most = gained;
            best = place;
        }
        if (best == 0) return 0;
        constexpr double plainly = 6;  // of twice the logarithm of a ratio of likelihoods
        const Stretch a = sums_.stretch(begin, best), b = sums_.stretch(best, end);
        double loss = plainly * clumping_ * common_variance(a, b);
        for (const auto& [place, confirmed] : likely_) {
            if (place < begin + min_side || place + min_side > end) continue;
            if (most - gain(begin, place, end) > loss) continue;
            loss = most - gain(begin, place, end);
            best = place;
        }
        return best;
    }

    void split(std::size_t begin, std::size_t end, Places& splits) const {
        const std::size_t place = best_split(begin, end);
        if (place == 0 || p_value(begin, place, end) > highest_p(place) * weak_factor) return;
        split(begin, place, splits);
        splits.push_back(place);
        split(place, end, splits);
    }

    void remove_weak(Places& splits) const {
        for (;;) {
            const std::vector<ChangePoint> changes = changes_at(splits);
            const auto weakest = std::max_element(
                changes.begin(), changes.end(), [&](const ChangePoint& a, const ChangePoint& b) {
                    const double a_weak = a.p_value / highest_p(a.place),
                                 b_weak = b.p_value / highest_p(b.place);
                    return large_enough(a) != large_enough(b) ? large_enough(a) : a_weak < b_weak;
                });
            if (weakest == changes.end() ||
                (large_enough(*weakest) && weakest->p_value <= highest_p(weakest->place)))
                return;
            splits.erase(splits.begin() + (weakest - changes.begin()));
        }
    }

    // Moves each split to the best place between its neighbours. False if all are there.
    [[nodiscard]] bool improve(Places& splits) const {
        bool moved = false;
        for (std::size_t i = 0; i < splits.size(); ++i) {
            const std::size_t begin = i == 0 ? 0 : splits[i - 1];
            const std::size_t end = i + 1 == splits.size() ? known_.units.size() : splits[i + 1];
            const std::size_t place = best_split(begin, end);
            if (place == 0 || place == splits[i]) continue;
            if (is_likely(splits[i]) && !is_likely(place)) continue;
            splits[i] = place;
            moved = true;
        }
        return moved;
    }

    const KnownUnits& known_;
    const ChangeOptions& options_;
    StretchSums sums_;
    double clumping_ = 1;
    std::map<std::size_t, bool> likely_;  // by known unit, whether confirmed
};

// The level around each known unit: of the stretch between splits that it is in.
std::vector<double> shares_between(const KnownUnits& known, const Places& splits) {
    const StretchSums sums(known);
    std::vector<double> shares;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= splits.size(); ++i) {
        const std::size_t end = i == splits.size() ? known.units.size() : splits[i];
        if (begin < end) shares.insert(shares.end(), end - begin, sums.share(begin, end));
        begin = end;
    }
    return shares;
}

// What one phase of a cycle, such as an hour of the day, has beyond the level around it: a
// difference of values, or a factor of counts.
double of_phase(const KnownUnits& known, const std::vector<double>& shares, const Places& members) {
    if (known.kind == LevelKind::Value) {
        std::vector<double> beyond;
        for (const std::size_t i : members) beyond.push_back(known.units[i].sum - shares[i]);
        return beyond.size() < cycles_to_know_one ? 0 : median(std::move(beyond));
    }
    // Few counts say little about a phase.
    constexpr double prior = 10;
    double counted = prior, expected = prior;
    std::optional<std::size_t> loudest;  // a burst, perhaps
    const auto excess = [&](std::size_t i) {
        return known.units[i].sum - known.units[i].weight * shares[i];
    };
    for (const std::size_t i : members)
        if (!loudest || excess(i) > excess(*loudest)) loudest = i;
    for (const std::size_t i : members) {
        if (members.size() > cycles_to_know_one && i == *loudest) continue;
        counted += known.units[i].sum;
        expected += known.units[i].weight * shares[i];
    }
    return counted / expected;
}

// The series without its cycle, as far as it is known given the levels between `splits`.
KnownUnits without_cycle(const KnownUnits& known, const Places& splits, std::size_t cycle) {
    const std::vector<double> shares = shares_between(known, splits);
    std::vector<Places> phases(cycle);
    for (std::size_t i = 0; i < known.units.size(); ++i)
        phases[known.places[i] % cycle].push_back(i);
    std::vector<double> beyond(known.units.size(), 0);
    double sum = 0, weight = 0, whole = 0;
    for (const Places& members : phases) {
        if (members.empty()) continue;
        const double of_members = of_phase(known, shares, members);
        for (const std::size_t i : members) {
            beyond[i] = of_members;
            sum += of_members;
            weight += known.units[i].weight * of_members;
            whole += known.units[i].weight;
        }
    }
    // The level of the whole series stays as it was.
    const double mean = sum / static_cast<double>(known.units.size()), factor = whole / weight;
    KnownUnits plain = known;
    for (std::size_t i = 0; i < plain.units.size(); ++i)
        if (known.kind == LevelKind::Value) {
            plain.units[i].sum -= beyond[i] - mean;
        } else {
            plain.units[i].weight *= beyond[i] * factor;
        }
    return plain;
}

// The logarithm of the level from `begin` to before `end` by that of the same units one cycle
// earlier; nullopt if there are too few to compare.
std::optional<double> beyond_cycle(const KnownUnits& known, std::size_t begin, std::size_t end,
                                   std::size_t cycle) {
    std::vector<double> differences;
    LevelUnit now, then;
    std::size_t earlier = 0;
    for (std::size_t i = begin; i < end; ++i) {
        if (known.places[i] < cycle) continue;
        while (known.places[earlier] < known.places[i] - cycle) ++earlier;
        if (known.places[earlier] != known.places[i] - cycle) continue;
        differences.push_back(known.units[i].sum - known.units[earlier].sum);
        now.sum += known.units[i].sum;
        now.weight += known.units[i].weight;
        then.sum += known.units[earlier].sum;
        then.weight += known.units[earlier].weight;
    }
    if (differences.size() < min_side) return std::nullopt;
    if (known.kind == LevelKind::Value) return median(std::move(differences));
    return std::log((now.sum + count_offset) / now.weight * then.weight /
                    (then.sum + count_offset));
}

bool came_round(const KnownUnits& known, const std::vector<ChangePoint>& changes,
                std::size_t number, std::size_t cycle) {
    const ChangePoint& change = changes[number];
    const std::size_t end =
        number + 1 < changes.size() ? changes[number + 1].place : known.units.size();
    const auto beyond = beyond_cycle(known, change.place, end, cycle);
    if (!beyond) return false;
    double size = change.after - change.before;
    if (known.kind == LevelKind::Count) {
        const StretchSums sums(known);
        const std::size_t begin = number == 0 ? 0 : changes[number - 1].place;
        size = 2 * std::log(sums.level(change.place, end) / sums.level(begin, change.place));
    }
    return *beyond * (size < 0 ? -1 : 1) < std::abs(size) / 2;
}

// The known units without the cycle, twice: first by the level of each cycle, then by the levels
// between the changes that are left.
KnownUnits removed_cycle(const KnownUnits& known, const ChangeOptions& options, std::size_t cycle) {
    Places cycles;
    for (std::size_t i = 1; i < known.units.size(); ++i)
        if (known.places[i] / cycle != known.places[i - 1] / cycle) cycles.push_back(i);
    const KnownUnits roughly = without_cycle(known, cycles, cycle);
    return without_cycle(known, Splitter(roughly, options).split(), cycle);
}

}  // namespace

std::vector<ChangePoint> find_change_points(std::span<const LevelUnit> units,
                                            const ChangeOptions& options) {
    KnownUnits known = known_of(units, options.kind);
    if (known.units.size() < 2 * min_side) return {};
    std::vector<std::size_t> cycles = options.cycles;
    if (!cycles.empty() && cycles.front() > 1 &&
        known.units.size() >= cycles_to_know_one * cycles.front()) {
        known = removed_cycle(known, options, cycles.front());
        cycles.erase(cycles.begin());
    }
    const Splitter splitter(known, options);
    const std::vector<ChangePoint> found = splitter.changes_at(splitter.split());
    std::vector<ChangePoint> changes;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto again = [&](std::size_t cycle) { return came_round(known, found, i, cycle); };
        if (!splitter.is_confirmed(found[i].place) &&
            std::any_of(cycles.begin(), cycles.end(), again))
            continue;
        changes.push_back(found[i]);
        changes.back().place = known.places[found[i].place];
    }
    return changes;
}

}  // namespace lagtrap::server::reports
