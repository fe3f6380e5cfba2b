#include "analysis/run_decoder.hpp"

#include <algorithm>

#include <protozero/pbf_reader.hpp>

#include "analysis/trace_fields.hpp"
#include "core/text.hpp"

namespace lagtrap::analysis {

namespace {

constexpr std::size_t slice_depth_limit = 4096;
constexpr std::size_t stages_limit = 1024;
constexpr std::size_t text_limit = 4096;

std::string text_of(protozero::data_view view) {
    return printable({view.data(), std::min(view.size(), text_limit)});
}

std::uint32_t to_u32(std::uint64_t value) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, UINT32_MAX));
}

}  // namespace

struct RunDecoder::Event {
    std::uint64_t type = 0;
    std::uint64_t track = 0;
    std::string category;
    std::string name;
    std::map<std::string, std::uint64_t> numbers;  // annotations
    std::map<std::string, std::string> texts;

    void take_annotation(protozero::data_view message, const Interning& interning,
                         const RawTrace& trace);

    [[nodiscard]] std::uint64_t number(const std::string& key) const {
        const auto found = numbers.find(key);
        return found == numbers.end() ? 0 : found->second;
    }
    [[nodiscard]] bool flag(const std::string& key) const { return number(key) != 0; }
    [[nodiscard]] std::string text(const std::string& key) const {
        const auto found = texts.find(key);
        return found == texts.end() ? std::string() : found->second;
    }
};

void RunDecoder::Event::take_annotation(protozero::data_view message, const Interning& interning,
                                        const RawTrace& trace) {
    std::string key;
    std::string text;
    std::uint64_t value = 0;
    bool is_text = false;
    protozero::pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case fields::annotation::name: key = text_of(reader.get_view()); break;
            case fields::annotation::name_id:
                key = trace.names[interning.annotation_name(reader.get_uint64()).value_or(0)];
                break;
            case fields::annotation::bool_value:
            case fields::annotation::uint_value:
            case fields::annotation::int_value: value = reader.get_uint64(); break;
            case fields::annotation::string_value:
                text = text_of(reader.get_view());
                is_text = true;
                break;
            case fields::annotation::string_id:
                text = trace.names[interning.annotation_string(reader.get_uint64()).value_or(0)];
                is_text = true;
                break;
            default: reader.skip();
        }
    }
    if (numbers.size() + texts.size() >= 256) return;
    if (is_text) {
        texts[key] = text;
    } else {
        numbers[key] = value;
    }
}

void RunDecoder::take_event(protozero::data_view message, std::uint64_t at_ns,
                            std::uint32_t sequence, const Interning& interning, RawTrace& trace) {
    Event event;
    protozero::pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case fields::track_event::type: event.type = reader.get_uint64(); break;
            case fields::track_event::track: event.track = reader.get_uint64(); break;
            case fields::track_event::category: event.category = text_of(reader.get_view()); break;
            case fields::track_event::category_ids:
                event.category = trace.names[interning.category(reader.get_uint64()).value_or(0)];
                break;
            case fields::track_event::name: event.name = text_of(reader.get_view()); break;
            case fields::track_event::name_id:
                event.name = trace.names[interning.event_name(reader.get_uint64()).value_or(0)];
                break;
            case fields::track_event::annotation:
                event.take_annotation(reader.get_view(), interning, trace);
                break;
            default: reader.skip();
        }
    }
    ++trace.records;
    auto& open = open_[{sequence, event.track}];
    if (event.type == fields::track_event::type_begin) begin_slice(event, at_ns, open, trace);
    if (event.type == fields::track_event::type_end) end_slice(at_ns, open, trace);
}

