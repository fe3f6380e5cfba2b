#include <zstd.h>

#include <unordered_map>

#include <protozero/pbf_writer.hpp>

#include "core/text.hpp"
#include "trace/logs/session_id.hpp"
#include "trace/run_batches/run_batch.hpp"
#include "trace/run_batches/run_batch_fields.hpp"
#include "trace/run_batches/run_batch_limits.hpp"

namespace lagtrap::trace {
namespace {

namespace fields = run_batch_fields;

constexpr int compression_level = 6;

// Makes a text acceptable for a batch.
std::string safe_text(std::string_view raw) {
    std::string text = printable(raw.substr(0, run_batch_text_limit_bytes));
    if (text.size() <= run_batch_text_limit_bytes) return text;
    // Cut between characters.
    std::size_t size = run_batch_text_limit_bytes;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
    text.resize(size);
    return text;
}

class Writer {
  public:
    explicit Writer(const RunBatch& batch) : batch_(batch) {}

    Result<std::string> write() {
        TRY(check_limits());
        write_head();
        for (const RunStack& stack : batch_.stacks) write_stack(stack);
        for (const RecordedRun& run : batch_.runs) TRY(write_run(run));
        if (batch_.objects) TRY(write_objects(*batch_.objects));
        TRY(check_count("texts", numbers_.size(), run_batch_texts_limit));
        TRY(check_count("bytes", message_.size(), run_batch_unpacked_limit_bytes));
        TRY(check_count("bytes of texts", spelled_bytes_, run_batch_spelled_limit_bytes));
        return compress();
    }

  private:
    Status check_limits() const {
        if (!is_session_id(batch_.batch_id))
            return make_error(ErrorKind::Invalid,
                              "the batch's id \"" + printable(batch_.batch_id) + "\" is no UUID");
        TRY(check_count("runs", batch_.runs.size(), run_batch_runs_limit));
        TRY(check_count("stacks", batch_.stacks.size(), run_batch_stacks_limit));
        std::size_t frames = 0;
        std::size_t stages = 0;
        for (const RunStack& stack : batch_.stacks) {
            frames += stack.size();
            TRY(check_count("frames in a stack", stack.size(), run_batch_stack_frames_limit));
        }
        for (const RecordedRun& run : batch_.runs) {
            stages += run.stages.size();
            TRY(check_count("stages in a run", run.stages.size(), run_batch_run_stages_limit));
        }
        TRY(check_count("frames", frames, run_batch_frames_limit));
        return check_count("stages", stages, run_batch_stages_limit);
    }

    void write_head() {
        root_.add_string(fields::batch::id, batch_.batch_id);
        root_.add_string(fields::batch::host, safe_text(batch_.host));
        root_.add_string(fields::batch::boot_id, safe_text(batch_.boot_id));
        root_.add_string(fields::batch::session_hint, safe_text(batch_.session_hint));
        root_.add_string(fields::batch::version, safe_text(batch_.version));
        root_.add_uint64(fields::batch::made_realtime_ns, batch_.made_realtime_ns);
        root_.add_uint64(fields::batch::runs_sampled_away, batch_.runs_sampled_away);
        root_.add_uint64(fields::batch::runs_lost, batch_.runs_lost);
    }

    // Returns the text's number. A new text is written at once, before anything that refers to it.
    std::uint32_t number_of(std::string_view raw) {
        if (raw.empty()) return 0;
        const auto known = numbers_.find(std::string(raw));
        if (known != numbers_.end()) {
            spelled_bytes_ += raw.size();
            return known->second;
        }
        const std::string text = safe_text(raw);
        spelled_bytes_ += text.size();
        root_.add_string(fields::batch::text, text);
        const auto number = static_cast<std::uint32_t>(numbers_.size() + 1);
        numbers_.emplace(raw, number);
        return number;
    }

    static void add(protozero::pbf_writer& message, std::uint32_t field, std::uint64_t value) {
        if (value != 0) message.add_uint64(field, value);
    }

    void write_stack(const RunStack& stack) {
        std::string frames;
        protozero::pbf_writer frames_writer(frames);
        for (const RunFrame& frame : stack) {
            std::string bytes;
            protozero::pbf_writer message(bytes);
            add(message, fields::frame::module, number_of(frame.module));
            add(message, fields::frame::build_id, number_of(frame.build_id));
            add(message, fields::frame::offset, frame.offset);
            add(message, fields::frame::function, number_of(frame.function));
            add(message, fields::frame::file, number_of(frame.file));
            add(message, fields::frame::line, frame.line);
            frames_writer.add_message(fields::stack::frame, bytes);
        }
        root_.add_message(fields::batch::stack, frames);
    }

