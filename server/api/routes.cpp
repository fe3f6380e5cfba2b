#include "server/api/routes.hpp"

#include <algorithm>
#include <array>

#include "core/digest.hpp"
#include "core/text.hpp"

namespace lagtrap::server {
namespace {

constexpr std::string_view filter_words = "from to host user build process unit start dirty outliers";
constexpr std::string_view repeated_words = "host user build process unit";  // of a filter: any one of the values
constexpr std::size_t repeated_limit = 100;

struct Pattern {
    Method method;
    std::string_view path;  // {digest} is checked, other {...} take any text
    RouteKind kind;
    std::string_view parameters;  // names of the query; "F": those of the filter, without event
};

// As openapi.yaml has them.
constexpr std::array patterns{
    Pattern{Method::Get, "/healthz", RouteKind::Health, ""},
    Pattern{Method::Get, "/metrics", RouteKind::Metrics, ""},
    Pattern{Method::Get, "/api/v1/openapi.yaml", RouteKind::Description, ""},
    Pattern{Method::Get, "/api/v1/session", RouteKind::GetSession, ""},
    Pattern{Method::Post, "/api/v1/session", RouteKind::SignIn, ""},
    Pattern{Method::Delete, "/api/v1/session", RouteKind::SignOut, ""},
    Pattern{Method::Get, "/api/v1/session/ways", RouteKind::GetSignInWays, ""},
    Pattern{Method::Get, "/api/v1/oidc/begin", RouteKind::BeginOidc, "to"},
    Pattern{Method::Get, "/api/v1/oidc/callback", RouteKind::FinishOidc,
            "code state error error_description error_uri iss session_state scope authuser prompt hd"},
    Pattern{Method::Put, "/api/v1/session/password", RouteKind::ChangePassword, ""},
    Pattern{Method::Get, "/api/v1/events", RouteKind::ListEvents, "F search limit after"},
    Pattern{Method::Get, "/api/v1/overview", RouteKind::GetOverview, "F search order limit"},
    Pattern{Method::Get, "/api/v1/events/{event}/trend", RouteKind::GetTrend, "F"},
    Pattern{Method::Get, "/api/v1/events/{event}/split", RouteKind::GetSplit, "F by"},
    Pattern{Method::Get, "/api/v1/builds", RouteKind::ListBuildLabels, ""},
    Pattern{Method::Put, "/api/v1/builds/{build}", RouteKind::LabelBuild, ""},
    Pattern{Method::Get, "/api/v1/causes", RouteKind::ListCauses, "event limit"},
    Pattern{Method::Get, "/api/v1/causes/{id}", RouteKind::GetCause, ""},
    Pattern{Method::Put, "/api/v1/causes/{id}", RouteKind::ChangeCause, ""},
    Pattern{Method::Get, "/api/v1/choices", RouteKind::GetChoices, "event search"},
    Pattern{Method::Get, "/api/v1/events/{event}/summary", RouteKind::GetSummary, "F"},
    Pattern{Method::Get, "/api/v1/events/{event}/delays", RouteKind::GetDelaySummary, "F"},
    Pattern{Method::Get, "/api/v1/delays", RouteKind::ListAllDelays, "F event order limit after"},
    Pattern{Method::Get, "/api/v1/events/{event}/runs", RouteKind::ListRuns, "F order limit after"},
    Pattern{Method::Get, "/api/v1/events/{event}/runs/export", RouteKind::ExportRuns, "F format"},
    Pattern{Method::Get, "/api/v1/delays/export", RouteKind::ExportDelays, "F event format"},
    Pattern{Method::Get, "/api/v1/events/{event}/stages", RouteKind::GetStageStacks, "F stage"},
    Pattern{Method::Get, "/api/v1/events/{event}/times", RouteKind::GetTimeShift, "F"},
    Pattern{Method::Get, "/api/v1/events/{event}/causes", RouteKind::GetCauses, "F"},
    Pattern{Method::Get, "/api/v1/runs/{id}", RouteKind::GetRun, ""},
    Pattern{Method::Put, "/api/v1/runs/{id}/dirty", RouteKind::SetDirty, ""},
    Pattern{Method::Post, "/api/v1/compare", RouteKind::CompareRuns, ""},
    Pattern{Method::Get, "/api/v1/events/{event}/compare", RouteKind::CompareSets, "a b"},
    Pattern{Method::Get, "/api/v1/events/{event}/compare/flame", RouteKind::GetSetFlame, "a b state"},
    Pattern{Method::Get, "/api/v1/bundles", RouteKind::ListBundles, "F event limit after"},
    Pattern{Method::Head, "/api/v1/bundles/{digest}", RouteKind::HasBundle, ""},
    Pattern{Method::Get, "/api/v1/bundles/{digest}", RouteKind::GetBundle, ""},
    Pattern{Method::Put, "/api/v1/bundles/{digest}", RouteKind::PutBundle, ""},
    Pattern{Method::Get, "/api/v1/bundles/{digest}/system", RouteKind::GetSystemFile, ""},
    Pattern{Method::Get, "/api/v1/bundles/{digest}/trace", RouteKind::GetTrace, ""},
    Pattern{Method::Get, "/api/v1/bundles/{digest}/delays", RouteKind::ListDelays, "number order limit after"},
    Pattern{Method::Get, "/api/v1/bundles/{digest}/delays/{number}/profile", RouteKind::GetProfile, "state against"},
    Pattern{Method::Get, "/api/v1/bundles/{digest}/delays/{number}/timeline", RouteKind::GetTimeline, ""},
    Pattern{Method::Get, "/api/v1/bundles/{digest}/delays/{number}/machine", RouteKind::GetMachine,
            "from_ns to_ns columns"},
    Pattern{Method::Get, "/api/v1/bundles/{digest}/delays/{number}/export", RouteKind::ExportDelay, "format state"},
    Pattern{Method::Get, "/api/v1/formats", RouteKind::ListFormats, ""},
    Pattern{Method::Head, "/api/v1/batches/{digest}", RouteKind::HasBatch, ""},
    Pattern{Method::Put, "/api/v1/batches/{digest}", RouteKind::PutBatch, ""},
    Pattern{Method::Get, "/api/v1/accounts", RouteKind::ListAccounts, ""},
    Pattern{Method::Post, "/api/v1/accounts", RouteKind::AddAccount, ""},
    Pattern{Method::Delete, "/api/v1/accounts/{account}", RouteKind::DeleteAccount, ""},
    Pattern{Method::Get, "/api/v1/tokens", RouteKind::ListTokens, ""},
    Pattern{Method::Post, "/api/v1/tokens", RouteKind::AddToken, ""},
    Pattern{Method::Delete, "/api/v1/tokens/{id}", RouteKind::DeleteToken, ""},
    Pattern{Method::Get, "/api/v1/audit", RouteKind::ListAudit, "only limit after"},
    Pattern{Method::Get, "/api/v1/audit/export", RouteKind::ExportAudit, "only format"},
    Pattern{Method::Get, "/api/v1/teams", RouteKind::ListTeams, ""},
    Pattern{Method::Put, "/api/v1/teams/{team}", RouteKind::SetTeam, ""},
    Pattern{Method::Delete, "/api/v1/teams/{team}", RouteKind::DeleteTeam, ""},
    Pattern{Method::Put, "/api/v1/teams/{team}/accounts/{account}", RouteKind::JoinTeam, ""},
    Pattern{Method::Delete, "/api/v1/teams/{team}/accounts/{account}", RouteKind::LeaveTeam, ""},
    Pattern{Method::Get, "/api/v1/rules", RouteKind::ListRules, ""},
    Pattern{Method::Post, "/api/v1/rules", RouteKind::AddRule, ""},
    Pattern{Method::Get, "/api/v1/rules/{id}", RouteKind::GetRule, ""},
    Pattern{Method::Put, "/api/v1/rules/{id}", RouteKind::ChangeRule, ""},
    Pattern{Method::Delete, "/api/v1/rules/{id}", RouteKind::DeleteRule, ""},
    Pattern{Method::Post, "/api/v1/rules/{id}/test", RouteKind::TestRule, ""},
};

// Takes the first part off, up to `separator` or the end.
std::string_view take_part(std::string_view& text, char separator) {
    const std::string_view part = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    return part;
}

int digit_of(char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
    return letter >= 'A' && letter <= 'F' ? letter - 'A' + 10 : -1;
}

bool matches(std::string_view pattern, std::string_view path, std::vector<std::string_view>& arguments) {
    if (std::count(pattern.begin(), pattern.end(), '/') != std::count(path.begin(), path.end(), '/')) return false;
    while (!pattern.empty()) {
        const std::string_view wanted = take_part(pattern, '/');
        const std::string_view found = take_part(path, '/');
        if (!wanted.starts_with('{')) {
            if (wanted != found) return false;
        } else if (found.empty() || (wanted == "{digest}" && !is_sha256_hex(found))) {
            return false;
        } else {
            arguments.push_back(found);
        }
    }
    return true;
}

bool has_word(std::string_view words, std::string_view word) {
    while (!words.empty())
        if (take_part(words, ' ') == word) return true;
    return false;
}

std::optional<Refusal> read_query(std::string_view query, const Pattern& pattern, Route& route) {
    while (!query.empty()) {
        std::string_view pair = take_part(query, '&');
        const auto name = decode_percent(take_part(pair, '='), Plus::Blank);
        auto value = decode_percent(pair, Plus::Blank);
        if (!name || !value) return Refusal{400, "the query is not percent-encoded UTF-8"};
        const bool known =
            has_word(pattern.parameters, *name) || (has_word(pattern.parameters, "F") && has_word(filter_words, *name));
        if (!known || *name == "F")
            return Refusal{
                400, "the query has \"" + printable(*name).substr(0, 64) + "\", which this address does not know"};
        const bool repeats = has_word(pattern.parameters, "F") && has_word(repeated_words, *name);
        if (!repeats && route.parameter(*name)) return Refusal{400, "the query has \"" + *name + "\" twice"};
        if (repeats && route.parameters(*name).size() == repeated_limit)
            return Refusal{400,
                           "the query has \"" + *name + "\" more than " + std::to_string(repeated_limit) + " times"};
        route.query.emplace_back(*name, std::move(*value));
    }
    return std::nullopt;
}

// Whether `path` belongs to what programs ask, not to the pages.
bool is_of_programs(std::string_view path) {
    return path == "/api" || path.starts_with("/api/") || path == "/metrics" || path == "/healthz";
}

Refusal nothing_there(std::string_view path) {
    for (const std::string_view start : {"/api/v1/bundles/", "/api/v1/batches/"})
        if (path.starts_with(start))
            return {404, "no such address",
                    "the address of a bundle or batch ends with the 64 lower-case hexadecimal digits of its SHA-256"};
    return {404, "no such address", "/api/v1/openapi.yaml lists the addresses"};
}

}  // namespace

std::optional<std::string_view> Route::parameter(std::string_view name) const {
    for (const auto& [key, value] : query)
        if (key == name) return value;
    return std::nullopt;
}

std::vector<std::string_view> Route::parameters(std::string_view name) const {
    std::vector<std::string_view> values;
    for (const auto& [key, value] : query)
        if (key == name) values.emplace_back(value);
    return values;
}

std::optional<std::string> decode_percent(std::string_view text, Plus plus) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        char letter = text[i];
        if (letter == '+' && plus == Plus::Blank) letter = ' ';
        if (letter == '%') {
            if (i + 2 >= text.size() || digit_of(text[i + 1]) < 0 || digit_of(text[i + 2]) < 0) return std::nullopt;
            letter = static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]));
            i += 2;
        }
        if (letter == '\0') return std::nullopt;
        decoded += letter;
    }
    return printable(decoded) == decoded ? std::optional(std::move(decoded)) : std::nullopt;
}

