#include "server/api/object_routes.hpp"

#include "server/api/json_reply.hpp"
#include "trace/logs/session_id.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint32_t watches_shown = 200;
// Of lines in one answer, beside those of the part that passes it.
constexpr std::uint64_t answer_bytes = 4 << 20;

Reply no_such_watch() {
    return reply_of({404, "there is no such watch of objects", "it may have been removed for its age"});
}

}  // namespace

Reply list_object_watches(ObjectStore& store, const Route&) {
    const auto watches = store.object_watches(watches_shown);
    if (!watches) return failure(watches.error());
    json::array rows;
    for (const ObjectWatch& watch : *watches)
        rows.push_back({{"watch", watch.id},
                        {"host", watch.host},
                        {"process", watch.process},
                        {"pid", watch.pid},
                        {"first_ns", json_digits(watch.first_realtime_ns)},
                        {"last_ns", json_digits(watch.last_realtime_ns)},
                        {"parts", watch.parts},
                        {"ended", watch.ended}});
    return json_reply(json::object{{"watches", std::move(rows)}});
}

Reply get_object_parts(ObjectStore& store, const Route& route) {
    if (!trace::is_session_id(route.arguments[0])) return no_such_watch();
    std::uint64_t after = 0;
    if (const auto text = route.parameter("after")) {
        const auto number = read_digits(*text);
        if (!number || *number > UINT32_MAX) return reply_of({400, "after: the number of a part is expected"});
        after = *number;
    }
    const auto parts = store.objects_parts(route.arguments[0], static_cast<std::uint32_t>(after), answer_bytes);
    if (!parts) return failure(parts.error());
    if (parts->empty()) {
        const auto first = store.objects_parts(route.arguments[0], 0, 1);
        if (!first) return failure(first.error());
        if (first->empty()) return no_such_watch();
    }
    json::array rows;
    for (const StoredObjectsPart& part : *parts)
        rows.push_back({{"number", part.number},
                        {"lost_lines", json_number(part.lost_lines)},
                        {"last", part.last},
                        {"lines", part.lines}});
    return json_reply(json::object{{"parts", std::move(rows)}});
}

}  // namespace lagtrap::server
