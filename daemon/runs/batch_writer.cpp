#include "daemon/runs/batch_writer.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>

#include "core/digest.hpp"
#include "core/disk_time.hpp"
#include "core/files.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto warning_interval = 1min;

trace::NamingLimits naming_limits() {
    trace::NamingLimits limits;
    limits.cpu_time = 1000ms;
    limits.wall_time = 10'000ms;
    limits.read_bytes = 512ULL << 20;
    limits.symbol_table_bytes = 48 << 20;
    return limits;
}

constexpr const char* unwritten_file = ".unwritten-runs";

std::uint64_t runs_of(const trace::RunBatch& batch) {
    std::uint64_t runs = batch.runs_lost;
    for (const trace::RecordedRun& run : batch.runs) runs += run.weight;
    return runs;
}

}  // namespace

trace::RunBatch piece_of(const trace::RunBatch& batch, std::size_t from, std::size_t to) {
    trace::RunBatch piece;
    piece.batch_id = random_uuid();
    piece.host = batch.host;
    piece.boot_id = batch.boot_id;
    piece.session_hint = batch.session_hint;
    piece.version = batch.version;
    piece.made_realtime_ns = batch.made_realtime_ns;
    if (from == 0) piece.runs_lost = batch.runs_lost;
    std::map<std::uint32_t, std::uint32_t> numbers;
    const auto renumber = [&](std::uint32_t& stack) {
        if (stack == 0) return;
        const auto [known, is_new] =
            numbers.try_emplace(stack, static_cast<std::uint32_t>(piece.stacks.size() + 1));
        if (is_new) piece.stacks.push_back(batch.stacks[stack - 1]);
        stack = known->second;
    };
    for (std::size_t i = from; i < to; ++i) {
        trace::RecordedRun run = batch.runs[i];
        renumber(run.begin_stack);
        renumber(run.end_stack);
        for (trace::RunStage& stage : run.stages) renumber(stage.stack);
        piece.runs_sampled_away += run.weight - 1;
        piece.runs.push_back(std::move(run));
    }
    return piece;
}

BatchWriter::BatchWriter(spool::Spool spool, Log log)
    : spool_(std::move(spool)), log_(std::move(log)), names_(naming_limits()) {
    if (auto kept = KeptCount::open(spool_.path() / unwritten_file)) {
        kept_ = std::move(kept).value();
        ledger_.lost(kept_->value());
        if (kept_->value() != 0)
            log_.warn("the previous daemon did not write " + std::to_string(kept_->value()) +
                      " recorded runs; they are counted as lost");
    } else {
        log_.warn("cannot save the number of unwritten runs: " + kept.error().message);
    }
    thread_ = std::thread([this] { work(); });
}

BatchWriter::~BatchWriter() {
    {
        const std::lock_guard lock(mutex_);
        waiting_.end();
    }
    more_.notify_one();
    thread_.join();
}

void BatchWriter::put(GatheredBatch gathered) {
    {
        const std::lock_guard lock(mutex_);
        const std::uint64_t runs = runs_of(gathered.batch);
        if (waiting_.full()) return ledger_.dropped(runs);
        ledger_.waits(runs);
        waiting_.put(std::move(gathered));
    }
    more_.notify_one();
}

void BatchWriter::note_gathered(std::uint64_t runs) {
    {
        const std::lock_guard lock(mutex_);
        ledger_.gathered(runs);
    }
    (void)keep_count();  // write() reports what fails here too
}

void BatchWriter::lose(std::uint64_t runs) {
    const std::lock_guard lock(mutex_);
    ledger_.lost(runs);
}

Status BatchWriter::keep_count() {
    const std::lock_guard kept_lock(kept_mutex_);
    if (!kept_) return success();
    std::uint64_t runs = 0;
    {
        const std::lock_guard lock(mutex_);
        runs = ledger_.unwritten();
    }
    return kept_->set(runs);
}

std::uint64_t BatchWriter::take_lost() {
    const std::lock_guard lock(mutex_);
    return ledger_.take_lost();
}

BatchTotals BatchWriter::totals() const {
    const std::uint64_t removed = spool_.unsent_batches_removed();
    const std::lock_guard lock(mutex_);
    BatchTotals totals = ledger_.totals();
    totals.removed = removed;
    return totals;
}

void BatchWriter::wait_until_idle() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return waiting_.idle(); });
}

void BatchWriter::work() {
    (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 19);
    use_least_disk_time();
    for (;;) {
        GatheredBatch next;
        {
            std::unique_lock lock(mutex_);
            more_.wait(lock, [&] { return waiting_.ending() || !waiting_.empty(); });
            if (waiting_.empty()) return;
            next = waiting_.take();
        }
        write(std::move(next));
        {
            const std::lock_guard lock(mutex_);
            waiting_.finish();
        }
        idle_.notify_all();
    }
}

void BatchWriter::lose_batch(const trace::RunBatch& batch) {
    const std::lock_guard lock(mutex_);
    ledger_.failed(runs_of(batch));
}

void BatchWriter::write(GatheredBatch gathered) {
    names_.name(gathered);
    const auto written = write_in_pieces(gathered.batch);
    const Status kept = keep_count();
    if ((written && kept) || Clock::now() < next_warning_) return;
    next_warning_ = Clock::now() + warning_interval;
    if (!written)
        log_.warn("cannot write a batch of runs: " + written.error().message);
    else
        log_.warn("cannot save the number of unwritten runs: " + kept.error().message);
}

Status BatchWriter::write_in_pieces(const trace::RunBatch& batch) {
    const auto bytes = trace::write_run_batch(batch);
    if (!bytes && bytes.error().kind == ErrorKind::TooLarge && batch.runs.size() > 1) {
        const std::size_t middle = batch.runs.size() / 2;
        const Status first = write_in_pieces(piece_of(batch, 0, middle));
        const Status second = write_in_pieces(piece_of(batch, middle, batch.runs.size()));
        return first ? second : first;
    }
    Status status = success();
    if (!bytes) {
        status = bytes.error();
    } else {
        const std::string name = spool::make_batch_name(batch.batch_id, sha256_of(*bytes));
        status = write_file_durably(spool_.path_of(spool::EntryState::Ready, name), *bytes, 0640);
    }
    if (!status) {
        lose_batch(batch);
        return status;
    }
    const std::lock_guard lock(mutex_);
    ledger_.written(runs_of(batch), batch.runs.size(), bytes->size());
    return success();
}

}  // namespace lagtrap::daemon
