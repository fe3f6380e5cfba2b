// Takes the reports of runs of events with record="runs" and has them written as batches. Neither
// event monitor nor capture controller waits for its thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/log.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/runs/batch_writer.hpp"
#include "daemon/runs/report_pace.hpp"
#include "daemon/runs/run_gatherer.hpp"
#include "daemon/runs/run_orders.hpp"
#include "spool/spool.hpp"

namespace lagtrap::daemon {

// Thread-safe.
class RunReporter {
  public:
    // Error: no descriptors are left. Called on the reporter's thread: `on_process` when there is a
    // new process whose stacks are wanted, and `name_of_container`, which may wait for files. For
    // `log`, see BatchWriter.
    [[nodiscard]] static Result<std::unique_ptr<RunReporter>> create(
        const spool::Spool& spool, std::function<void()> on_process,
        NameOfContainer name_of_container, Log log);
    // Calls stop().
    ~RunReporter();

    // Reads what the previous source, whose programs are detached by now, has left, then switches
    // to the new one.
    void use(RunSource source) { orders_.use(std::move(source)); }
    void take_aborted(std::vector<ReportedRun> aborted);
    // The capture that is being recorded; empty if none.
    void note_session(const std::string& session) { orders_.note_session(session); }
    // Writes everything that was reported. Detach the programs before.
    void stop();

    [[nodiscard]] BatchTotals totals() const { return writer_.totals(); }
    // See MarkerStacks::limited().
    [[nodiscard]] std::vector<LookBudget::Limited> limited_looks() const {
        return gatherer_.limited_looks();
    }
    // Why reports cannot be read; empty if they can.
    [[nodiscard]] std::string problem() const;

  private:
    struct Ring;
    RunReporter(const spool::Spool& spool, NameOfContainer name_of_container, Log log);
    void work();
    void take_orders();
    void change_source(RunSource source);
    void drain();
    void wait(bool gather_some);
    // See ReportPace.
    bool runs_come_fast(std::uint64_t taken);
    void settle_pending();
    void close_batch();
    void watch_clock();

    BatchWriter writer_;
    RunGatherer gatherer_;
    std::unique_ptr<Ring> ring_;
    RunOrders orders_;
    UniqueFd clock_;  // timerfd that signals clock changes
    std::function<void()> on_process_;
    BatchSession session_;  // only for the reporter's thread, like pace_
    ReportPace pace_;

    mutable std::mutex mutex_;  // protects the following member
    std::string problem_;
    std::thread thread_;
};

}  // namespace lagtrap::daemon
