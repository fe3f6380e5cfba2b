#include <zstd.h>

#include <algorithm>

#include <protozero/pbf_reader.hpp>

#include "core/text.hpp"
#include "trace/logs/session_id.hpp"
#include "trace/run_batches/run_batch.hpp"
#include "trace/run_batches/run_batch_fields.hpp"
#include "trace/run_batches/run_batch_limits.hpp"

namespace lagtrap::trace {
namespace {

namespace fields = run_batch_fields;

// Errors inside the message are exceptions, as are protozero's; read_run_batch() converts them to
// Results.
struct Refused {
    Error error;
};

[[noreturn]] void refuse(std::string message) {
    throw Refused{make_error(ErrorKind::Invalid, std::move(message))};
}

void demand(const Status& status) {
    if (!status) throw Refused{status.error()};
}

Result<std::string> unpack(std::string_view compressed) {
    TRY(check_count("compressed bytes", compressed.size(), run_batch_limit_bytes));
    const std::size_t frame_bytes =
        ZSTD_findFrameCompressedSize(compressed.data(), compressed.size());
    const unsigned long long size = ZSTD_getFrameContentSize(compressed.data(), compressed.size());
    if (ZSTD_isError(frame_bytes) != 0 || size == ZSTD_CONTENTSIZE_ERROR)
        return make_error(ErrorKind::Invalid, "not a batch of runs: no whole zstd frame");
    if (frame_bytes != compressed.size())
        return make_error(ErrorKind::Invalid, "a batch of runs with bytes after its zstd frame");
    if (size == ZSTD_CONTENTSIZE_UNKNOWN)
        return make_error(ErrorKind::Invalid,
                          "a batch of runs that does not say how large it is unpacked");
    TRY(check_count("bytes", size, run_batch_unpacked_limit_bytes));
    std::string message(size, '\0');
    const std::size_t got =
        ZSTD_decompress(message.data(), message.size(), compressed.data(), compressed.size());
    if (ZSTD_isError(got) != 0)
        return make_error(ErrorKind::Invalid,
                          std::string("damaged batch of runs: ") + ZSTD_getErrorName(got));
    message.resize(got);
    return message;
}

class Reader {
  public:
    RunBatch read(const std::string& message) {
        read_texts(message);
        protozero::pbf_reader reader(message);
        while (reader.next()) read_field(reader);
        if (!is_session_id(batch_.batch_id))
            refuse("the batch's id \"" + batch_.batch_id + "\" is no UUID");
        if (batch_.objects) demand(check_objects_part(*batch_.objects));
        for (const RecordedRun& run : batch_.runs)
            demand(check_recorded_run(run, batch_.stacks.size()));
        return std::move(batch_);
    }

  private:
    // protozero asserts that a field has the expected encoding, so check untrusted bytes first.
    static void expect(const protozero::pbf_reader& reader, protozero::pbf_wire_type type) {
        if (!reader.has_wire_type(type))
            refuse("field " + std::to_string(reader.tag()) + " is encoded in another way");
    }

    static std::uint64_t value_of(protozero::pbf_reader& reader) {
        expect(reader, protozero::pbf_wire_type::varint);
        return reader.get_uint64();
    }

    static std::uint32_t number_of(protozero::pbf_reader& reader) {
        const std::uint64_t value = value_of(reader);
        if (value > UINT32_MAX) refuse("a number beyond 32 bits: " + std::to_string(value));
        return static_cast<std::uint32_t>(value);
    }

    static protozero::pbf_reader message_of(protozero::pbf_reader& reader) {
        expect(reader, protozero::pbf_wire_type::length_delimited);
        return reader.get_message();
    }

    static std::string_view text_of(protozero::pbf_reader& reader) {
        expect(reader, protozero::pbf_wire_type::length_delimited);
        const auto view = reader.get_view();
        demand(check_count("bytes in a text", view.size(), run_batch_text_limit_bytes));
        const std::string_view text(view.data(), view.size());
        if (printable(text) != text)
            refuse("a text that is not printable: \"" + printable(text) + "\"");
        return text;
    }

    void read_texts(const std::string& message) {
        protozero::pbf_reader reader(message);
        while (reader.next(fields::batch::text)) {
            demand(check_count("texts", texts_.size() + 1, run_batch_texts_limit));
            texts_.push_back(text_of(reader));
        }
    }