    Status write_run(const RecordedRun& run) {
        TRY(check_recorded_run(run, batch_.stacks.size()));
        std::string bytes;
        protozero::pbf_writer message(bytes);
        add(message, fields::run::event, number_of(run.event));
        add(message, fields::run::begin_realtime_ns, run.begin_realtime_ns);
        add(message, fields::run::duration_ns, run.duration_ns);
        add(message, fields::run::threshold_ns, run.threshold_ns);
        add(message, fields::run::key, run.key);
        add(message, fields::run::pid, run.pid);
        add(message, fields::run::begin_tid, run.begin_tid);
        add(message, fields::run::end_tid, run.end_tid);
        add(message, fields::run::thread, number_of(run.thread));
        add(message, fields::run::process, number_of(run.process));
        add(message, fields::run::executable, number_of(run.executable));
        add(message, fields::run::build_id, number_of(run.build_id));
        add(message, fields::run::user, number_of(run.user));
        add(message, fields::run::unit, number_of(run.unit));
        add(message, fields::run::start, static_cast<std::uint64_t>(run.start));
        add(message, fields::run::delay, run.delay ? 1 : 0);
        add(message, fields::run::aborted, run.aborted ? 1 : 0);
        add(message, fields::run::without_stages, run.without_stages ? 1 : 0);
        message.add_uint64(fields::run::weight, run.weight);
        add(message, fields::run::begin_stack, run.begin_stack);
        add(message, fields::run::end_stack, run.end_stack);
        for (const RunStage& stage : run.stages) {
            std::string stage_bytes;
            protozero::pbf_writer stage_message(stage_bytes);
            add(stage_message, fields::stage::name, number_of(stage.name));
            add(stage_message, fields::stage::at_ns, stage.at_ns);
            add(stage_message, fields::stage::tid, stage.tid);
            add(stage_message, fields::stage::stack, stage.stack);
            message.add_message(fields::run::stage, stage_bytes);
        }
        add(message, fields::run::dirty_reasons, run.dirty_reasons);
        if (run.times) message.add_message(fields::run::times, bytes_of(*run.times));
        root_.add_message(fields::batch::run, bytes);
        return success();
    }

    Status write_objects(const ObjectsPart& part) {
        TRY(check_objects_part(part));
        std::string bytes;
        protozero::pbf_writer message(bytes);
        message.add_string(fields::objects::watch_id, part.watch_id);
        add(message, fields::objects::number, part.number);
        add(message, fields::objects::pid, part.pid);
        message.add_string(fields::objects::process, safe_text(part.process));
        add(message, fields::objects::lost_lines, part.lost_lines);
        add(message, fields::objects::last, part.last ? 1 : 0);
        message.add_string(fields::objects::lines, part.lines);
        root_.add_message(fields::batch::objects, bytes);
        return success();
    }

    static std::string bytes_of(const RunTimes& times) {
        std::string bytes;
        protozero::pbf_writer message(bytes);
        add(message, fields::times::on_cpu_ns, times.parts.on_cpu_ns);
        add(message, fields::times::runnable_ns, times.parts.runnable_ns);
        add(message, fields::times::throttled_ns, times.parts.throttled_ns);
        add(message, fields::times::handed_over_ns, times.handed_over_ns);
        for (std::uint32_t i = 0; i < LAGTRAP_WAIT_CLASSES; ++i)
            add(message, fields::times::blocked_ns + i, times.parts.blocked_ns[i]);
        return bytes;
    }

    Result<std::string> compress() const {
        std::string compressed(ZSTD_compressBound(message_.size()), '\0');
        const std::size_t size = ZSTD_compress(compressed.data(), compressed.size(),
                                               message_.data(), message_.size(), compression_level);
        if (ZSTD_isError(size) != 0)
            return make_error(ErrorKind::System,
                              std::string("compress a batch of runs: ") + ZSTD_getErrorName(size));
        TRY(check_count("compressed bytes", size, run_batch_limit_bytes));
        compressed.resize(size);
        return compressed;
    }

    const RunBatch& batch_;
    std::string message_;
    protozero::pbf_writer root_{message_};
    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::size_t spelled_bytes_ = 0;
};

}  // namespace

Result<std::string> write_run_batch(const RunBatch& batch) { return Writer(batch).write(); }

}  // namespace lagtrap::trace
