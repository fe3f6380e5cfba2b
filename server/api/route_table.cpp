#include "server/api/route_table.hpp"

#include "server/api/application.hpp"
#include "server/api/build_routes.hpp"
#include "server/api/bundle_routes.hpp"
#include "server/api/cause_routes.hpp"
#include "server/api/compare_routes.hpp"
#include "server/api/delay_routes.hpp"
#include "server/api/edge_routes.hpp"
#include "server/api/export_routes.hpp"
#include "server/api/json_reply.hpp"
#include "server/api/object_routes.hpp"
#include "server/api/overview_routes.hpp"
#include "server/api/report_routes.hpp"
#include "server/api/route_call.hpp"
#include "server/api/rule_routes.hpp"
#include "server/api/run_routes.hpp"
#include "server/api/search_routes.hpp"
#include "server/api/team_routes.hpp"
#include "server/api/upload.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint64_t no_body = 0;
constexpr std::uint64_t small_body_bytes = 64 * 1024;
constexpr std::uint64_t compare_body_bytes = 128 * 1024;  // two thousand ids

constexpr std::optional<Need> anybody = std::nullopt;
constexpr Need reading{Right::Read, Right::Read};
constexpr Need upload{Right::Upload, Right::Upload};
// An uploader may ask whether its upload is there.
constexpr Need upload_or_read{Right::Upload, Right::Read};
// Everybody who is signed in may ask who they are.
constexpr Need signed_in{Right::Read, Right::Upload};
constexpr Need administer{Right::Administer, Right::Administer};

Reply find_page(const RouteCall& call) {
    return call.application.pages().find(call.route, call.request);
}

Reply describe_api(const RouteCall& call) { return call.application.pages().api_description(); }

Reply report_health(const RouteCall& call) { return call.application.health(); }

Reply report_metrics(const RouteCall& call) {
    return call.application.metrics(call.evidence, call.principal.sight.get());
}

Reply tell_sign_in_ways(const RouteCall& call) {
    return get_sign_in_ways(call.application.parts().provider);
}

Reply sign_in_with_password(const RouteCall& call) {
    return sign_in(call.application.sign_ins().parts(), call.sender, call.request);
}

Reply sign_out_of_session(const RouteCall& call) {
    return sign_out(call.application.sign_ins().parts(), call.principal, call.request);
}

Reply change_password(const RouteCall& call) {
    if (call.principal.kind != Principal::Kind::Session)
        return reply_of({403, "only who is signed in has a password to change", "sign in first"});
    return change_own_password(call.application.sign_ins().parts(), call.sender, call.principal,
                               call.request);
}

Reply begin_sign_in_at_provider(const RouteCall& call) {
    return begin_oidc(call.application.sign_ins().oidc_parts(), call.route, call.request);
}

Reply finish_sign_in_at_provider(const RouteCall& call) {
    return finish_oidc(call.application.sign_ins().oidc_parts(), call.route, call.request);
}

Reply add_account_to_server(const RouteCall& call) {
    return call.application.add_first_or_further_account(call.principal, call.request);
}

Reply list_delays_as_seen(const RouteCall& call) {
    return list_delays(call.evidence, call.blobs, call.route,
                       call.principal.sight ? Neighbours::Hidden : Neighbours::Shown);
}

