#include "cli/why/life_json.hpp"

#include <boost/json.hpp>

#include "analysis/delay_report.hpp"
#include "cli/reports/cause_json.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;

json::array parts_json(const analysis::CommandLife& life) {
    json::array parts;
    for (const analysis::LifePart& part : life.parts)
        parts.push_back(json::object{{"process", part.process},
                                     {"processes", part.processes},
                                     {"kind", analysis::to_text(part.kind)},
                                     {"reason", part.reason},
                                     {"time_ns", part.time_ns}});
    return parts;
}

json::array waits_json(const analysis::CommandLife& life) {
    json::array waits;
    for (const analysis::LongWait& wait : life.waits) {
        json::object object{{"offset_ns", wait.offset_ns},
                            {"length_ns", wait.length_ns},
                            {"reason", wait.reason},
                            {"timed_out", wait.timed_out},
                            {"went_on", wait.went_on}};
        if (wait.ended_by.tid != 0)
            object["ended_by"] = {{"pid", wait.ended_by.pid},
                                  {"tid", wait.ended_by.tid},
                                  {"process", wait.ended_by.process},
                                  {"thread", wait.ended_by.thread}};
        waits.push_back(std::move(object));
    }
    return waits;
}

json::array started_json(const analysis::CommandLife& life) {
    json::array processes;
    for (const analysis::StartedProcess& started : life.started)
        processes.push_back(json::object{{"pid", started.pid},
                                         {"parent_pid", started.parent_pid},
                                         {"process", started.name},
                                         {"command_line", started.command_line},
                                         {"offset_ns", started.offset_ns},
                                         {"life_ns", started.life_ns},
                                         {"on_cpu_ns", started.on_cpu_ns}});
    return processes;
}

}  // namespace

json::object life_json(const analysis::Recording& recording, const analysis::CommandLife& life,
                       const LifeFacts& facts) {
    json::object causes = causes_json(life.causes);
    causes["sentences"] = json::value_from(analysis::life_sentences(life));
    return {{"command", facts.command},
            {"pid", life.delay.begin_pid},
            {"took_ns", facts.took_ns},
            {"exit_status", facts.exit_code},
            {"beyond_limit", facts.beyond_limit},
            {"wall_ns", life.split.wall_ns},
            {"on_cpu_ns", life.split.on_cpu_ns},
            {"runnable_ns", life.split.runnable_ns},
            {"blocked_ns", life.split.blocked_ns},
            {"not_recorded_ns", life.split.not_recorded_ns},
            {"causes", std::move(causes)},
            {"parts", parts_json(life)},
            {"waits", waits_json(life)},
            {"started", started_json(life)},
            {"recording_cost", analysis::report_quality(recording).own_cost}};
}

}  // namespace lagtrap::cli
