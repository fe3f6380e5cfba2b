#include "server/api/build_routes.hpp"

#include "core/clock.hpp"
#include "core/text.hpp"
#include "server/api/json_reply.hpp"

namespace lagtrap::server {
namespace {

json::object label_json(const BuildLabel& label) {
    return {{"build", label.build},
            {"name", label.name},
            {"by", label.by},
            {"at_ns", json_digits(label.at_realtime_ns)}};
}

}  // namespace

Reply list_build_labels(const BuildStore& store) {
    const auto labels = store.build_labels();
    if (!labels) return failure(labels.error());
    json::array list;
    for (const BuildLabel& label : *labels) list.push_back(label_json(label));
    return json_reply(json::object{{"labels", std::move(list)}});
}

Reply label_build(const BuildStore& store, Audit& audit, const Route& route,
                  const Principal& principal, const Request& request) {
    const auto body = read_object(request, {"name"});
    if (const auto* wrong = std::get_if<Refusal>(&body)) return reply_of(*wrong);
    const auto name = read_text(std::get<json::object>(body), "name", build_name_limit_bytes);
    if (const auto* wrong = std::get_if<Refusal>(&name)) return reply_of(*wrong);
    BuildLabel label{route.arguments[0], std::get<std::string>(name), who_of(principal),
                     ClockSnapshot::take().realtime_ns};
    if (label.build.size() > build_id_limit_bytes)
        return reply_of({400, "the build id is longer than 256 bytes"});
    if (printable(label.name) != label.name)
        return reply_of({400, "\"name\": expected a text without control characters"});
    const auto stored = store.label_build(label);
    if (!stored && stored.error().kind == ErrorKind::Denied)
        return reply_of({403, stored.error().message});
    if (!stored) return failure(stored.error());
    audit.note(label.by, "label build", label.build, label.name);
    return json_reply(label_json(label));
}

}  // namespace lagtrap::server
