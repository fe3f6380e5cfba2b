#include "server/api/run_routes.hpp"

#include <algorithm>
#include <map>

#include "core/clock.hpp"
#include "server/api/json_reply.hpp"
#include "server/api/run_json.hpp"
#include "server/api/summary_json.hpp"
#include "server/store/labels.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint32_t events_default = 100;
constexpr std::uint32_t runs_default = 240;
constexpr std::size_t choices_limit = 1000;
constexpr std::size_t stacks_limit = 100;
constexpr std::uint32_t stage_runs_read = 20'000;
constexpr std::size_t rules_limit = 20;

// The values that contain `part`, ignoring case.
json::array texts(const std::vector<std::string>& values, const std::string& part) {
    json::array list;
    for (const std::string& value : values)
        if (list.size() < choices_limit && search_text(value).find(part) != std::string::npos)
            list.emplace_back(value);
    return list;
}

// Why runs are hidden, according to the newest of them.
json::array hidden_because(const RunStore& store, Filter filter) {
    filter.with_dirty = true;
    json::array rules;
    const auto page = store.list(filter, RunOrder::Newest, page_limit, std::nullopt);
    if (!page) return rules;
    std::map<std::string, std::pair<std::uint64_t, std::string>> counts;
    for (const StoredRun& run : page->runs)
        if (run.dirty) {
            auto& [count, reason] = counts[run.dirty->rule];
            if (++count == 1) reason = run.dirty->reason;
        }
    std::vector<std::pair<std::uint64_t, std::string>> order;
    order.reserve(counts.size());
    for (const auto& [rule, entry] : counts) order.emplace_back(entry.first, rule);
    std::sort(order.rbegin(), order.rend());
    for (const auto& [count, rule] : order)
        if (rules.size() < rules_limit)
            rules.push_back(
                {{"rule", rule}, {"reason", counts[rule].second}, {"runs", json_number(count)}});
    return rules;
}

Reply no_such_run() {
    return reply_of({404, "there is no such run", "it may have been removed for its age"});
}

}  // namespace

Reply list_events(const EventStore& store, const Route& route) {
    const auto filter = read_filter(route, {});
    if (const auto* wrong = std::get_if<Refusal>(&filter)) return reply_of(*wrong);
    const auto page = read_page(route, events_default);
    if (const auto* wrong = std::get_if<Refusal>(&page)) return reply_of(*wrong);
    const auto& [limit, after] = std::get<PageQuestion>(page);
    const auto events =
        store.list(std::get<Filter>(filter), std::string(route.parameter("search").value_or("")),
                   limit, after);
    if (!events) return failure(events.error());
    const auto losses = store.losses(std::get<Filter>(filter));
    if (!losses) return failure(losses.error());
    json::array rows;
    for (const EventRow& row : events->events)
        rows.push_back({{"event", row.event},
                        {"last_ns", json_digits(row.last_realtime_ns)},
                        {"runs", json_number(row.runs)},
                        {"delays", json_number(row.delays)},
                        {"hosts", json_number(row.hosts)},
                        {"bundles", json_number(row.bundles)}});
    return json_reply(json::object{{"events", std::move(rows)},
                                   {"next", next_of(events->next)},
                                   {"lost", losses_json(*losses)}});
}

Reply get_choices(const ChoiceStore& store, const Route& route) {
    const auto choices = store.of_event(std::string(route.parameter("event").value_or("")));
    if (!choices) return failure(choices.error());
    const bool any = choices->to_realtime_ns > 0;
    const std::string part = search_text(route.parameter("search").value_or(""));
    return json_reply(json::object{
        {"hosts", texts(choices->hosts, part)},
        {"users", texts(choices->users, part)},
        {"builds", texts(choices->builds, part)},
        {"processes", texts(choices->processes, part)},
        {"units", texts(choices->units, part)},
        {"from", digits_or_null(any ? std::optional(choices->from_realtime_ns) : std::nullopt)},
        {"to", digits_or_null(any ? std::optional(choices->to_realtime_ns) : std::nullopt)}});
}

Reply get_summary(const Evidence& evidence, const Route& route) {
    const auto filter = read_filter(route, route.arguments[0]);
    if (const auto* wrong = std::get_if<Refusal>(&filter)) return reply_of(*wrong);
    const auto summary = evidence.summaries().summary(std::get<Filter>(filter));
    if (!summary) return failure(summary.error());
    const auto last =
        evidence.runs().list(std::get<Filter>(filter), RunOrder::Newest, 1, std::nullopt);
    std::optional<std::uint64_t> threshold_ns;
    if (last && !last->runs.empty()) threshold_ns = last->runs.front().threshold_ns;
    return json_reply(summary_json(*summary, threshold_ns));
}