    std::string spelled(protozero::pbf_reader& reader) {
        const std::uint64_t number = value_of(reader);
        if (number == 0) return {};
        if (number > texts_.size())
            refuse("text " + std::to_string(number) + " of " + std::to_string(texts_.size()) +
                   " is named");
        const std::string_view text = texts_[number - 1];
        spelled_bytes_ += text.size();
        demand(check_count("bytes of texts", spelled_bytes_, run_batch_spelled_limit_bytes));
        return std::string(text);
    }

    void read_field(protozero::pbf_reader& reader) {
        switch (reader.tag()) {
            case fields::batch::id: batch_.batch_id = text_of(reader); break;
            case fields::batch::host: batch_.host = text_of(reader); break;
            case fields::batch::boot_id: batch_.boot_id = text_of(reader); break;
            case fields::batch::session_hint: batch_.session_hint = text_of(reader); break;
            case fields::batch::version: batch_.version = text_of(reader); break;
            case fields::batch::made_realtime_ns: batch_.made_realtime_ns = value_of(reader); break;
            case fields::batch::runs_sampled_away:
                batch_.runs_sampled_away = value_of(reader);
                break;
            case fields::batch::runs_lost: batch_.runs_lost = value_of(reader); break;
            case fields::batch::stack: read_stack(message_of(reader)); break;
            case fields::batch::run: read_run(message_of(reader)); break;
            case fields::batch::objects: batch_.objects = objects_of(message_of(reader)); break;
            default: reader.skip();
        }
    }

    static ObjectsPart objects_of(protozero::pbf_reader reader) {
        ObjectsPart part;
        while (reader.next()) {
            switch (reader.tag()) {
                case fields::objects::watch_id: part.watch_id = text_of(reader); break;
                case fields::objects::number: part.number = number_of(reader); break;
                case fields::objects::pid: part.pid = number_of(reader); break;
                case fields::objects::process: part.process = text_of(reader); break;
                case fields::objects::lost_lines: part.lost_lines = value_of(reader); break;
                case fields::objects::last: part.last = value_of(reader) != 0; break;
                case fields::objects::lines: part.lines = lines_of(reader); break;
                default: reader.skip();
            }
        }
        return part;
    }

    static std::string lines_of(protozero::pbf_reader& reader) {
        expect(reader, protozero::pbf_wire_type::length_delimited);
        const auto view = reader.get_view();
        demand(check_count("bytes of lines", view.size(), objects_part_limit_bytes));
        return {view.data(), view.size()};
    }

    void read_stack(protozero::pbf_reader reader) {
        demand(check_count("stacks", batch_.stacks.size() + 1, run_batch_stacks_limit));
        RunStack stack;
        while (reader.next(fields::stack::frame)) {
            demand(check_count("frames", ++frames_, run_batch_frames_limit));
            demand(
                check_count("frames in a stack", stack.size() + 1, run_batch_stack_frames_limit));
            stack.push_back(read_frame(message_of(reader)));
        }
        batch_.stacks.push_back(std::move(stack));
    }

    RunFrame read_frame(protozero::pbf_reader reader) {
        RunFrame frame;
        while (reader.next()) {
            switch (reader.tag()) {
                case fields::frame::module: frame.module = spelled(reader); break;
                case fields::frame::build_id: frame.build_id = spelled(reader); break;
                case fields::frame::offset: frame.offset = value_of(reader); break;
                case fields::frame::function: frame.function = spelled(reader); break;
                case fields::frame::file: frame.file = spelled(reader); break;
                case fields::frame::line: frame.line = number_of(reader); break;
                default: reader.skip();
            }
        }
        return frame;
    }

    void read_run(protozero::pbf_reader reader) {
        demand(check_count("runs", batch_.runs.size() + 1, run_batch_runs_limit));
        RecordedRun run;
        run.weight = 0;
        while (reader.next())
            if (!read_who(reader, run)) read_what(reader, run);
        batch_.runs.push_back(std::move(run));
    }

    // Reads a field that identifies the run's process and threads; returns false for any other
    // field.
    bool read_who(protozero::pbf_reader& reader, RecordedRun& run) {
        switch (reader.tag()) {
            case fields::run::event: run.event = spelled(reader); break;
            case fields::run::pid: run.pid = number_of(reader); break;
            case fields::run::begin_tid: run.begin_tid = number_of(reader); break;
            case fields::run::end_tid: run.end_tid = number_of(reader); break;
            case fields::run::thread: run.thread = spelled(reader); break;
            case fields::run::process: run.process = spelled(reader); break;
            case fields::run::executable: run.executable = spelled(reader); break;
            case fields::run::build_id: run.build_id = spelled(reader); break;
            case fields::run::user: run.user = spelled(reader); break;
            case fields::run::unit: run.unit = spelled(reader); break;
            default: return false;
        }
        return true;
    }

