// Names the frames of batches and writes them into the spool, on a thread of its own at the lowest priority.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "daemon/runs/frame_names.hpp"
#include "daemon/runs/gathered_batch.hpp"
#include "daemon/runs/kept_count.hpp"
#include "spool/spool.hpp"

namespace lagtrap::daemon {

struct BatchTotals {
    std::uint64_t written = 0;        // batches in the spool
    std::uint64_t written_runs = 0;   // that are in them, not those that they stand for
    std::uint64_t written_bytes = 0;  // of their files
    std::uint64_t failed = 0;         // batches that could not be written, or came too fast
    std::uint64_t lost_runs = 0;      // that these stood for, or that a daemon before had not written
    std::uint64_t removed = 0;        // batches that the spool had to give up unsent, ever
};

// How many runs are in no batch yet is kept in the spool, in .unwritten-runs: what a daemon that was killed had
// gathered is lost, but the next one knows how much that was, and tells it as lost. At most one batch more, which was
// written when the daemon was killed and not yet counted.
//
// Functions may be called from any thread.
class BatchWriter {
  public:
    using Say = std::function<void(const std::string&)>;
    // `warn` is called by the constructor and on the writer's thread, there about once a minute at most.
    BatchWriter(spool::Spool spool, Say warn);
    // Writes what is left.
    ~BatchWriter();

    // Takes a batch. Of more than a few that wait, new ones are dropped and counted.
    void put(GatheredBatch gathered);
    // The runs of the batch that is being gathered, which put() will bring.
    void note_gathered(std::uint64_t runs);
    // Runs of which no batch will tell more than their number.
    void lose(std::uint64_t runs);
    // Runs lost since the last call, for the next batch to tell.
    [[nodiscard]] std::uint64_t take_lost();
    [[nodiscard]] BatchTotals totals() const;

  private:
    static constexpr std::size_t waiting_limit = 16;
    void work();
    void write(GatheredBatch gathered);
    // Writes it in pieces where it is beyond the limits of a batch.
    [[nodiscard]] Status write_in_pieces(const trace::RunBatch& batch);
    void lose_batch(const trace::RunBatch& batch);
    void count_lost(std::uint64_t runs);  // for holders of the mutex
    void keep_count();
    [[nodiscard]] std::string kept_problem();

    spool::Spool spool_;
    Say warn_;
    FrameNames names_;
    mutable std::mutex mutex_;  // over what follows
    std::condition_variable more_;
    std::deque<GatheredBatch> waiting_;
    BatchTotals totals_;
    std::uint64_t lost_to_tell_ = 0;
    std::uint64_t gathered_ = 0;   // in the batch that is being gathered
    std::uint64_t unwritten_ = 0;  // in batches that wait, and lost_to_tell_
    bool ending_ = false;
    std::mutex kept_mutex_;  // over what follows; taken first. Nobody waits for the disk who only wants the mutex
    std::optional<KeptCount> kept_;
    std::string kept_problem_;
    std::chrono::steady_clock::time_point next_warning_;
    std::thread thread_;
};

// The runs [from, to) of a batch with the stacks that they name, as a batch of its own with a new id. What was lost is
// told by the first piece.
[[nodiscard]] trace::RunBatch piece_of(const trace::RunBatch& batch, std::size_t from, std::size_t to);

}  // namespace lagtrap::daemon
