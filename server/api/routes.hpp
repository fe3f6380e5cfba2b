// What a request asks for, from its method and target alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "server/accounts/principal.hpp"
#include "server/api/exchange.hpp"

namespace lagtrap::server {

enum class RouteKind {
    Page,
    Health,
    Metrics,
    Description,
    GetSession,
    SignIn,
    SignOut,
    ChangePassword,
    GetSignInWays,
    BeginOidc,
    FinishOidc,
    ListEvents,
    GetOverview,
    GetTrend,
    GetSplit,
    ListBuildLabels,
    LabelBuild,
    ListCauses,
    GetCause,
    ChangeCause,
    GetChoices,
    GetSummary,
    GetDelaySummary,
    ListAllDelays,
    ListRuns,
    ExportRuns,
    ExportDelays,
    GetStageStacks,
    GetTimeShift,
    GetCauses,
    GetRun,
    SetDirty,
    CompareRuns,
    CompareSets,
    GetSetFlame,
    ListBundles,
    HasBundle,
    GetBundle,
    PutBundle,
    GetSystemFile,
    GetTrace,
    ListDelays,
    GetProfile,
    GetTimeline,
    GetMachine,
    ExportDelay,
    ListFormats,
    HasBatch,
    PutBatch,
    ListAccounts,
    AddAccount,
    DeleteAccount,
    ListTokens,
    AddToken,
    DeleteToken,
    ListAudit,
    ExportAudit,
    ListTeams,
    SetTeam,
    DeleteTeam,
    JoinTeam,
    LeaveTeam,
    ListRules,
    AddRule,
    GetRule,
    ChangeRule,
    DeleteRule,
    TestRule,
};

struct Route {
    RouteKind kind = RouteKind::Page;
    std::string path;                                        // without the query
    std::vector<std::string> arguments;                      // what stood in place of {...}, decoded
    std::vector<std::pair<std::string, std::string>> query;  // decoded; names are those of the route

    [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const;
    // All values of one that may stand several times: host, user, build, process, unit. Others stand once.
    [[nodiscard]] std::vector<std::string_view> parameters(std::string_view name) const;
};

// 404, 405 or 400 for what there is not.
[[nodiscard]] std::variant<Route, Refusal> find_route(Method method, std::string_view target);

// The filter of a set of runs, as a query without its question mark: "host=a&host=b&build=c".
[[nodiscard]] std::variant<Route, Refusal> read_filter_query(std::string_view query);

// What one must be allowed to, to use the route; nothing: anybody may.
struct Need {
    Right right = Right::Read;
    Right or_else = Right::Read;  // suffices too
};
[[nodiscard]] std::optional<Need> need_of(RouteKind kind);

// %XX and, where `plus` is a blank, +. Nothing for what is no such text, is not UTF-8 or holds control characters.
enum class Plus { Itself, Blank };
[[nodiscard]] std::optional<std::string> decode_percent(std::string_view text, Plus plus);

}  // namespace lagtrap::server