    void read_what(protozero::pbf_reader& reader, RecordedRun& run) {
        switch (reader.tag()) {
            case fields::run::begin_realtime_ns: run.begin_realtime_ns = value_of(reader); break;
            case fields::run::duration_ns: run.duration_ns = value_of(reader); break;
            case fields::run::threshold_ns: run.threshold_ns = value_of(reader); break;
            case fields::run::key: run.key = value_of(reader); break;
            case fields::run::start: run.start = start_of(value_of(reader)); break;
            case fields::run::delay: run.delay = value_of(reader) != 0; break;
            case fields::run::aborted: run.aborted = value_of(reader) != 0; break;
            case fields::run::without_stages: run.without_stages = value_of(reader) != 0; break;
            case fields::run::weight: run.weight = number_of(reader); break;
            case fields::run::begin_stack: run.begin_stack = number_of(reader); break;
            case fields::run::end_stack: run.end_stack = number_of(reader); break;
            case fields::run::stage: read_stage(message_of(reader), run); break;
            case fields::run::dirty_reasons: run.dirty_reasons = number_of(reader); break;
            case fields::run::times: run.times = times_of(message_of(reader)); break;
            default: reader.skip();
        }
    }

    static RunTimes times_of(protozero::pbf_reader reader) {
        RunTimes times;
        while (reader.next()) {
            switch (reader.tag()) {
                case fields::times::on_cpu_ns: times.parts.on_cpu_ns = value_of(reader); break;
                case fields::times::runnable_ns: times.parts.runnable_ns = value_of(reader); break;
                case fields::times::throttled_ns:
                    times.parts.throttled_ns = value_of(reader);
                    break;
                case fields::times::handed_over_ns: times.handed_over_ns = value_of(reader); break;
                default: read_blocked(reader, times.parts);
            }
        }
        return times;
    }

    // Classes of later versions count as "other".
    static void read_blocked(protozero::pbf_reader& reader, TimeParts& parts) {
        const std::uint32_t field = reader.tag();
        if (field < fields::times::blocked_ns || field > fields::times::blocked_last)
            return reader.skip();
        const std::size_t wait_class = field - fields::times::blocked_ns;
        const bool known = wait_class < parts.blocked_ns.size();
        std::uint64_t& sum = parts.blocked_ns[known ? wait_class : std::size_t{LAGTRAP_WAIT_OTHER}];
        const std::uint64_t more = value_of(reader);
        sum += std::min(more, UINT64_MAX - sum);
    }

    static StartKind start_of(std::uint64_t value) {
        if (value > static_cast<std::uint64_t>(StartKind::Warm))
            refuse("kind of start " + std::to_string(value) +
                   "; 0 (unknown), 1 (cold) and 2 (warm) are known");
        return static_cast<StartKind>(value);
    }

    void read_stage(protozero::pbf_reader reader, RecordedRun& run) {
        demand(check_count("stages", ++stages_, run_batch_stages_limit));
        demand(check_count("stages in a run", run.stages.size() + 1, run_batch_run_stages_limit));
        RunStage stage;
        while (reader.next()) {
            switch (reader.tag()) {
                case fields::stage::name: stage.name = spelled(reader); break;
                case fields::stage::at_ns: stage.at_ns = value_of(reader); break;
                case fields::stage::tid: stage.tid = number_of(reader); break;
                case fields::stage::stack: stage.stack = number_of(reader); break;
                default: reader.skip();
            }
        }
        run.stages.push_back(std::move(stage));
    }

    RunBatch batch_;
    std::vector<std::string_view> texts_;  // point into the message
    std::size_t spelled_bytes_ = 0;
    std::size_t frames_ = 0;
    std::size_t stages_ = 0;
};

}  // namespace

Result<RunBatch> read_run_batch(std::string_view compressed) {
    TRY_ASSIGN(const std::string message, unpack(compressed));
    try {
        return Reader().read(message);
    } catch (const Refused& refused) {
        return refused.error.within("batch of runs");
    } catch (const protozero::exception& damage) {
        return make_error(ErrorKind::Invalid,
                          std::string("damaged batch of runs: ") + damage.what());
    }
}

}  // namespace lagtrap::trace
