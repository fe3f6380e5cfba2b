#include "server/store/batch_writer.hpp"

#include <algorithm>
#include <set>

#include "server/store/objects_parts.hpp"
#include "server/store/run_detail.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint64_t numbers_at_once = 1 << 20;
constexpr std::size_t remembered_limit = 200'000;
// Allowed age of a run when its batch arrives; beyond it the sender's clock must be wrong.
constexpr std::uint64_t oldest_run_ns = 400 * day_ns;
constexpr std::uint64_t newest_run_ns = day_ns;

std::string to_text(std::uint32_t reasons) {
    constexpr std::pair<std::uint32_t, const char*> words[] = {
        {trace::DirtySuspended, "the machine slept"},
        {trace::DirtyClockStepped, "the clock was set"},
        {trace::DirtyMissingStage, "a stage is missing"},
        {trace::DirtyAborted, "the thread ended before the run did"},
        {trace::DirtyFailed, "it failed"},
        {trace::DirtyCancelled, "it was cancelled"}};
    std::string text;
    for (const auto& [bit, word] : words)
        if ((reasons & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(word);
    return text.empty() ? "the machine says so" : text;
}

Status check_times(const Receipt& receipt, const trace::RunBatch& batch) {
    const std::uint64_t now_ns = receipt.received_realtime_ns;
    for (const trace::RecordedRun& run : batch.runs) {
        const bool old = run.begin_realtime_ns + oldest_run_ns < now_ns;
        const bool early = run.begin_realtime_ns > now_ns + newest_run_ns;
        if (old || early || run.begin_realtime_ns / hour_ns > last_hour)
            return make_error(ErrorKind::Invalid,
                              std::string("the batch has a run from ") +
                                  (old ? "more than 400 days ago" : "the future") +
                                  "; is the clock of the sender right?");
    }
    return success();
}

}  // namespace

// The names in a batch and their numbers. Views point into the batch.
class BatchWriter::LabelsOfBatch {
  public:
    explicit LabelsOfBatch(const trace::RunBatch& batch) {
        note(LabelKind::Host, batch.host);
        for (const trace::RecordedRun& run : batch.runs) {
            note(LabelKind::Event, run.event);
            note(LabelKind::User, run.user);
            note(LabelKind::Build, run.build_id);
            note(LabelKind::Process, run.process);
            if (!run.unit.empty()) note(LabelKind::Unit, run.unit);
            note(LabelKind::Executable, run.executable);
            note(LabelKind::Thread, run.thread);
            for (const trace::RunStage& stage : run.stages) note(LabelKind::Stage, stage.name);
        }
    }
    [[nodiscard]] Status resolve(Labels& labels, const Receipt& receipt) {
        std::map<LabelName, std::uint32_t> wanted;
        for (std::size_t kind = 0; kind < kinds; ++kind)
            for (const auto& entry : numbers_[kind])
                wanted[{static_cast<LabelKind>(kind), stored_text(entry.first)}] = 0;
        TRY(labels.resolve(wanted, receipt.sender, receipt.received_realtime_ns / day_ns));
        for (std::size_t kind = 0; kind < kinds; ++kind)
            for (auto& entry : numbers_[kind])
                entry.second = wanted.at({static_cast<LabelKind>(kind), stored_text(entry.first)});
        return success();
    }
    [[nodiscard]] std::uint32_t of(LabelKind kind, std::string_view text) const {
        return numbers_[static_cast<std::size_t>(kind)].at(text);
    }

  private:
    // Unit is the last one
    static constexpr std::size_t kinds = static_cast<std::size_t>(LabelKind::Unit) + 1;
    void note(LabelKind kind, std::string_view text) {
        numbers_[static_cast<std::size_t>(kind)].emplace(text, 0U);
    }

    std::unordered_map<std::string_view, std::uint32_t> numbers_[kinds];
};

Status insert_mark(Connection& connection, const DirtyMark& mark) {
    const std::string rule = stored_text(mark.rule), reason = stored_text(mark.reason),
                      by = stored_text(mark.by);
    TRY(connection.execute(
        "INSERT INTO run_mark(run, dirty, rule, reason, author, at_ns) VALUES($1,$2,$3,$4,$5,$6)",
        {mark.run, mark.dirty, rule, reason, by, mark.at_realtime_ns}));
    return success();
}

Result<std::uint64_t> BatchWriter::take_numbers(std::uint64_t count) {
    const std::lock_guard lock(mutex_);
    if (numbers_end_ - next_number_ < count) {
        const std::uint64_t block = std::max(numbers_at_once, count);
        std::uint64_t end = 0;
        const Status written = database_.write([&](Connection& connection) -> Status {
            TRY_ASSIGN(const auto value,
                       connection.number(
                           "INSERT INTO counter(name, value) VALUES('run', $1) ON CONFLICT(name) "
                           "DO UPDATE SET value = counter.value + excluded.value RETURNING value",
                           {block}));
            end = static_cast<std::uint64_t>(value.value_or(0));
            return success();
        });
        if (!written) return written.error();
        next_number_ = end - block;
        numbers_end_ = end;
    }
    next_number_ += count;
    return next_number_ - count;
}

Result<std::vector<std::uint64_t>> BatchWriter::keep_stacks(const trace::RunBatch& batch,
                                                            std::uint64_t day) {
    std::vector<std::uint64_t> ids;
    std::map<std::uint64_t, std::string> missing;
    for (const trace::RunStack& stack : batch.stacks) {
        std::string bytes = write_stack(stack);
        ids.push_back(stack.empty() ? 0 : stack_id(bytes));
        const std::lock_guard lock(mutex_);
        const auto known = stack_days_.find(ids.back());
        if (ids.back() != 0 && (known == stack_days_.end() || known->second < day))
            missing.emplace(ids.back(), std::move(bytes));
    }
    if (missing.empty()) return ids;
    const Status written = database_.write([&](Connection& connection) -> Status {
        for (const auto& [id, bytes] : missing)
            TRY(connection.execute(
                "INSERT INTO stack(id, last_day, frames) VALUES($1,$2,$3) ON CONFLICT(id) DO "
                "UPDATE SET last_day = excluded.last_day WHERE stack.last_day < excluded.last_day",
                {id, day, Value::bytes(bytes)}));
        return success();
    });
    if (!written) return written.error();
    const std::lock_guard lock(mutex_);
    if (stack_days_.size() >= remembered_limit) stack_days_.clear();
    for (const auto& entry : missing) stack_days_[entry.first] = day;
    return ids;
}

RunRecord BatchWriter::make_record(const trace::RecordedRun& run, const LabelsOfBatch& labels,
                                   const std::vector<std::uint64_t>& stacks, std::uint64_t number) {
    const auto stack_of = [&](std::uint32_t index) {
        return index == 0 ? 0 : stacks.at(index - 1);
    };
    RunRecord record;
    record.id = first_run_id_of_hour(run.begin_realtime_ns / hour_ns) + number;
    record.event = labels.of(LabelKind::Event, run.event);
    record.begin_ns = run.begin_realtime_ns;
    record.duration_ns = std::min<std::uint64_t>(run.duration_ns, INT64_MAX);
    record.bin = Sketch::bin_of(record.duration_ns);
    record.user = labels.of(LabelKind::User, run.user);
    record.build = labels.of(LabelKind::Build, run.build_id);
    record.process = labels.of(LabelKind::Process, run.process);
    if (!run.unit.empty()) record.unit = labels.of(LabelKind::Unit, run.unit);
    record.start = static_cast<std::uint8_t>(run.start);
    record.delay = run.delay;
    record.mark = run.dirty_reasons != 0 ? RunMark::Dirty : RunMark::None;
    record.weight = std::clamp<std::uint32_t>(run.weight, 1, INT32_MAX);
    DetailRecord detail{run.threshold_ns,
                        run.key,
                        run.pid,
                        run.begin_tid,
                        run.end_tid,
                        run.aborted,
                        run.without_stages,
                        labels.of(LabelKind::Executable, run.executable),
                        labels.of(LabelKind::Thread, run.thread),
                        stack_of(run.begin_stack),
                        stack_of(run.end_stack),
                        {},
                        run.times};
    for (const trace::RunStage& stage : run.stages)
        detail.stages.push_back({labels.of(LabelKind::Stage, stage.name), stage.at_ns, stage.tid,
                                 stack_of(stage.stack)});
    record.detail = write_detail(detail);
    return record;
}

Result<BatchWriter::Prepared> BatchWriter::prepare(const Receipt& receipt,
                                                   const trace::RunBatch& batch) {
    TRY(check_times(receipt, batch));
    Prepared prepared;
    LabelsOfBatch labels(batch);
    TRY(labels.resolve(labels_, receipt));
    prepared.host = labels.of(LabelKind::Host, batch.host);
    std::set<std::uint64_t> days;
    for (const trace::RecordedRun& run : batch.runs) days.insert(run.begin_realtime_ns / day_ns);
    if (days.empty()) return prepared;
    TRY_ASSIGN(const auto stacks, keep_stacks(batch, *days.rbegin()));
    TRY_ASSIGN(std::uint64_t number, take_numbers(batch.runs.size()));
    for (const std::uint64_t day : days) TRY(database_.make_days(day, day));
    prepared.runs.reserve(batch.runs.size());
    for (const trace::RecordedRun& run : batch.runs) {
        RunRecord record = make_record(run, labels, stacks, number++);
        record.host = prepared.host;
        prepared.rollups.add(record);
        note_seen(record, prepared.seen);
        if (record.mark == RunMark::Dirty)
            prepared.marks.push_back({record.id, true, rule_reported, to_text(run.dirty_reasons),
                                      "the machine", receipt.received_realtime_ns});
        prepared.runs.push_back(std::move(record));
    }
    drop_known(prepared.seen);
    return prepared;
}

void BatchWriter::note_seen(const RunRecord& run, SeenNames& seen) {
    for (const auto& [kind, label] :
         {std::pair(LabelKind::Host, run.host), std::pair(LabelKind::User, run.user),
          std::pair(LabelKind::Build, run.build), std::pair(LabelKind::Process, run.process),
          std::pair(LabelKind::Unit, run.unit)})
        add_seen(seen, {run.event, kind, label}, run.begin_ns);
}

void BatchWriter::drop_known(SeenNames& seen) {
    const std::lock_guard lock(mutex_);
    std::erase_if(seen, [&](const auto& entry) {
        const auto known = known_seen_.find(entry.first);
        return known != known_seen_.end() && known->second.first_ns <= entry.second.first_ns &&
               known->second.last_ns + seen_slack_ns > entry.second.last_ns;
    });
}

void BatchWriter::remember_seen(const SeenNames& seen) {
    const std::lock_guard lock(mutex_);
    if (known_seen_.size() >= remembered_limit) known_seen_.clear();
    for (const auto& [key, span] : seen) {
        add_seen(known_seen_, key, span.first_ns);
        add_seen(known_seen_, key, span.last_ns);
    }
}

Result<AddOutcome> BatchWriter::add(const Receipt& receipt, const trace::RunBatch& batch) {
    TRY_ASSIGN(const Prepared prepared, prepare(receipt, batch));
    const ObjectFigures figures =
        batch.objects ? figures_of_objects(batch.objects->lines) : ObjectFigures{};
    auto outcome = AddOutcome::New;
    const std::string sender = stored_text(receipt.sender);
    const Status written = database_.write([&](Connection& connection) -> Status {
        TRY_ASSIGN(
            const auto inserted,
            connection.execute(
                "INSERT INTO batch(digest, received_ns, sender, host, bytes, runs, sampled_away,"
                " lost) VALUES($1,$2,$3,$4,$5,$6,$7,$8) ON CONFLICT(digest) DO NOTHING",
                {receipt.digest, receipt.received_realtime_ns, sender, prepared.host, receipt.bytes,
                 prepared.runs.size(), std::min<std::uint64_t>(batch.runs_sampled_away, INT64_MAX),
                 std::min<std::uint64_t>(batch.runs_lost, INT64_MAX)}));
        outcome = inserted > 0 ? AddOutcome::New : AddOutcome::Already;
        if (outcome == AddOutcome::Already) return success();
        if (batch.objects) TRY(add_objects_part(connection, receipt, batch, figures));
        TRY(database_.insert_runs(connection, prepared.runs));
        for (const DirtyMark& mark : prepared.marks) TRY(insert_mark(connection, mark));
        TRY(write_seen(connection, prepared.seen));
        // Last, because other servers wait for these rows until the commit.
        return prepared.rollups.apply(connection, database_.dialect());
    });
    if (!written) return written.error();
    remember_seen(prepared.seen);
    return outcome;
}

}  // namespace lagtrap::server
