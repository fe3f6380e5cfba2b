#include "trace/run_batches/run_batch_limits.hpp"

#include <algorithm>

#include "core/text.hpp"
#include "trace/logs/session_id.hpp"

namespace lagtrap::trace {
namespace {

Status check_times(const RunTimes& times, std::uint64_t duration_ns) {
    const std::uint64_t counted_ns = times.parts.total_ns();
    const bool inside = counted_ns <= duration_ns &&
                        times.handed_over_ns <= duration_ns - counted_ns &&
                        times.parts.throttled_ns <= times.parts.runnable_ns;
    if (inside) return success();
    return make_error(ErrorKind::Invalid, "the parts of a run's time add up to more than its " +
                                              std::to_string(duration_ns) + " ns");
}

}  // namespace

Status check_recorded_run(const RecordedRun& run, std::size_t stacks) {
    const auto refuse = [](std::string message) {
        return make_error(ErrorKind::Invalid, std::move(message));
    };
    if (run.event.empty()) return refuse("a run without the name of its event");
    if (run.weight == 0) return refuse("a run of weight 0; at least 1 is allowed");
    if (run.duration_ns > run_batch_duration_limit_ns) return refuse("a run longer than 400 days");
    if ((run.dirty_reasons & ~run_batch_known_dirty_reasons) != 0)
        return refuse("unknown reasons against a run: bits " + std::to_string(run.dirty_reasons));
    if (run.times) TRY(check_times(*run.times, run.duration_ns));
    std::size_t largest_stack = std::max(run.begin_stack, run.end_stack);
    std::uint64_t before_ns = 0;
    for (const RunStage& stage : run.stages) {
        if (stage.at_ns < before_ns || stage.at_ns > run.duration_ns)
            return refuse("a stage at " + std::to_string(stage.at_ns) + " ns of a run of " +
                          std::to_string(run.duration_ns) + " ns: not in order, or not inside");
        before_ns = stage.at_ns;
        largest_stack = std::max<std::size_t>(largest_stack, stage.stack);
    }
    if (largest_stack > stacks)
        return refuse("a run names stack " + std::to_string(largest_stack) + " of " +
                      std::to_string(stacks));
    return success();
}

Status check_objects_part(const ObjectsPart& part) {
    const auto refuse = [](std::string message) {
        return make_error(ErrorKind::Invalid, std::move(message));
    };
    if (!is_session_id(part.watch_id))
        return refuse("the id of a watch \"" + printable(part.watch_id) + "\" is no UUID");
    if (part.number == 0) return refuse("part 0 of what was told of objects; they count from 1");
    TRY(check_count("bytes of lines", part.lines.size(), objects_part_limit_bytes));
    if (!part.lines.empty() && part.lines.back() != '\n')
        return refuse("the last line about objects has no end");
    for (std::size_t begin = 0; begin < part.lines.size();) {
        const std::size_t end = part.lines.find('\n', begin);
        const std::string_view line = std::string_view(part.lines).substr(begin, end - begin);
        if (!line.starts_with('{') || !line.ends_with('}'))
            return refuse("a line about objects is no object of JSON");
        if (printable(line) != line) return refuse("a line about objects is not printable");
        begin = end + 1;
    }
    return success();
}

}  // namespace lagtrap::trace
