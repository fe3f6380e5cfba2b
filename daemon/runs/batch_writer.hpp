// Names the frames of batches and writes them into the spool, on its own thread at the lowest
// priority.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/log.hpp"
#include "daemon/runs/frame_names.hpp"
#include "daemon/runs/gathered_batch.hpp"
#include "daemon/runs/kept_count.hpp"
#include "daemon/runs/run_ledger.hpp"
#include "daemon/runs/waiting_batches.hpp"
#include "spool/spool.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::daemon {

// The number of runs that are in no batch yet is kept in the spool, in .unwritten-runs. The runs
// that a killed daemon had collected are lost, but the next daemon reports how many. The number may
// be too high by one batch, if that was written but not counted yet when the daemon was killed.
//
// Thread-safe.
class BatchWriter {
  public:
    // `log` is used by the constructor and on the writer's thread, there at most about once a
    // minute.
    BatchWriter(spool::Spool spool, Log log);
    // Writes what is left.
    ~BatchWriter();

    // Adds a batch. If too many are waiting, the new one is dropped and counted.
    void put(GatheredBatch gathered);
    // Sets the number of runs in the batch that is being collected and will come with put().
    void note_gathered(std::uint64_t runs);
    // Counts runs that no batch will contain.
    void lose(std::uint64_t runs);
    // Returns the number of runs lost since the last call, for the next batch.
    [[nodiscard]] std::uint64_t take_lost();
    [[nodiscard]] BatchTotals totals() const;
    // Waits until all batches are written or counted as failed.
    void wait_until_idle();

  private:
    void work();
    void write(GatheredBatch gathered);
    // Splits the batch if it exceeds the limits of a file.
    [[nodiscard]] Status write_in_pieces(const trace::RunBatch& batch);
    void lose_batch(const trace::RunBatch& batch);
    // Error: the number cannot be written.
    [[nodiscard]] Status keep_count();

    spool::Spool spool_;
    Log log_;
    FrameNames names_;
    mutable std::mutex mutex_;  // protects the following members
    std::condition_variable more_, idle_;
    WaitingBatches waiting_;
    RunLedger ledger_;
    // Protects the following member; lock it before mutex_. Threads that need only mutex_ do not
    // wait for the disk.
    std::mutex kept_mutex_;
    std::optional<KeptCount> kept_;
    std::chrono::steady_clock::time_point next_warning_;
    std::thread thread_;
};

// The runs [from, to) of a batch with their stacks, as a batch with a new id. The first part has
// the number of lost runs.
[[nodiscard]] trace::RunBatch piece_of(const trace::RunBatch& batch, std::size_t from,
                                       std::size_t to);

}  // namespace lagtrap::daemon