std::variant<Route, Refusal> find_route(Method method, std::string_view target) {
    std::string_view query = target;
    const std::string_view path = take_part(query, '?');
    Route route;
    route.path = path;
    if (!is_of_programs(path)) {
        if (method != Method::Get && method != Method::Head) return Refusal{405, "only GET and HEAD"};
        return route;
    }
    bool exists = false;
    // HEAD is GET without the body where it has no meaning of its own.
    for (const Method wanted : {method, method == Method::Head ? Method::Get : method}) {
        for (const Pattern& pattern : patterns) {
            std::vector<std::string_view> arguments;
            if (!matches(pattern.path, path, arguments)) continue;
            exists = true;
            if (pattern.method != wanted) continue;
            for (const std::string_view argument : arguments) {
                auto decoded = decode_percent(argument, Plus::Itself);
                if (!decoded) return Refusal{400, "the address is not percent-encoded UTF-8"};
                route.arguments.push_back(std::move(*decoded));
            }
            route.kind = pattern.kind;
            if (auto wrong = read_query(query, pattern, route)) return *wrong;
            return route;
        }
    }
    if (!exists) return nothing_there(path);
    return Refusal{405, "the address does not know this method", "/api/v1/openapi.yaml lists the methods"};
}

std::variant<Route, Refusal> read_filter_query(std::string_view query) {
    Route route;
    constexpr Pattern set{Method::Get, "", RouteKind::CompareSets, "F"};
    if (auto wrong = read_query(query, set, route)) return *wrong;
    return route;
}