Reply list_runs(const Evidence& evidence, const Route& route) {
    const auto read = read_filter(route, route.arguments[0]);
    if (const auto* wrong = std::get_if<Refusal>(&read)) return reply_of(*wrong);
    const auto& filter = std::get<Filter>(read);
    const auto page = read_page(route, runs_default);
    if (const auto* wrong = std::get_if<Refusal>(&page)) return reply_of(*wrong);
    const auto& [limit, after] = std::get<PageQuestion>(page);
    const auto order = route.parameter("order").value_or("newest");
    if (order != "newest" && order != "slowest")
        return reply_of({400, "\"order\": expected newest or slowest"});
    const auto runs = evidence.runs().list(
        filter, order == "newest" ? RunOrder::Newest : RunOrder::Slowest, limit, after);
    if (!runs) return failure(runs.error());
    const auto counts = evidence.summaries().count_runs(filter);
    if (!counts) return failure(counts.error());
    json::array rows;
    for (const StoredRun& run : runs->runs) rows.push_back(run_json(run));
    const std::uint64_t hidden = filter.with_dirty ? 0 : counts->hidden;
    return json_reply(json::object{
        {"runs", std::move(rows)},
        {"hidden", json_number(hidden)},
        {"hidden_because", hidden > 0 ? hidden_because(evidence.runs(), filter) : json::array{}},
        {"outliers", json_number(counts->outliers)},
        {"total", json_number(counts->records + hidden)},
        {"next", next_of(runs->next)}});
}

Reply get_stage_stacks(const RunStore& store, const Route& route) {
    const auto filter = read_filter(route, route.arguments[0]);
    if (const auto* wrong = std::get_if<Refusal>(&filter)) return reply_of(*wrong);
    const auto stage = route.parameter("stage");
    if (!stage || stage->empty())
        return reply_of({400, "\"stage\": the name of a stage is needed"});
    const auto found =
        store.stage_stacks(std::get<Filter>(filter), std::string(*stage), stage_runs_read);
    if (!found) return failure(found.error());
    json::array stacks;
    for (const StageStack& stack : found->stacks)
        if (stacks.size() < stacks_limit)
            stacks.push_back({{"frames", stack_json(stack.frames)},
                              {"hits", json_number(stack.hits)},
                              {"median_ns", json_number(stack.median_ns)},
                              {"longest_ns", json_number(stack.longest_ns)}});
    return json_reply(json::object{{"stacks", std::move(stacks)},
                                   {"runs_read", json_number(found->runs_read)},
                                   {"runs_read_most", stage_runs_read}});
}

Reply get_run(const RunStore& store, const Route& route) {
    const auto id = read_digits(route.arguments[0]);
    if (!id) return no_such_run();
    const auto found = store.find_run(*id);
    if (!found) return failure(found.error());
    if (!*found) return no_such_run();
    json::object run = run_json((*found)->run);
    json::array markers;
    for (const MarkerHit& marker : (*found)->markers)
        markers.push_back({{"name", marker.name},
                           {"at_ns", json_number(marker.at_ns)},
                           {"tid", marker.tid},
                           {"stack", stack_json(marker.stack)}});
    run["markers"] = std::move(markers);
    return json_reply(run);
}

Reply set_dirty(const Evidence& evidence, const Route& route, const Principal& principal,
                const Request& request) {
    constexpr std::size_t reason_limit_bytes = 500;
    const auto body = read_object(request, {"dirty", "reason"});
    if (const auto* wrong = std::get_if<Refusal>(&body)) return reply_of(*wrong);
    const auto& object = std::get<json::object>(body);
    const json::value& dirty = object.at("dirty");
    if (!dirty.is_bool()) return reply_of({400, "\"dirty\": expected true or false"});
    const auto reason = read_text(object, "reason", reason_limit_bytes);
    if (const auto* wrong = std::get_if<Refusal>(&reason)) return reply_of(*wrong);
    const auto id = read_digits(route.arguments[0]);
    if (!id) return no_such_run();
    const auto before = evidence.runs().find_runs({*id});
    if (!before) return failure(before.error());
    if (before->empty()) return no_such_run();
    const DirtyMark mark{*id,
                         dirty.get_bool(),
                         rule_by_hand,
                         std::get<std::string>(reason),
                         principal.name,
                         ClockSnapshot::take().realtime_ns};
    if (const auto marked = evidence.marks().mark_dirty({mark}); !marked)
        return failure(marked.error());
    const auto after = evidence.runs().find_runs({*id});
    if (!after) return failure(after.error());
    if (after->empty()) return no_such_run();
    return json_reply(run_json(after->front()));
}

}  // namespace lagtrap::server
