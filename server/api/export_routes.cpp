#include "server/api/export_routes.hpp"

#include "core/clock.hpp"
#include "server/api/delay_routes.hpp"
#include "server/api/json_reply.hpp"
#include "server/api/list_file.hpp"
#include "server/api/run_json.hpp"

namespace lagtrap::server {
namespace {

constexpr const char* run_columns =
    "id,event,begin,begin_ns,duration_ns,threshold_ns,delay,host,user,build,process,executable,pid,"
    "tid,thread,start,"
    "weight,bundle,bundle_delay,hidden,outlier,on_cpu_ns,runnable_ns,throttled_ns,blocked_ns,"
    "handed_over_ns,unit\r\n";
constexpr const char* delay_columns =
    "bundle,number,event,begin,begin_ns,duration_ns,threshold_ns,host,user,build,process,pid,tid,"
    "thread,run,"
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
    for (const std::string* text :
         {&run.host, &run.user, &run.build, &run.process, &run.executable})
        cells.add(*text);
    cells.add(run.pid);
    cells.add(run.begin_tid);
    cells.add(run.thread);
    cells.add(start_name(run.start));
    cells.add(run.weight);
    cells.add(run.bundle.value_or(""));
    cells.add(run.bundle ? std::optional<std::uint64_t>(run.bundle_delay) : std::nullopt);
    cells.add(run.dirty ? run.dirty->rule : std::string());
    cells.add(run.outlier ? 1 : 0);
    const auto part = [&](auto of) {
        return run.times ? std::optional<std::uint64_t>(of(*run.times)) : std::nullopt;
    };
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
    for (const std::string* text : {&stored.host, &delay.user, &delay.build, &delay.process})
        cells.add(*text);
    cells.add(delay.pid);
    cells.add(delay.tid);
    cells.add(delay.thread);
    cells.add(stored.run);
    const json::object details = placed_delay_json(stored);
    for (const char* part :
         {"on_cpu_ns", "runnable_ns", "blocked_ns", "handed_over_ns", "unknown_ns"}) {
        const json::value& value = details.at(part);
        cells.add(value.is_number() ? std::optional(value.to_number<std::uint64_t>())
                                    : std::nullopt);
    }
    cells.add(delay.unit);
    line += "\r\n";
}

// `page_of` returns the filter's next page, `rows_of` its rows. Each row becomes a line of the
// requested format.
template <typename PageOf, typename RowsOf, typename AddCells, typename JsonOf>
Reply export_list(const Route& route, const std::string& event, const char* name,
                  const char* columns, const PageOf& page_of, const RowsOf& rows_of,
                  const AddCells& add_cells, const JsonOf& json_of) {
    const auto filter = read_filter(route, event);
    if (const auto* wrong = std::get_if<Refusal>(&filter)) return reply_of(*wrong);
    const auto format = read_list_format(route);
    if (const auto* wrong = std::get_if<Refusal>(&format)) return reply_of(*wrong);
    const bool csv = std::get<ListFormat>(format) == ListFormat::Csv;
    auto next = [=, wanted = std::get<Filter>(filter)](
                    std::optional<PageKey> after,
                    std::string& text) -> Result<std::optional<PageKey>> {
        TRY_ASSIGN(const auto page, page_of(wanted, after));
        for (const auto& row : rows_of(page)) {
            if (csv) {
                add_cells(text, row);
            } else {
                text += json::serialize(json_of(row)) + "\n";
            }
        }
        return page.next;
    };
    return list_file(std::get<ListFormat>(format), name, columns, std::move(next));
}

}  // namespace

Reply export_runs(const RunStore& store, const Route& route) {
    const auto page_of = [store](const Filter& wanted, const std::optional<PageKey>& after) {
        return store.list(wanted, RunOrder::Newest, page_limit, after);
    };
    const auto rows_of = [](const RunPage& page) -> const auto& { return page.runs; };
    const auto json_of = [](const StoredRun& run) { return run_json(run); };
    return export_list(route, route.arguments[0], "runs", run_columns, page_of, rows_of, add_run,
                       json_of);
}

Reply export_delays(const DelayStore& store, const Route& route) {
    const auto page_of = [store](const Filter& wanted, const std::optional<PageKey>& after) {
        return store.list_delays(wanted, {}, RunOrder::Newest, page_limit, after);
    };
    const auto rows_of = [](const DelayPage& page) -> const auto& { return page.delays; };
    const auto json_of = [](const StoredDelay& delay) { return placed_delay_json(delay); };
    return export_list(route, {}, "delays", delay_columns, page_of, rows_of, add_delay, json_of);
}

}  // namespace lagtrap::server