std::optional<Need> need_of(RouteKind kind) {
    switch (kind) {
        case RouteKind::Page:
        case RouteKind::Health:
        case RouteKind::Description:
        case RouteKind::GetSignInWays:
        case RouteKind::BeginOidc:
        case RouteKind::FinishOidc:
        case RouteKind::SignIn: return std::nullopt;
        case RouteKind::PutBundle:
        case RouteKind::PutBatch:
        case RouteKind::LabelBuild:
        case RouteKind::ChangeCause:
        case RouteKind::SetDirty: return Need{Right::Upload, Right::Upload};
        // Whoever may send something may ask whether it is there.
        case RouteKind::HasBundle:
        case RouteKind::HasBatch: return Need{Right::Upload, Right::Read};
        // Whoever is signed in may know as whom.
        case RouteKind::GetSession:
        case RouteKind::ChangePassword:
        case RouteKind::SignOut: return Need{Right::Read, Right::Upload};
        case RouteKind::ListAccounts:
        case RouteKind::AddAccount:
        case RouteKind::DeleteAccount:
        case RouteKind::ListTokens:
        case RouteKind::AddToken:
        case RouteKind::DeleteToken:
        case RouteKind::ListAudit:
        case RouteKind::ExportAudit:
        case RouteKind::ListTeams:
        case RouteKind::SetTeam:
        case RouteKind::DeleteTeam:
        case RouteKind::JoinTeam:
        case RouteKind::LeaveTeam:
        case RouteKind::ListRules:
        case RouteKind::AddRule:
        case RouteKind::GetRule:
        case RouteKind::ChangeRule:
        case RouteKind::DeleteRule:
        case RouteKind::TestRule: return Need{Right::Administer, Right::Administer};
        default: return Need{Right::Read, Right::Read};
    }
}

}  // namespace lagtrap::server
