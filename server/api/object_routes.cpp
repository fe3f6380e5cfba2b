#include "server/api/object_routes.hpp"

#include <algorithm>
#include <utility>

#include "server/api/json_reply.hpp"
#include "trace/logs/session_id.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint32_t watches_shown = 200;
// Size of the lines in one answer; the part that exceeds it is still included.
constexpr std::uint64_t answer_bytes = 4 << 20;
// Rows of each list in a summary.
constexpr std::size_t summary_rows = 40;
constexpr std::size_t notes_limit = 40;

Reply no_such_watch() {
    return reply_of(
        {404, "there is no such watch of objects", "it may have been removed for its age"});
}

json::value number_or_null(std::optional<std::uint64_t> value) {
    return value ? json::value(json_number(*value)) : json::value(nullptr);
}

json::value missing_parts(const ObjectWatch& watch) {
    if (!watch.received_parts) return nullptr;
    return watch.parts - std::min<std::uint64_t>(watch.parts, *watch.received_parts);
}

json::object watch_json(const ObjectWatch& watch) {
    json::array classes;
    for (const std::string& name : watch.classes) classes.emplace_back(name);
    return {{"watch", watch.id},
            {"host", watch.host},
            {"process", watch.process},
            {"pid", watch.pid},
            {"began_ns", digits_or_null(watch.began_realtime_ns)},
            {"first_ns", json_digits(watch.first_realtime_ns)},
            {"last_ns", json_digits(watch.last_realtime_ns)},
            {"parts", watch.parts},
            {"ended", watch.ended},
            {"classes", std::move(classes)},
            {"class_count", json_number(watch.class_count)},
            {"calls", number_or_null(watch.calls)},
            {"failures", number_or_null(watch.failures)},
            {"not_reported", json_number(watch.not_reported)},
            {"lost_lines", number_or_null(watch.lost_lines)},
            {"missing_parts", missing_parts(watch)}};
}

json::array notes_of(const calls::ObjectsStarted& started) {
    json::array notes;
    for (const std::string& note : started.notes)
        if (notes.size() < notes_limit) notes.emplace_back(note);
    for (const calls::ReasonCount& one : started.refused)
        if (notes.size() < notes_limit)
            notes.emplace_back("functions that cannot be watched, " + std::to_string(one.count) +
                               ": " + one.reason);
    if (started.beyond_limit != 0)
        notes.emplace_back("functions beyond the limit, which are not watched: " +
                           std::to_string(started.beyond_limit));
    return notes;
}

}  // namespace

Reply list_object_watches(const ObjectStore& store, const Route&) {
    const auto watches = store.object_watches(watches_shown);
    if (!watches) return failure(watches.error());
    json::array rows;
    for (const ObjectWatch& watch : *watches) rows.push_back(watch_json(watch));
    return json_reply(json::object{{"watches", std::move(rows)}});
}

Reply get_object_parts(const ObjectStore& store, const Route& route) {
    if (!trace::is_session_id(route.arguments[0])) return no_such_watch();
    std::uint64_t after = 0;
    if (const auto text = route.parameter("after")) {
        const auto number = read_digits(*text);
        if (!number || *number > UINT32_MAX)
            return reply_of({400, "after: the number of a part is expected"});
        after = *number;
    }
    const auto parts =
        store.objects_parts(route.arguments[0], static_cast<std::uint32_t>(after), answer_bytes);
    if (!parts) return failure(parts.error());
    if (parts->empty()) {
        const auto watch = store.object_watch(route.arguments[0]);
        if (!watch) return failure(watch.error());
        if (!*watch) return no_such_watch();
    }
    json::array rows;
    for (const StoredObjectsPart& part : *parts)
        rows.push_back({{"number", part.number},
                        {"lost_lines", json_number(part.lost_lines)},
                        {"last", part.last},
                        {"lines", part.lines}});
    return json_reply(json::object{{"parts", std::move(rows)}});
}

Reply get_object_watch(const ObjectStore& store, WatchSummaries& summaries, const Route& route) {
    if (!trace::is_session_id(route.arguments[0])) return no_such_watch();
    const auto watch = store.object_watch(route.arguments[0]);
    if (!watch) return failure(watch.error());
    if (!*watch) return no_such_watch();
    auto read = summaries.read(
        [&](std::uint32_t after, std::uint64_t limit_bytes) {
            return store.objects_parts((*watch)->id, after, limit_bytes);
        },
        **watch);
    if (!read) return failure(read.error());
    reports::WatchedObjects& objects = *read;
    objects.end_here();
    const std::uint64_t received = (*watch)->received_parts.value_or((*watch)->parts);
    json::object answer{{"watch", watch_json(**watch)},
                        {"reason", objects.reason()},
                        {"dropped_parts", received - std::min(received, objects.parts())},
                        {"unread_lines", json_number(objects.unread_lines())},
                        {"notes", json::array{}},
                        {"objects", nullptr},
                        {"latest", json::array{}}};
    if (objects.has_begun()) {
        answer["notes"] = notes_of(objects.summary().started());
        answer["objects"] = objects.summary().to_json(summary_rows);
        answer["latest"] = objects.latest();
    }
    return json_reply(answer);
}

}  // namespace lagtrap::server
