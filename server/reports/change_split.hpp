// Where a change happened: on which hosts, in which builds and units. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lagtrap::server::reports {

// Runs before and after a change, and how many of them were slow: delays, or longer than a bound.
// If only delays are recorded, `runs` is the time in hours.
struct SlowRuns {
    double runs = 0, slow = 0;

    [[nodiscard]] double share() const { return runs > 0 ? slow / runs : 0; }
    void add(const SlowRuns& other);
};

// Of one host, build or unit.
struct ChangedPart {
    std::string name;  // empty: unknown
    SlowRuns before, after;
    // Slow runs after the change beyond those that the share before it leads to. What hardly ran
    // before is compared with the share of all.
    double beyond = 0;
    bool changed = false;
};

struct ChangeSplit {
    // largest `beyond` first; first the fewest if there are fewer slow runs
    std::vector<ChangedPart> parts;
    std::uint64_t changed = 0;  // how many of the parts
    // What all changed parts begin or end with and no others do, such as "fra-*". Empty if there is
    // nothing.
    std::string pattern;
    // Whether only a part changed: that explains the counts plainly better than all having changed
    // alike. Otherwise all parts count as changed.
    bool concentrated = false;
};

// `parts` have names and counts; each name occurs once. Finds the parts that changed by the same
// factor while the others stayed as they were, by likelihood: parts of a pattern together, because
// one host alone has few slow runs.
[[nodiscard]] ChangeSplit split_change(std::vector<ChangedPart> parts);

// The times that are compared for a change at `at_ns`, in nanoseconds since 1970: a week before it,
// and the time after it up to `to_ns` or a week. Never empty.
struct ComparedTimes {
    std::uint64_t before_ns = 0, after_ns = 0;
};
[[nodiscard]] ComparedTimes compared_times(std::uint64_t at_ns, std::uint64_t to_ns);

}  // namespace lagtrap::server::reports
