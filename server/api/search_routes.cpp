#include "server/api/search_routes.hpp"

#include <algorithm>

#include "server/api/json_reply.hpp"
#include "server/api/search_match.hpp"
#include "trace/system_file/trace_context.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t hits_of_kind = 6;
constexpr std::uint32_t causes_read = 200;
constexpr std::uint32_t delays_of_trace = 20;

using Words = std::vector<std::string>;

json::array texts_json(const std::vector<std::string>& texts) {
    return json::array(texts.begin(), texts.end());
}

Result<json::array> find_delays(const DelayStore& store, std::string_view query) {
    json::array list;
    const auto context = trace::trace_context_of(query);
    if (!context) return list;
    TRY_ASSIGN(const auto delays, store.of_trace(context->trace_id, delays_of_trace));
    for (const StoredDelay& stored : delays)
        list.push_back({{"bundle", stored.bundle},
                        {"number", stored.delay.number},
                        {"event", stored.delay.event},
                        {"host", stored.host},
                        {"begin_ns", json_digits(stored.delay.begin_realtime_ns)},
                        {"duration_ns", json_number(stored.delay.duration_ns)}});
    return list;
}

json::object cause_json(const CauseRecord& cause) {
    return {{"id", json_digits(cause.root)}, {"title", cause.title}, {"event", cause.event}};
}

// Causes whose own words match, and functions and libraries in the call stacks of the others.
struct FoundInCauses {
    json::array causes, functions;
};

Result<FoundInCauses> find_in_causes(const CauseStore& store, const Words& words) {
    FoundInCauses found;
    TRY_ASSIGN(const auto causes, store.search(words, causes_read));
    for (const CauseRecord& cause : causes) {
        if (has_words(cause.title + " " + cause.event + " " + cause.reason + " " + cause.owner,
                      words)) {
            if (cause.root == cause.id && found.causes.size() < hits_of_kind)
                found.causes.push_back(cause_json(cause));
            continue;
        }
        const MatchedFrame frame = match_frames(cause.frames, words);
        if (frame.library.empty() || found.functions.size() == hits_of_kind) continue;
        json::object hit = cause_json(cause);
        hit["function"] = frame.function;
        hit["library"] = frame.library;
        hit["by_library"] = frame.by_library;
        if (std::ranges::find(found.functions, json::value(hit)) == found.functions.end())
            found.functions.push_back(std::move(hit));
    }
    return found;
}

// By the names that people gave them, then by id.
Result<json::array> find_builds(const BuildStore& store, const std::vector<std::string>& ids,
                                const Words& words) {
    json::array list;
    TRY_ASSIGN(const auto labels, store.build_labels());
    const auto add = [&](const std::string& build, const std::string& name) {
        if (list.size() < hits_of_kind)
            list.push_back({{"build", build}, {"name", text_or_null(name)}});
    };
    for (const BuildLabel& label : labels)
        if (has_words(label.name, words) && std::ranges::find(ids, label.build) != ids.end())
            add(label.build, label.name);
    for (const std::string& id : best_matches(ids, words, hits_of_kind)) {
        const auto label = std::ranges::find(labels, id, &BuildLabel::build);
        if (label == labels.end() || !has_words(label->name, words))
            add(id, label == labels.end() ? "" : label->name);
    }
    return list;
}

Result<json::object> find_all(const Evidence& evidence, std::string_view query) {
    const Words words = words_of_search(query);
    TRY_ASSIGN(auto delays, find_delays(evidence.delays(), query));
    TRY_ASSIGN(auto events, evidence.events().names());
    TRY_ASSIGN(auto causes, find_in_causes(evidence.causes(), words));
    TRY_ASSIGN(auto choices, evidence.choices().of_event(""));
    TRY_ASSIGN(auto builds, find_builds(evidence.builds(), choices.builds, words));
    const auto best = [&](std::vector<std::string>& texts) {
        return texts_json(best_matches(std::move(texts), words, hits_of_kind));
    };
    return json::object{
        {"delays", std::move(delays)},        {"events", best(events)},
        {"causes", std::move(causes.causes)}, {"functions", std::move(causes.functions)},
        {"builds", std::move(builds)},        {"hosts", best(choices.hosts)},
        {"units", best(choices.units)},       {"processes", best(choices.processes)},
        {"users", best(choices.users)}};
}

}  // namespace

Reply search_everything(const Evidence& evidence, const Route& route) {
    const std::string_view query = route.parameter("search").value_or("");
    if (words_of_search(query).empty()) return reply_of({400, "\"search\": expected a word"});
    const auto found = find_all(evidence, query);
    if (!found) return failure(found.error());
    return json_reply(*found);
}

}  // namespace lagtrap::server
