#include "server/ingest/delay_details.hpp"

#include <algorithm>

#include <boost/json.hpp>

#include "analysis/delay_cause.hpp"
#include "analysis/request_words.hpp"
#include "analysis/time_split.hpp"
#include "core/json_number.hpp"
#include "core/text.hpp"
#include "server/ingest/delay_chain.hpp"
#include "server/ingest/delay_edges.hpp"
#include "server/ingest/delay_surroundings.hpp"
#include "server/ingest/run_calls.hpp"
#include "server/ingest/traced_functions.hpp"
#include "trace/merge/recorded_objects.hpp"

namespace lagtrap::server {
namespace {

namespace json = boost::json;

constexpr std::size_t reasons_limit = 100;
constexpr std::size_t object_rows_limit = 40;
constexpr std::size_t sentence_limit_bytes = 2048;
json::value share(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) return nullptr;
    return std::min(1.0, static_cast<double>(part) / static_cast<double>(whole));
}

json::object quality_of(const trace::SystemFile& system, const std::string& damage) {
    const trace::SessionQuality& quality = system.quality;
    json::array notes;
    const auto note = [&notes](std::uint64_t count, const char* what) {
        if (count > 0) notes.emplace_back(std::to_string(count) + " " + what);
    };
    if (!damage.empty()) notes.emplace_back("the trace cannot be read: " + shortened(damage));
    if (system.partial) notes.emplace_back("the recording was cut short");
    for (const std::string& omitted : quality.omitted)
        notes.emplace_back(omitted_note_begin + shortened(omitted));
    if (quality.truncated_by_size) notes.emplace_back("the recording reached its size limit");
    note(quality.switches_lost, "records of scheduling were lost");
    note(quality.wakings_lost, "wakings were lost");
    note(quality.stacks_lost, "stacks were lost");
    note(quality.runs_lost, "runs were lost");
    note(quality.task_changes_lost, "records of processes were lost");
    return {
        {"samples", json_number(quality.samples_taken)},
        {"samples_lost", json_number(quality.samples_lost)},
        {"stacks_complete", share(system.stacks.user_stacks_complete, system.stacks.user_stacks)},
        {"frames_named", share(system.stacks.frames_named, system.stacks.frames)},
        {"partial", system.partial || !damage.empty()},
        {"delays_left_out", json_number(system.delays_left_out)},
        {"notes", std::move(notes)}};
}

// A stage begins at its marker; the part before the first marker is "begin".
json::array stages_of(const trace::Delay& delay) {
    json::array stages;
    std::uint64_t at_ns = 0;
    std::string name = "begin";
    const auto close = [&](std::uint64_t end_ns) {
        if (end_ns < at_ns || stages.size() >= stages_limit) return;
        stages.push_back({{"name", shortened(name)},
                          {"at_ns", json_number(at_ns)},
                          {"duration_ns", json_number(end_ns - at_ns)}});
    };
    for (const trace::StageTime& stage : delay.stages) {
        const std::uint64_t offset_ns =
            std::clamp(stage.offset_ns, at_ns, std::max(at_ns, delay.duration_ns));
        close(offset_ns);
        at_ns = offset_ns;
        name = stage.name;
    }
    if (!delay.stages.empty()) close(delay.duration_ns);
    return stages;
}

// The cause in the words of `lagtrap report`.
json::object cause_json(const analysis::Recording& recording, const trace::Delay& delay,
                        const analysis::DelayCauses& causes) {
    json::array sentences;
    for (const std::string& sentence : cause_sentences(causes))
        sentences.emplace_back(shortened(sentence, sentence_limit_bytes));
    return {{"sentences", std::move(sentences)},
            {"chain", delay_chain_json(recording, delay, causes)}};
}

}  // namespace

std::string shortened(const std::string& text, std::size_t limit_bytes) {
    constexpr std::string_view mark = "…";
    std::string whole = printable(text);
    if (whole.size() <= limit_bytes) return whole;
    // Do not cut within a character: continuation bytes begin with the bits 10.
    std::size_t end = limit_bytes - mark.size();
    while (end > 0 && (static_cast<unsigned char>(whole[end]) & 0xc0) == 0x80) --end;
    whole.resize(end);
    return whole.append(mark);
}

DelayDetails delay_details(const trace::SystemFile& system, const analysis::Recording* recording,
                           const trace::Delay& delay, const std::string& damage) {
    std::vector<DelayEdge> edges;
    json::value cause = nullptr, request = nullptr;
    if (recording != nullptr) {
        const analysis::DelayCauses causes = causes_of_delay(*recording, delay);
        edges = delay_edges(causes);
        if (const std::string words = published_words(causes.request); !words.empty())
            request = shortened(words, sentence_limit_bytes);
        cause = cause_json(*recording, delay, causes);
    }
    analysis::TimeSplit split;
    split.not_recorded_ns = delay.duration_ns;
    if (recording != nullptr) split = split_time(*recording, intervals_of_delay(*recording, delay));
    json::array blocked;
    for (const analysis::BlockedTime& reason : split.blocked)
        if (blocked.size() < reasons_limit)
            blocked.push_back(
                {{"reason", shortened(reason.reason)}, {"ns", json_number(reason.total_ns)}});
    const json::object details{
        {"trace_begin_ns", std::to_string(delay.begin_ns)},
        {"on_cpu_ns", json_number(split.on_cpu_ns)},
        {"runnable_ns", json_number(split.runnable_ns)},
        {"blocked_ns", json_number(split.blocked_ns)},
        {"handed_over_ns", json_number(split.between_threads_ns)},
        {"unknown_ns", json_number(split.not_recorded_ns - split.between_threads_ns)},
        {"blocked", std::move(blocked)},
        {"stages", stages_of(delay)},
        {"without_stages", delay.without_stages},
        {"request", std::move(request)},
        {"cause", std::move(cause)},
        {"calls", recording != nullptr ? run_calls_json(*recording, delay) : nullptr},
        {"traced_functions", traced_functions_json(system, delay)},
        {"objects", trace::objects_json(system, delay.begin_pid, object_rows_limit)},
        {"surroundings", surroundings_json(system, recording, delay)},
        {"quality", quality_of(system, damage)}};
    return {json::serialize(details), std::move(edges)};
}

std::string quality_json(const trace::SystemFile& system, const std::string& damage) {
    return json::serialize(quality_of(system, damage));
}

}  // namespace lagtrap::server
