#include "server/api/edge_routes.hpp"

#include <optional>

#include "server/api/json_reply.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint32_t pairs_default = 100;

json::object kind_json(const RequestKind& kind) {
    return {{"event", text_or_null(kind.event)},
            {"route", text_or_null(kind.route)},
            {"part", text_or_null(kind.part)}};
}

json::array attributes_json(const std::vector<EdgeAttribute>& attributes) {
    json::array list;
    for (const EdgeAttribute& one : attributes)
        list.push_back({{"name", one.name}, {"value", one.value}});
    return list;
}

std::optional<EdgeSplit> read_edge_split(std::string_view text) {
    constexpr std::string_view attribute = "attribute:";
    if (text.empty()) return EdgeSplit{};
    if (text == "unit") return EdgeSplit{EdgeSplit::By::Unit, {}};
    if (text == "host") return EdgeSplit{EdgeSplit::By::Host, {}};
    if (!text.starts_with(attribute) || text == attribute) return std::nullopt;
    return EdgeSplit{EdgeSplit::By::Attribute, std::string(text.substr(attribute.size()))};
}

json::object example_json(const StoredEdge& stored) {
    const DelayEdge& edge = stored.edge;
    return {{"bundle", stored.bundle},
            {"delay", stored.number},
            {"host", stored.host},
            {"begin_ns", json_digits(stored.begin_realtime_ns)},
            {"lost_ns", json_number(edge.lost_ns)},
            {"how", edge.how},
            {"place", edge.place},
            {"process", edge.process},
            {"pid", edge.pid},
            {"thread", edge.thread},
            {"tid", edge.tid},
            {"unit", edge.unit},
            {"key", json_digits(edge.key)},
            {"trace_id", text_or_null(edge.trace_id)},
            {"attributes", attributes_json(edge.attributes)},
            {"delayed_attributes", attributes_json(edge.delayed_attributes)}};
}

json::object pair_json(const EdgeGroup& group) {
    json::array days, examples;
    for (const EdgeDay& day : group.days)
        days.push_back({{"from_ns", json_digits(day.from_ns)},
                        {"delays", json_number(day.delays)},
                        {"lost_ns", json_number(day.lost_ns)}});
    for (const StoredEdge& stored : group.examples) examples.push_back(example_json(stored));
    return {{"culprit", kind_json(group.culprit)},
            {"delayed", kind_json(group.delayed)},
            {"how", group.how},
            {"delays", json_number(group.delays)},
            {"lost_ns", json_number(group.lost_ns)},
            {"longest_ns", json_number(group.longest_ns)},
            {"days", std::move(days)},
            {"examples", std::move(examples)}};
}

}  // namespace

Reply get_who_delays_whom(const EdgeStore& store, const Route& route) {
    const auto filter = read_filter(route, {});
    if (const auto* wrong = std::get_if<Refusal>(&filter)) return reply_of(*wrong);
    const auto page = read_page(route, pairs_default);
    if (const auto* wrong = std::get_if<Refusal>(&page)) return reply_of(*wrong);
    const auto split = read_edge_split(route.parameter("by").value_or(""));
    if (!split) return reply_of({400, "\"by\": expected unit, host or attribute:NAME"});
    const auto found = store.summarise({std::get<Filter>(filter),
                                        std::string(route.parameter("culprit").value_or("")),
                                        *split, std::get<PageQuestion>(page).limit});
    if (!found) return failure(found.error());
    json::array pairs, attributes;
    for (const std::string& name : found->attributes) attributes.push_back(json::string(name));
    for (const EdgeGroup& group : found->groups) pairs.push_back(pair_json(group));
    return json_reply(json::object{{"pairs", std::move(pairs)},
                                   {"pairs_left_out", json_number(found->groups_left_out)},
                                   {"edges", json_number(found->edges)},
                                   {"edges_read", json_number(found->edges_read)},
                                   {"attributes", std::move(attributes)}});
}

}  // namespace lagtrap::server