void RunDecoder::begin_slice(const Event& event, std::uint64_t at_ns, std::vector<OpenSlice>& open,
                             RawTrace& trace) {
    OpenSlice slice;
    if (event.category == "lagtrap.run" || event.category == "lagtrap.delay") {
        Run run;
        run.id = event.number("run");
        run.event = event.name;
        run.begin_ns = at_ns;
        const std::uint64_t length = event.number("duration_ns");
        run.end_ns = length > UINT64_MAX - at_ns ? UINT64_MAX : at_ns + length;
        run.threshold_ns = event.number("threshold_ns");
        run.queued_ns = event.number("queued_ns");
        run.key = event.number("key");
        run.in_go = event.flag("in_go");
        run.goroutine = event.number("goroutine");
        run.depth = to_u32(event.number("depth"));
        run.begin_pid = to_u32(event.number("begin_pid"));
        run.begin_tid = to_u32(event.number("begin_tid"));
        run.end_pid = to_u32(event.number("end_pid"));
        run.end_tid = to_u32(event.number("end_tid"));
        run.delay = event.category == "lagtrap.delay" || event.flag("delay");
        run.open = event.flag("open");
        run.abandoned = event.flag("abandoned");
        run.reported_at_deadline = event.flag("reported_at_deadline");
        run.first = event.flag("first");
        slice.kind = OpenSlice::Kind::Run;
        slice.run = runs_.size();
        run_places_.emplace(run.id, runs_.size());
        runs_.push_back(std::move(run));
    } else if (event.category == "lagtrap.stage") {
        const auto place = run_places_.find(event.number("run"));
        if (place != run_places_.end() && runs_[place->second].stages.size() < stages_limit) {
            Run& run = runs_[place->second];
            slice = {OpenSlice::Kind::Stage, place->second, run.stages.size()};
            run.stages.push_back({event.name, at_ns, std::max(at_ns, run.end_ns),
                                  to_u32(event.number("stage_tid"))});
        } else {
            ++trace.unreadable;
        }
    }
    if (event.category == "lagtrap.call") slice = begin_call(event, at_ns, open);
    if (open.size() < slice_depth_limit) {
        open.push_back(slice);
    } else {
        ++trace.unreadable;
    }
}

RunDecoder::OpenSlice RunDecoder::begin_call(const Event& event, std::uint64_t at_ns,
                                             const std::vector<OpenSlice>& open) {
    CallDecoder::Begin begin;
    begin.at_ns = at_ns;
    begin.function = event.name;
    begin.module = event.text("module");
    begin.source = event.text("source");
    begin.ended = event.text("ended");
    begin.times = {event.number("wall_ns"), event.number("on_cpu_ns"), event.number("runnable_ns"),
                   event.number("blocked_ns"), event.number("own_ns")};
    begin.not_kept = event.number("not_kept");
    begin.pid = to_u32(event.number("begin_pid"));
    begin.tid = to_u32(event.number("begin_tid"));
    begin.seen = event.flag("seen");
    OpenSlice slice;
    slice.kind = OpenSlice::Kind::Call;
    slice.call = calls_.begin(begin, open.empty() ? CallDecoder::Place{} : open.back().call);
    return slice;
}

void RunDecoder::end_slice(std::uint64_t at_ns, std::vector<OpenSlice>& open, RawTrace& trace) {
    if (open.empty()) {
        ++trace.unreadable;
        return;
    }
    const OpenSlice slice = open.back();
    open.pop_back();
    if (slice.kind == OpenSlice::Kind::Run) {
        Run& run = runs_[slice.run];
        run.end_ns = std::max(at_ns, run.begin_ns);
    } else if (slice.kind == OpenSlice::Kind::Stage) {
        RecordedStage& stage = runs_[slice.run].stages[slice.stage];
        stage.end_ns = std::max(at_ns, stage.begin_ns);
    } else if (slice.kind == OpenSlice::Kind::Call) {
        calls_.end(slice.call, at_ns);
    }
}

void RunDecoder::finish(RawTrace& trace) {
    calls_.finish(trace.run_calls, trace.called_functions, trace.unreadable);
    trace.runs = std::move(runs_);
    std::stable_sort(trace.runs.begin(), trace.runs.end(),
                     [](const Run& a, const Run& b) { return a.begin_ns < b.begin_ns; });
}

}  // namespace lagtrap::analysis
