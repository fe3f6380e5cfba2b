#include "server/api/export_routes.hpp"

#include "core/clock.hpp"
#include "server/api/delay_routes.hpp"
#include "server/api/json_reply.hpp"
#include "server/api/list_file.hpp"
#include "server/api/run_json.hpp"

namespace lagtrap::server {
namespace {

constexpr const char* run_columns =
    "id,event,begin,begin_ns,duration_ns,threshold_ns,delay,host,user,build,process,executable,pid,tid,thread,start,"
    "weight,bundle,bundle_delay,hidden,outlier,on_cpu_ns,runnable_ns,throttled_ns,blocked_ns,handed_over_ns,unit\r\n";
constexpr const char* delay_columns =
    "bundle,number,event,begin,begin_ns,duration_ns,threshold_ns,host,user,build,process,pid,tid,thread,run,"
    "on_cpu_ns,runnable_ns,blocked_ns,handed_over_ns,unknown_ns,unit\r\n";

void add_run(std::string& line, const StoredRun& run) {
    Cells cells{line};
    cells.add(run.id);
    cells.add(run.event);
    cells.add(format_utc(run.begin_realtime_ns));
    cells.add(run.begin_realtime_ns);
    cells.add(run.duration_ns);
    cells.add(run.threshold_ns);
    cells.add(run.delay ? 1 : 0);
    for (const std::string* text : {&run.host, &run.user, &run.build, &run.process, &run.executable}) cells.add(*text);
    cells.add(run.pid);
    cells.add(run.begin_tid);
    cells.add(run.thread);
    cells.add(start_name(run.start));
    cells.add(run.weight);
    cells.add(run.bundle.value_or(""));
    cells.add(run.bundle ? std::optional<std::uint64_t>(run.bundle_delay) : std::nullopt);
    cells.add(run.dirty ? run.dirty->rule : std::string());
    cells.add(run.outlier ? 1 : 0);
    const auto part = [&](auto of) { return run.times ? std::optional<std::uint64_t>(of(*run.times)) : std::nullopt; };
    cells.add(part([](const trace::RunTimes& times) { return times.parts.on_cpu_ns; }));
    cells.add(part([](const trace::RunTimes& times) { return times.parts.runnable_ns; }));
    cells.add(part([](const trace::RunTimes& times) { return times.parts.throttled_ns; }));
    cells.add(part([](const trace::RunTimes& times) { return times.parts.blocked_total_ns(); }));
    cells.add(part([](const trace::RunTimes& times) { return times.handed_over_ns; }));
    cells.add(run.unit);
    line += "\r\n";
}

void add_delay(std::string& line, const StoredDelay& stored) {
    const BundleDelay& delay = stored.delay;
    Cells cells{line};
    cells.add(stored.bundle);
    cells.add(delay.number);
    cells.add(delay.event);
    cells.add(format_utc(delay.begin_realtime_ns));
    cells.add(delay.begin_realtime_ns);
    cells.add(delay.duration_ns);
    cells.add(delay.threshold_ns);
    for (const std::string* text : {&stored.host, &delay.user, &delay.build, &delay.process}) cells.add(*text);
    cells.add(delay.pid);
    cells.add(delay.tid);
    cells.add(delay.thread);
    cells.add(stored.run);
    const json::object details = placed_delay_json(stored);
    for (const char* part : {"on_cpu_ns", "runnable_ns", "blocked_ns", "handed_over_ns", "unknown_ns"}) {
        const json::value& value = details.at(part);
        cells.add(value.is_number() ? std::optional(value.to_number<std::uint64_t>()) : std::nullopt);
    }
    cells.add(delay.unit);
    line += "\r\n";
}

}  // namespace

Reply export_runs(EvidenceStore& store, const Route& route) {
    const auto filter = read_filter(route, route.arguments[0]);
    if (const auto* wrong = std::get_if<Refusal>(&filter)) return reply_of(*wrong);
    const auto format = read_list_format(route);
    if (const auto* wrong = std::get_if<Refusal>(&format)) return reply_of(*wrong);
    const bool csv = std::get<ListFormat>(format) == ListFormat::Csv;
    auto next = [&store, wanted = std::get<Filter>(filter), csv](std::optional<PageKey> after,
                                                                 std::string& text) -> Result<std::optional<PageKey>> {
        TRY_ASSIGN(const RunPage page, store.runs(wanted, RunOrder::Newest, page_limit, after));
        for (const StoredRun& run : page.runs) {
            if (csv) {
                add_run(text, run);
            } else {
                text += json::serialize(run_json(run)) + "\n";
            }
        }
        return page.next;
    };
    return list_file(std::get<ListFormat>(format), "runs", run_columns, std::move(next));
}

Reply export_delays(EvidenceStore& store, const Route& route) {
    const auto filter = read_filter(route, {});
    if (const auto* wrong = std::get_if<Refusal>(&filter)) return reply_of(*wrong);
    const auto format = read_list_format(route);
    if (const auto* wrong = std::get_if<Refusal>(&format)) return reply_of(*wrong);
    const bool csv = std::get<ListFormat>(format) == ListFormat::Csv;
    auto next = [&store, wanted = std::get<Filter>(filter), csv](std::optional<PageKey> after,
                                                                 std::string& text) -> Result<std::optional<PageKey>> {
        TRY_ASSIGN(const DelayPage page, store.list_delays(wanted, {}, RunOrder::Newest, page_limit, after));
        for (const StoredDelay& stored : page.delays) {
            if (csv) {
                add_delay(text, stored);
            } else {
                text += json::serialize(placed_delay_json(stored)) + "\n";
            }
        }
        return page.next;
    };
    return list_file(std::get<ListFormat>(format), "delays", delay_columns, std::move(next));
}

}  // namespace lagtrap::server
