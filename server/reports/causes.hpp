// Finds the causes of delays across many bundles: the frames in which delayed runs spend more time
// than normal ones.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/run_profile.hpp"

namespace lagtrap::server::reports {

// Facts about a run that its profile does not have. Do not add runs that are dirty for a reason
// other than their duration.
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
    // file name; empty if it is not a function: "[lock (futex)]" stands for a wait
    std::string module;
};

// A cause in one build, among the runs added.
struct CauseBuild {
    std::string build;
    std::uint64_t runs = 0;       // delayed and normal
    std::uint64_t delayed = 0;    // of these
    std::uint64_t affected = 0;   // delayed
    std::uint64_t excess_ns = 0;  // mean extra time of an affected run
};

struct CauseExample {
    std::string bundle;
    std::uint32_t delay = 0;
};

// A delayed run that a cause affects, if it has a bundle.
struct CauseDelay {
    std::string bundle;  // digest
    std::uint32_t delay = 0;
    std::string host, build;
    std::uint64_t begin_realtime_ns = 0;
    std::uint64_t excess_ns = 0;
    std::string holder;  // thread that this run waited for most; empty if the cause has no holder
};

struct Cause {
    std::string signature;  // 16 hexadecimal digits; the same on every machine and in every build
    std::string title;
    analysis::TimeKind state = analysis::TimeKind::OnCpu;  // of the run's own thread; never Unknown
    std::string reason;                                    // of a wait; otherwise empty
    // thread that the title names as waited for, "worker-*" for several; otherwise empty
    std::string holder;
    // innermost first, at most 64; above a wait is what the other thread did meanwhile
    std::vector<CauseFrame> frames;
    std::uint64_t excess_ns = 0;  // mean extra time of an affected run
    std::uint64_t normal_ns = 0;  // mean time of normal runs of the same hosts in the same place
    std::uint64_t affected_runs = 0;
    std::uint64_t hosts = 0, users = 0;  // of affected runs
    // Part of the extra time of all delayed runs, 0 to 1. The shares of all causes and the
    // unexplained share add up to 1.
    double share = 0;
    double p_value = 1, q_value = 1;
    bool single_host = false;        // affected runs are from fewer than three hosts
    std::vector<CauseBuild> builds;  // oldest first, the newest 100
    // affected runs that have a bundle, the newest 1,000, in no order
    std::vector<CauseDelay> delays;
    // the affected run with a bundle whose extra time is the median
    std::optional<CauseExample> example;
};

struct CauseReport {
    std::uint64_t delayed_runs = 0, normal_runs = 0;
    std::uint64_t bundles = 0;        // distinct
    std::uint64_t runs_left_out = 0;  // because of the limits
    std::uint64_t paths_cut = 0;      // stacks truncated at the limit
    std::vector<Cause> causes;
    // part of the extra time of all delayed runs without a cause
    double unexplained_share = 1;
    std::optional<std::string> silent_because;  // a sentence, if there are no causes
};

struct CauseOptions {
    double highest_q = 0.05;
    std::size_t min_runs = 5;  // of delayed and of normal runs each
    std::size_t max_causes = 50;
    std::size_t max_entries = 8 << 20;  // of all profiles together; 16 bytes each
    std::size_t max_nodes = 1 << 20;    // of the tree of all stacks; about 100 bytes each
};

// Add profiles one by one; they need not be kept afterwards. Not thread-safe. A host that sends
// more than 20 delayed or normal runs counts as if it had sent 20, so that it cannot outvote the
// others.
//
// A cause explains extra time: the time a delayed run spent in a place beyond what normal runs of
// its host spend there. It is the deepest place (a function, or its own time on a CPU or blocked)
// that keeps at least four fifths of its caller's extra time. Where the extra time splits, the
// search follows each part if different runs have different parts, or if the rest of the caller
// (which normal runs have too) grew less than the parts; otherwise the caller is the cause. Frames
// of run-time libraries count as part of their callers, kernel frames as part of the caller of the
// system call.
//
// Each cause is tested across runs, within hosts that have both kinds, by aligned ranks and by
// counts of runs that have much of it. It is reported if its false discovery rate among all frames
// (Benjamini and Hochberg) is at most highest_q. A place that grew only as much as the rest of the
// same runs is not a cause, nor is a caller that covers a whole run. A part inside such a caller is
// still followed if it grew at least 1.5 times as much as the whole run; it is also tested by its
// share of each run. Only the recorded part of a run is compared. The title also names the caller
// if nearly all of the caller's extra time is the function's. Causes are sorted by mean extra time
// times affected runs, with each host's weight limited as above.
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