// In the order of openapi.yaml.
// clang-format off
constexpr RouteRow all_rows[] = {
    {Method::Get, "/healthz", "", anybody, Work::Health, report_health},
    {Method::Get, "/metrics", "", reading, Work::Light, report_metrics},
    {Method::Get, "/api/v1/openapi.yaml", "", anybody, Work::Light, describe_api},
    {Method::Get, "/api/v1/session", "", signed_in, Work::Light, answer<get_session>},
    {Method::Post, "/api/v1/session", "", anybody, Work::SignIn, sign_in_with_password,
     small_body_bytes, Handling::SignInLine},
    {Method::Delete, "/api/v1/session", "", signed_in, Work::Light, sign_out_of_session},
    {Method::Get, "/api/v1/session/ways", "", anybody, Work::Light, tell_sign_in_ways},
    {Method::Get, "/api/v1/oidc/begin", "to", anybody, Work::SignIn, begin_sign_in_at_provider,
     no_body, Handling::SignInLine},
    {Method::Get, "/api/v1/oidc/callback",
     "code state error error_description error_uri iss session_state scope authuser prompt hd",
     anybody, Work::SignIn, finish_sign_in_at_provider, no_body, Handling::SignInLine},
    {Method::Put, "/api/v1/session/password", "", signed_in, Work::SignIn, change_password,
     small_body_bytes, Handling::SignInLine},
    {Method::Get, "/api/v1/events", "F search limit after", reading, Work::Light,
     answer<list_events>},
    {Method::Get, "/api/v1/overview", "F search order limit", reading, Work::Heavy,
     answer<get_overview>},
    {Method::Get, "/api/v1/events/{event}/trend", "F", reading, Work::Heavy, answer<get_trend>},
    {Method::Get, "/api/v1/events/{event}/change", "F", reading, Work::Heavy, answer<get_change>},
    {Method::Get, "/api/v1/events/{event}/split", "F by", reading, Work::Heavy, answer<get_split>},
    {Method::Get, "/api/v1/builds", "", reading, Work::Light, answer<list_build_labels>},
    {Method::Put, "/api/v1/builds/{build}", "", upload, Work::Light, answer<label_build>,
     small_body_bytes},
    {Method::Get, "/api/v1/causes", "event limit", reading, Work::Heavy, answer<list_causes>},
    {Method::Get, "/api/v1/causes/{id}", "", reading, Work::Heavy, answer<get_cause>},
    {Method::Get, "/api/v1/causes/{id}/flame", "state", reading, Work::Heavy,
     answer<get_cause_flame>},
    {Method::Put, "/api/v1/causes/{id}", "", upload, Work::Light, answer<change_cause>,
     small_body_bytes},
    {Method::Get, "/api/v1/choices", "event search", reading, Work::Light, answer<get_choices>},
    {Method::Get, "/api/v1/search", "search", reading, Work::Heavy, answer<search_everything>},
    {Method::Get, "/api/v1/events/{event}/summary", "F", reading, Work::Heavy, answer<get_summary>},
    {Method::Get, "/api/v1/events/{event}/delays", "F", reading, Work::Heavy,
     answer<get_delay_summary>},
    {Method::Get, "/api/v1/delays", "F event order limit after", reading, Work::Heavy,
     answer<list_all_delays>},
    {Method::Get, "/api/v1/who-delays-whom", "F event culprit by limit", reading, Work::Heavy,
     answer<get_who_delays_whom>},
    {Method::Get, "/api/v1/events/{event}/runs", "F order limit after", reading, Work::Heavy,
     answer<list_runs>},
    {Method::Get, "/api/v1/events/{event}/runs/export", "F format", reading, Work::Heavy,
     answer<export_runs>},
    {Method::Get, "/api/v1/delays/export", "F event format", reading, Work::Heavy,
     answer<export_delays>},
    {Method::Get, "/api/v1/events/{event}/stages", "F stage", reading, Work::Heavy,
     answer<get_stage_stacks>},
    {Method::Get, "/api/v1/events/{event}/times", "F", reading, Work::Heavy,
     answer<get_time_shift>},
    {Method::Get, "/api/v1/events/{event}/causes", "F", reading, Work::Heavy, answer<get_causes>},
    {Method::Get, "/api/v1/runs/{id}", "", reading, Work::Light, answer<get_run>},
    {Method::Put, "/api/v1/runs/{id}/dirty", "", upload, Work::Light, answer<set_dirty>,
     small_body_bytes},
    {Method::Post, "/api/v1/compare", "", reading, Work::Heavy, answer<compare_listed_runs>,
     compare_body_bytes},
    {Method::Get, "/api/v1/events/{event}/compare", "a b", reading, Work::Heavy,
     answer<compare_sets>},
    {Method::Get, "/api/v1/events/{event}/compare/flame", "a b state", reading, Work::Heavy,
     answer<get_set_flame>},
    {Method::Get, "/api/v1/bundles", "F event limit after", reading, Work::Light,
     answer<list_bundles>},
    {Method::Head, "/api/v1/bundles/{digest}", "", upload_or_read, Work::Light, answer<has_bundle>},
    {Method::Get, "/api/v1/bundles/{digest}", "", reading, Work::Light, answer<get_bundle>, no_body,
     Handling::WholeMachine},
    {Method::Put, "/api/v1/bundles/{digest}", "", upload, Work::Light, nullptr, no_body,
     Handling::BundleUpload},
    {Method::Get, "/api/v1/bundles/{digest}/system", "", reading, Work::Heavy,
     answer<get_system_file>, no_body, Handling::WholeMachine},
    {Method::Get, "/api/v1/bundles/{digest}/trace", "", reading, Work::Heavy, answer<get_trace>,
     no_body, Handling::WholeMachine},
    {Method::Get, "/api/v1/bundles/{digest}/delays", "number order limit after", reading,
     Work::Heavy, list_delays_as_seen},
    {Method::Get, "/api/v1/bundles/{digest}/delays/{number}/profile", "state against", reading,
     Work::Heavy, answer<get_profile>},
    {Method::Get, "/api/v1/bundles/{digest}/delays/{number}/timeline", "", reading, Work::Heavy,
     answer<get_timeline>},
    {Method::Get, "/api/v1/bundles/{digest}/delays/{number}/machine", "from_ns to_ns columns",
     reading, Work::Heavy, answer<get_machine>, no_body, Handling::WholeMachine},
    {Method::Get, "/api/v1/bundles/{digest}/delays/{number}/export", "format state", reading,
     Work::Heavy, answer<export_delay>},
    {Method::Get, "/api/v1/objects", "", reading, Work::Light, answer<list_object_watches>, no_body,
     Handling::WholeMachine},
    {Method::Get, "/api/v1/objects/{watch}", "after", reading, Work::Light,
     answer<get_object_parts>, no_body, Handling::WholeMachine},
    {Method::Get, "/api/v1/objects/{watch}/summary", "", reading, Work::Heavy,
     answer<get_object_watch>, no_body, Handling::WholeMachine},
    {Method::Get, "/api/v1/formats", "", reading, Work::Light, answer<list_formats>},
    {Method::Head, "/api/v1/batches/{digest}", "", upload_or_read, Work::Light, answer<has_batch>},
    {Method::Put, "/api/v1/batches/{digest}", "", upload, Work::Light, nullptr, no_body,
     Handling::BatchUpload},
    {Method::Get, "/api/v1/accounts", "", administer, Work::Light, answer<list_accounts>},
    {Method::Post, "/api/v1/accounts", "", administer, Work::SignIn, add_account_to_server,
     small_body_bytes},
    {Method::Delete, "/api/v1/accounts/{account}", "", administer, Work::Light,
     answer<delete_account>},
    {Method::Get, "/api/v1/tokens", "", administer, Work::Light, answer<list_tokens>},
    {Method::Post, "/api/v1/tokens", "", administer, Work::Light, answer<add_token>,
     small_body_bytes},
    {Method::Delete, "/api/v1/tokens/{id}", "", administer, Work::Light, answer<delete_token>},
    {Method::Get, "/api/v1/audit", "only limit after", administer, Work::Light, answer<list_audit>},
    {Method::Get, "/api/v1/audit/export", "only format", administer, Work::Light,
     answer<export_audit>},
    {Method::Get, "/api/v1/teams", "", administer, Work::Light, answer<list_teams>},
    {Method::Put, "/api/v1/teams/{team}", "", administer, Work::Light, answer<set_team>,
     small_body_bytes},
    {Method::Delete, "/api/v1/teams/{team}", "", administer, Work::Light, answer<delete_team>},
    {Method::Put, "/api/v1/teams/{team}/accounts/{account}", "", administer, Work::Light,
     answer<join_team>},
    {Method::Delete, "/api/v1/teams/{team}/accounts/{account}", "", administer, Work::Light,
     answer<leave_team>},
    {Method::Get, "/api/v1/rules", "", administer, Work::Light, answer<list_rules>},
    {Method::Post, "/api/v1/rules", "", administer, Work::Light, answer<add_rule>,
     small_body_bytes},
    {Method::Get, "/api/v1/rules/{id}", "", administer, Work::Light, answer<get_rule>},
    {Method::Put, "/api/v1/rules/{id}", "", administer, Work::Light, answer<change_rule>,
     small_body_bytes},
    {Method::Delete, "/api/v1/rules/{id}", "", administer, Work::Light, answer<delete_rule>},
    {Method::Post, "/api/v1/rules/{id}/test", "", administer, Work::Light, answer<test_rule>},
};
// clang-format on

constexpr RouteRow page_files_row{Method::Get, "", "", anybody, Work::Light, find_page};

}  // namespace

std::span<const RouteRow> route_rows() { return all_rows; }

const RouteRow& page_row() { return page_files_row; }

}  // namespace lagtrap::server
