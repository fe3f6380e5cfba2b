#include "server/api/team_routes.hpp"

#include <algorithm>

#include "server/accounts/team_rules.hpp"
#include "server/api/json_reply.hpp"

namespace lagtrap::server {
namespace {

json::array texts(const std::vector<std::string>& lines) {
    json::array list;
    for (const std::string& line : lines) list.emplace_back(line);
    return list;
}

json::object team_json(const Team& team) {
    json::array members;
    for (const Team::Member& member : team.members)
        members.push_back({{"account", member.account}, {"by_group", member.by_group}});
    return {{"team", team.name},
            {"events", texts(team.events)},
            {"units", texts(team.units)},
            {"groups", texts(team.groups)},
            {"accounts", std::move(members)}};
}

std::optional<Refusal> take_lines(const json::object& object, std::string_view name,
                                  std::vector<std::string>& into) {
    const json::value& value = object.at(name);
    const Refusal wrong{400, "\"" + std::string(name) + "\": expected a list of texts"};
    if (!value.is_array()) return wrong;
    for (const json::value& line : value.get_array()) {
        if (!line.is_string()) return wrong;
        into.emplace_back(line.get_string());
    }
    return std::nullopt;
}

std::string from(const Request& request) { return ", from " + request.sender; }

std::string listed(const Team& team) {
    std::string text;
    for (const auto& [what, lines] :
         {std::pair("events", &team.events), std::pair("units", &team.units),
          std::pair("groups", &team.groups)}) {
        text += text.empty() ? what : std::string("; ") + what;
        for (const std::string& line : *lines) text += " " + line;
    }
    return text;
}

Reply no_such_team() { return reply_of({404, "there is no such team, or no such account in it"}); }

}  // namespace

Reply list_teams(const TeamStore& store) {
    const auto teams = store.list();
    if (!teams) return failure(teams.error());
    json::array rows;
    for (const Team& team : *teams) rows.push_back(team_json(team));
    return json_reply(json::object{{"teams", std::move(rows)}});
}

Reply set_team(const TeamParts& parts, const Route& route, const Request& request) {
    const auto body = read_object(request, {"events", "units", "groups"});
    if (const auto* wrong = std::get_if<Refusal>(&body)) return reply_of(*wrong);
    const auto& object = std::get<json::object>(body);
    Team team;
    team.name = route.arguments[0];
    for (const auto& [name, lines] :
         {std::pair("events", &team.events), std::pair("units", &team.units),
          std::pair("groups", &team.groups)})
        if (auto wrong = take_lines(object, name, *lines)) return reply_of(*wrong);
    if (const auto checked = check_team(team); !checked)
        return reply_of({400, checked.error().message});
    const auto set = parts.store.set_team(team);
    if (!set && set.error().kind == ErrorKind::TooLarge)
        return reply_of({409, set.error().message});
    if (!set) return failure(set.error());
    const bool fresh = *set == AddOutcome::New;
    parts.audit.note(who_of(parts.principal), fresh ? "add team" : "change team", team.name,
                     listed(team) + from(request));
    const auto teams = parts.store.list();
    if (!teams) return failure(teams.error());
    const auto kept = std::ranges::find(*teams, team.name, &Team::name);
    return json_reply(team_json(kept == teams->end() ? team : *kept), fresh ? 201 : 200);
}

Reply delete_team(const TeamParts& parts, const Route& route, const Request& request) {
    const auto removed = parts.store.remove_team(route.arguments[0]);
    if (!removed && removed.error().kind == ErrorKind::Busy)
        return reply_of({409, removed.error().message,
                         "put them into another team, or out of this one, first"});
    if (!removed) return failure(removed.error());
    if (!*removed) return no_such_team();
    parts.audit.note(who_of(parts.principal), "delete team", route.arguments[0],
                     "from " + request.sender);
    return empty_reply();
}

Reply join_team(const TeamParts& parts, const Route& route, const Request& request) {
    const auto joined = parts.store.join_team(route.arguments[0], route.arguments[1]);
    if (!joined) return failure(joined.error());
    if (!*joined) return reply_of({404, "there is no such team, or no such account"});
    parts.audit.note(who_of(parts.principal), "join team", route.arguments[0],
                     route.arguments[1] + from(request));
    return empty_reply();
}

Reply leave_team(const TeamParts& parts, const Route& route, const Request& request) {
    const auto left = parts.store.leave_team(route.arguments[0], route.arguments[1]);
    if (!left) return failure(left.error());
    if (!*left) return no_such_team();
    parts.audit.note(who_of(parts.principal), "leave team", route.arguments[0],
                     route.arguments[1] + from(request));
    return empty_reply();
}

}  // namespace lagtrap::server
