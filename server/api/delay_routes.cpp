#include "server/api/delay_routes.hpp"

#include "server/api/summary_json.hpp"
#include "server/ingest/delay_details.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint32_t delays_default = 100;

json::array counts_json(const std::vector<DelayCount>& counts, const char* what) {
    json::array rows;
    for (const DelayCount& count : counts)
        rows.push_back({{what, count.name},
                        {"delays", json_number(count.delays)},
                        {"longest_ns", json_number(count.longest_ns)}});
    return rows;
}

}  // namespace

std::variant<DelayQuestion, Refusal> read_delay_question(const Route& route,
                                                         std::uint32_t default_limit) {
    DelayQuestion question;
    auto part = read_page(route, default_limit);
    if (const auto* wrong = std::get_if<Refusal>(&part)) return *wrong;
    question.part = std::get<PageQuestion>(part);
    if (const auto number = route.parameter("number")) {
        const auto read = read_digits(*number);
        if (!read || *read == 0 || *read > UINT32_MAX)
            return Refusal{400, "\"number\": expected a delay's number, from 1"};
        question.number = static_cast<std::uint32_t>(*read);
    }
    const auto order = route.parameter("order").value_or("newest");
    if (order != "newest" && order != "slowest" && order != "oldest")
        return Refusal{400, "\"order\": expected newest, slowest or oldest"};
    if (order == "oldest") question.order = RunOrder::Oldest;
    if (order == "slowest") question.order = RunOrder::Slowest;
    return question;
}

json::object delay_json(const StoredDelay& stored, json::value& quality) {
    const BundleDelay& delay = stored.delay;
    json::error_code error;
    json::value parsed = json::parse(delay.details, error);
    json::object object =
        !error && parsed.is_object() ? std::move(parsed.get_object()) : json::object{};
    if (const json::value* found = object.if_contains("quality")) {
        quality = *found;
        object.erase("quality");
    }
    // Without details the time split is unknown.
    for (const char* part : {"on_cpu_ns", "runnable_ns", "blocked_ns", "handed_over_ns"})
        if (!object.contains(part)) object[part] = 0;
    if (!object.contains("unknown_ns")) object["unknown_ns"] = json_number(delay.duration_ns);
    for (const char* list : {"blocked", "stages"})
        if (!object.contains(list)) object[list] = json::array{};
    if (!object.contains("without_stages")) object["without_stages"] = false;
    for (const char* part :
         {"request", "cause", "calls", "traced_functions", "objects", "surroundings"})
        if (!object.contains(part)) object[part] = nullptr;
    object["number"] = delay.number;
    object["event"] = delay.event;
    object["begin_ns"] = json_digits(delay.begin_realtime_ns);
    object["duration_ns"] = json_number(delay.duration_ns);
    object["threshold_ns"] = json_number(delay.threshold_ns);
    object["process"] = delay.process;
    object["unit"] = delay.unit;
    object["user"] = delay.user;
    object["build"] = delay.build;
    object["thread"] = delay.thread;
    object["pid"] = delay.pid;
    object["tid"] = delay.tid;
    object["trace_id"] = text_or_null(delay.trace_id);
    object["run"] = digits_or_null(stored.run);
    return object;
}

void leave_out_neighbours(json::object& delay) {
    delay["cause"] = nullptr;  // its sentences name other processes
    auto* const around = delay["surroundings"].if_object();
    if (around == nullptr) return;
    (*around)["cpu_use"] = nullptr;
    (*around)["cpu_holders"] = json::array{};
    (*around)["started"] = json::array{};
}

bool is_about_omissions(std::string_view note) {
    return note.starts_with(omitted_note_begin) || note.starts_with(earlier_omitted_note_begin);
}

// Removes these notes whatever their text: only lagtrapd knows which of their words are names.
void leave_out_other_events(json::value& quality) {
    auto* const object = quality.if_object();
    json::value* const kept = object == nullptr ? nullptr : object->if_contains("notes");
    if (kept == nullptr) return;
    json::array notes;
    const json::array* const all = kept->if_array();
    bool left_out = false;
    for (const json::value& note : all == nullptr ? json::array() : *all) {
        const bool names_events = !note.is_string() || is_about_omissions(note.get_string());
        left_out = left_out || names_events;
        if (!names_events) notes.push_back(note);
    }
    if (left_out)
        notes.emplace_back("to save CPU time lagtrapd did not watch all that it was set to");
    *kept = std::move(notes);
}

json::object placed_delay_json(const StoredDelay& stored) {
    json::value quality = nullptr;
    json::object row = delay_json(stored, quality);
    // long; only given for a single delay
    for (const char* name : {"cause", "surroundings"}) row[name] = nullptr;
    row["bundle"] = stored.bundle;
    row["host"] = stored.host;
    return row;
}

Reply list_all_delays(const DelayStore& store, const Route& route) {
    const auto filter = read_filter(route, {});
    if (const auto* wrong = std::get_if<Refusal>(&filter)) return reply_of(*wrong);
    const auto question = read_delay_question(route, delays_default);
    if (const auto* wrong = std::get_if<Refusal>(&question)) return reply_of(*wrong);
    const auto& [number, order, part] = std::get<DelayQuestion>(question);
    const auto page =
        store.list_delays(std::get<Filter>(filter), {}, order, part.limit, part.after);
    if (!page) return failure(page.error());
    json::array rows;
    for (const StoredDelay& stored : page->delays) rows.push_back(placed_delay_json(stored));
    return json_reply(json::object{{"delays", std::move(rows)}, {"next", next_of(page->next)}});
}

Reply get_delay_summary(const DelayStore& store, const Route& route) {
    const auto filter = read_filter(route, route.arguments[0]);
    if (const auto* wrong = std::get_if<Refusal>(&filter)) return reply_of(*wrong);
    const auto found = store.summarise_delays(std::get<Filter>(filter));
    if (!found) return failure(found.error());
    json::object answer = summary_json(
        found->summary, found->delays_read > 0 ? std::optional(found->threshold_ns) : std::nullopt);
    answer["delays"] = json_number(found->delays);
    answer["delays_read"] = json_number(found->delays_read);
    answer["hosts"] = counts_json(found->hosts, "host");
    answer["builds"] = counts_json(found->builds, "build");
    answer["units"] = counts_json(found->units, "unit");
    return json_reply(answer);
}

}  // namespace lagtrap::server
