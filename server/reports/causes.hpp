// Causes of delays over many bundles: which frames take the extra time of delayed runs against normal ones.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/run_profile.hpp"

namespace lagtrap::server::reports {

// What the profile itself does not say. Runs that are dirty by a reason (not by their duration) are not to be added.
struct ProfiledRun {
    bool delayed = false;
    std::string host;
    std::string user;
    std::string build;
    std::uint64_t begin_realtime_ns = 0;
    std::string bundle;       // digest; empty: none
    std::uint32_t delay = 0;  // its number in the bundle; 0: none
};

struct CauseFrame {
    std::string function;
    std::string module;  // file name; empty for what is no function: "[lock (futex)]" stands for a wait
};

// Of one build, among the runs that were added.
struct CauseBuild {
    std::string build;
    std::uint64_t runs = 0;       // delayed and normal
    std::uint64_t affected = 0;   // delayed
    std::uint64_t excess_ns = 0;  // mean extra time of an affected run
};

struct CauseExample {
    std::string bundle;
    std::uint32_t delay = 0;
};

// A delayed run that a cause affects, as far as a bundle has it.
struct CauseDelay {
    std::string bundle;  // digest
    std::uint32_t delay = 0;
    std::string host, build;
    std::uint64_t begin_realtime_ns = 0;
    std::uint64_t excess_ns = 0;
};

struct Cause {
    std::string signature;  // 16 hexadecimal digits; the same for the same cause on every machine and in every build
    std::string title;
    analysis::TimeKind state = analysis::TimeKind::OnCpu;  // of the run's own thread; never Unknown
    std::string reason;                                    // of a wait; else empty
    std::vector<CauseFrame>
        frames;                   // innermost first, at most 64; on a wait stands what the other thread did meanwhile
    std::uint64_t excess_ns = 0;  // mean extra time of an affected run
    std::uint64_t normal_ns = 0;  // mean time in the same place of normal runs of the same hosts
    std::uint64_t affected_runs = 0;
    std::uint64_t hosts = 0, users = 0;  // of affected runs
    // Of the extra time of all delayed runs; 0 to 1. Shares of all causes and the unexplained one add up to 1.
    double share = 0;
    double p_value = 1, q_value = 1;
    bool single_host = false;             // affected runs are of fewer than three hosts
    std::vector<CauseBuild> builds;       // oldest first, the newest 100
    std::vector<CauseDelay> delays;       // of all affected runs that have a bundle, the newest 1,000, in no order
    std::optional<CauseExample> example;  // the affected run with the median extra time of those that have a bundle
};

struct CauseReport {
    std::uint64_t delayed_runs = 0, normal_runs = 0;
    std::uint64_t bundles = 0;        // distinct ones
    std::uint64_t runs_left_out = 0;  // beyond the limit
    std::uint64_t paths_cut = 0;      // stacks cut short at the limit
    std::vector<Cause> causes;
    double unexplained_share = 1;               // of the extra time of all delayed runs: what is in no cause
    std::optional<std::string> silent_because;  // a sentence; if there are no causes
};

struct CauseOptions {
    double highest_q = 0.05;
    std::size_t least_runs = 5;  // delayed, and normal
    std::size_t most_causes = 50;
    std::size_t most_entries = 8 << 20;  // of all profiles together; 16 bytes each
    std::size_t most_nodes = 1 << 20;    // of the tree of all stacks; about 100 bytes each
};

// Profiles go in one by one and need not be kept; not for several threads at once. Not all of a host's runs count alike:
// one that sends more than 20 delayed or normal runs counts as if it had sent 20, so that it cannot outvote the others.
//
// A cause explains extra time: what a delayed run took in a place beyond what normal runs of its host take there. It is the
// deepest place (a function, or its own time on a CPU or blocked) that keeps at least four fifths of the extra time of its
// caller. Where the time parts, it is followed into each part if runs have the one or the other, or if the rest of the
// caller, which normal runs have too, did not grow as the parts did; else it stays with the caller. Frames of run-time
// libraries count as part of their callers, kernel frames as part of the system call's caller. Each cause is tested over
// runs, within hosts where these have both kinds, by aligned ranks and by counts of runs that have much of it, and kept
// if its share of false discoveries among all frames (Benjamini and Hochberg) is at most highest_q. What grew only as the
// rest of the same runs did is no cause, nor is a caller that has all of a run; inside it, a part that grew at least half
// as much again as the whole run is followed all the same, and tested by its share of each run too. Of a run only what
// was recorded is compared. The title names the caller too where nearly all the caller's extra time is the function's.
// Causes are sorted by mean extra time times affected runs, with hosts limited as said.
class CauseFinder {
  public:
    explicit CauseFinder(const CauseOptions& options = {});
    CauseFinder(CauseFinder&&) noexcept;
    CauseFinder& operator=(CauseFinder&&) noexcept;
    ~CauseFinder();

    void add(const ProfiledRun& run, const analysis::RunProfile& profile);
    [[nodiscard]] CauseReport find() const;

  private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace lagtrap::server::reports
