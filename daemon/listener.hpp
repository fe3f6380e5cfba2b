// The listener: owns the marker programs, notices breaches and hands them on. One thread of its own.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bpf/listener.h"
#include "core/result.hpp"
#include "daemon/listener_programs.hpp"
#include "daemon/open_runs.hpp"
#include "daemon/pairing.hpp"
#include "daemon/program_cost.hpp"
#include "daemon/write_guard.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// A delay as it was noticed.
struct Breach {
    lagtrap_run run{};         // end_ns: its end, or the moment it was noticed while open
    bool at_deadline = false;  // the run was still open
    std::uint64_t noticed_ns = 0;
};

// What `lagtrap status` shows of one event.
struct EventStatus {
    std::string name;
    bool armed = false;
    bool arming = false;  // its turn has not come
    std::string problem;  // why it is not armed
    bool shed = false;    // it was taken out because it cost too much; `problem` says what
    bool stacks_shed = false;
    OpenRuns::Counts open;
    EventCounters counters;               // its delays are those too that were noticed while they were open
    std::vector<PairingFinding> pairing;  // since it was armed
    bool records_runs = false;
    bool by_goroutine = false;  // goroutines are its keys, not threads
    RunCounters runs;
};

// What goes on to count when programs are replaced.
struct EventTotals {
    EventCounters counters;
    RunCounters runs;
};

class Listener {
  public:
    // Called on the listener's thread; must only pass the breach on.
    using OnBreach = std::function<void(const Breach&)>;
    // The same; runs of events with record="runs" that will never end.
    using OnAborted = std::function<void(std::vector<OpenRuns::Aborted>)>;
    struct Options {
        std::map<std::string, EventTotals> carried;  // counters of events of these names go on from there
        OnBreach on_breach;
        OnAborted on_aborted;
    };

    // Loads the programs; arm_all() attaches them. Errors: BPF is refused altogether.
    [[nodiscard]] static Result<std::unique_ptr<Listener>> create(const settings::Settings& settings,
                                                                  const UnwindStore& store, Options options);
    ~Listener();

    // Attaches the markers of all events; one that cannot be armed has its problem in status(), and the others go on. On
    // any thread; once.
    void arm_all();
    // Makes arm_all() of another thread return soon.
    void give_up_arming() { arming_given_up_.store(true); }

    // Starts and stops the thread.
    void start();
    void stop();
    // Ends the watch: markers are met no more. After stop() alone, or it stops first.
    void detach();

    // The following may be called from any thread.

    // Whether breaches are reported: after one was, no more are until this is called again with true.
    void want_breach(bool wanted);
    // Switches the recording of every run that ends, into recorded_runs_fd().
    void record_runs(bool on);
    [[nodiscard]] int recorded_runs_fd() const { return programs_->recorded_runs_fd(); }
    // Where runs of events with record="runs" come from.
    [[nodiscard]] int reported_runs_fd() const { return programs_->reported_runs_fd(); }
    [[nodiscard]] int run_quotas_fd() const { return programs_->run_quotas_fd(); }
    // Copies of the runs that are open now.
    [[nodiscard]] std::vector<lagtrap_run> open_runs() const;
    // Whether this run is open; once it is not, its record is in the ring, unless it was abandoned.
    [[nodiscard]] bool is_open(std::uint32_t event, std::uint32_t tid, std::uint64_t begin_ns) const;
    [[nodiscard]] std::vector<EventStatus> status() const;
    // Of arm_all(), in events.
    struct Progress {
        std::size_t done = 0, of = 0;
    };
    [[nodiscard]] Progress progress() const;
    [[nodiscard]] std::map<std::string, EventCounters> all_counters() const;
    [[nodiscard]] std::map<std::string, EventTotals> all_totals() const;
    [[nodiscard]] const std::vector<settings::Event>& events() const { return events_; }
    [[nodiscard]] std::vector<int> program_fds() const { return programs_->program_fds(); }
    // Hits of the markers of each event since this listener was made, the time that stacks at them took, and what programs took.
    struct EventHits {
        std::uint64_t hits = 0;
        std::uint64_t stack_ns = 0;
        CostCounts costs{};
        std::vector<ProbeKind> kinds;  // of its markers; empty: never armed
    };
    [[nodiscard]] std::vector<EventHits> hits() const;

    // The following may be called from one thread at a time.

    // Takes an event out, for this reason: its markers have no effect from now on, all at once, and its open runs are
    // forgotten. The probes leave the kernel after the call: by the older interface that takes 0.1 s a marker.
    void shed(std::uint32_t event, std::string reason);
    // Arms a shed event again; waits for markers that are still being taken out.
    [[nodiscard]] Status arm_again(std::uint32_t event);
    // Stacks at the markers of an event, off and on again.
    [[nodiscard]] Status take_stacks(std::uint32_t event, bool wanted);

    // Whether a program or library with markers was replaced or written to since it was attached to.
    [[nodiscard]] bool binaries_changed() const;

  private:
    struct Loop;
    Listener(const std::vector<settings::Event>& events, Options options);

    std::vector<settings::Event> events_;
    // Held while markers are attached or taken out.
    std::mutex attach_mutex_;
    // Guards what shed() changes against status() of other threads.
    mutable std::mutex shed_mutex_;
    std::vector<std::string> problems_;
    std::vector<bool> arming_;
    std::atomic<bool> arming_given_up_{false};
    std::vector<bool> shed_;
    std::vector<bool> stacks_shed_;
    std::vector<std::future<void>> detaching_;
    // What tells a file from another: device, inode, size, time of the last change.
    using FileIdentity = std::array<std::uint64_t, 5>;
    [[nodiscard]] static std::optional<FileIdentity> identity_of(const std::string& path);
    [[nodiscard]] std::vector<std::string> binaries_of(std::uint32_t event) const;
    void arm(std::uint32_t event);
    // Takes out the markers of all events in a file that is about to be written to.
    void leave(const std::string& binary);

    std::map<std::string, FileIdentity> binary_identities_;
    Options options_;
    std::unique_ptr<ListenerPrograms> programs_;
    std::unique_ptr<Loop> loop_;
    std::atomic<bool> breach_wanted_{false};
    std::thread thread_;
    std::unique_ptr<WriteGuard> guard_;  // last: its thread uses the others
};

}  // namespace lagtrap::daemon
