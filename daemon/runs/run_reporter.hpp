// Takes the reports of the programs for events with record="runs" and has them written as batches. A thread of its own,
// which neither listener nor collector waits for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/runs/batch_writer.hpp"
#include "daemon/runs/run_gatherer.hpp"
#include "settings/settings.hpp"
#include "spool/spool.hpp"

namespace lagtrap::daemon {

// Where reports come from: the maps of one set of programs. The reporter's own descriptors.
struct RunSource {
    UniqueFd ring;
    UniqueFd quotas;
    std::vector<settings::Event> events;
    settings::Runs limits;
    std::shared_ptr<const MarkerPlaces> places;
    std::shared_ptr<const RunWeights> weights;
    std::uint64_t since_ns = 0;        // CLOCK_MONOTONIC: when its programs were attached
    std::uint64_t ended_after_ns = 0;  // runs that ended before were told by the source before
};

// Functions may be called from any thread.
class RunReporter {
  public:
    // Error: no descriptors left. `on_process` is called on the reporter's thread when a process is new whose stacks are
    // wanted; `name_of_container` too, and may wait for files; `warn` as BatchWriter has it.
    [[nodiscard]] static Result<std::unique_ptr<RunReporter>> create(const spool::Spool& spool,
                                                                     std::function<void()> on_process,
                                                                     NameOfContainer name_of_container,
                                                                     BatchWriter::Say warn);
    // As stop().
    ~RunReporter();

    // Reads what the source before has left, whose programs are detached by now, then the new one.
    void use(RunSource source);
    void take_aborted(std::vector<ReportedRun> aborted);
    // The capture that is being recorded; empty: none.
    void note_session(const std::string& session);
    // Writes all that was reported. The programs should be detached.
    void stop();

    [[nodiscard]] BatchTotals totals() const { return writer_.totals(); }
    // As MarkerStacks::limited().
    [[nodiscard]] std::vector<LookBudget::Limited> limited_looks() const { return gatherer_.limited_looks(); }
    // What could not be told of reports; empty: nothing.
    [[nodiscard]] std::string problem() const;

  private:
    struct Ring;
    RunReporter(const spool::Spool& spool, NameOfContainer name_of_container, BatchWriter::Say warn);
    void work();
    void take_orders();
    void change_source(RunSource source);
    void drain();
    void wait(bool gather_some);
    // Whether it is worth to let some gather, after a drain that took so many.
    bool runs_come_fast(std::uint64_t taken);
    void settle_pending();
    void close_batch();
    [[nodiscard]] int wait_ms() const;
    void watch_clock();

    BatchWriter writer_;
    RunGatherer gatherer_;
    std::unique_ptr<Ring> ring_;
    UniqueFd orders_;  // eventfd
    UniqueFd clock_;   // timerfd that tells when the clock is set
    std::function<void()> on_process_;
    std::string session_;  // of the batch; the thread's, as is the next
    bool session_over_ = false;
    std::uint64_t drained_ns_ = 0;

    mutable std::mutex mutex_;  // over what follows
    std::vector<RunSource> sources_;
    std::vector<ReportedRun> aborted_;
    std::vector<std::string> sessions_;
    std::string problem_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace lagtrap::daemon
