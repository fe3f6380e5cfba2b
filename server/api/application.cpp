#include "server/api/application.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/clock.hpp"
#include "core/duration.hpp"
#include "server/accounts/same_origin.hpp"
#include "server/accounts/sender_network.hpp"
#include "server/api/account_routes.hpp"
#include "server/api/cause_routes.hpp"
#include "server/api/compression.hpp"
#include "server/api/json_reply.hpp"
#include "server/api/page_files.hpp"
#include "server/api/route_call.hpp"
#include "server/api/upload.hpp"

namespace lagtrap::server {
namespace {

// Downloads of worker output, up to 2 GiB each: per sender, and for all senders. The total is lower
// than the number of threads that read them.
constexpr std::uint32_t downloads_of_sender = 2;
constexpr std::uint32_t downloads_at_once = 6;
constexpr std::chrono::seconds health_timeout{2};

bool changes_something(const Request& request) {
    return request.method != Method::Get && request.method != Method::Head;
}

// Redirects people who type only the host, or omit the last slash.
Plan plan_to_base(const BasePath& base) {
    Plan plan;
    plan.answer = [address = base.text() + "/"](const Request&) {
        Reply reply;
        reply.status = 308;
        reply.headers.emplace_back("Location", address);
        return reply;
    };
    return plan;
}

// The key of a client in rate limits.
std::string sender_key(const Principal& principal, const Request& request) {
    return principal.name.empty() ? "address " + network_of_sender(request.sender)
                                  : "name " + principal.name;
}

}  // namespace

Application::Application(const Parts& parts, const SenderLimits& limits, BasePath base,
                         std::optional<TokenTable> tokens)
    : parts_(parts),
      base_(std::move(base)),
      pages_(base_, parts.trace_viewer),
      audit_(parts.store.audit(), parts.log),
      sign_ins_(parts_, base_, audit_),
      identification_(sign_ins_.authenticator(), audit_, sign_ins_.cookie(),
                      parts.provider != nullptr, std::move(tokens)),
      requests_(limits.requests),
      uploads_(limits, parts.store.quotas(), audit_, counters_),
      download_places_(downloads_of_sender, downloads_at_once),
      health_([this] { return static_cast<bool>(parts_.store.jobs().job_counts()); },
              health_timeout) {}

std::optional<Refusal> Application::check_rights(const Route& route,
                                                 const Principal& principal) const {
    const auto& need = route.row->need;
    if (!need) return std::nullopt;
    if (principal.kind == Principal::Kind::Anybody)
        return Refusal{401, "a token or a session is needed",
                       "sign in, or send \"Authorization: Bearer TOKEN\""};
    if (principal.may(need->right) || principal.may(need->or_else)) return std::nullopt;
    if (principal.kind == Principal::Kind::Token)
        return Refusal{403, fmt::format("the token may not do this; it needs scope {}",
                                        right_name(need->right))};
    const char* role = need->right == Right::Read     ? "reader"
                       : need->right == Right::Upload ? "uploader"
                                                      : "admin";
    return Refusal{403, fmt::format("the account may not do this; it needs role {}", role)};
}

std::optional<Refusal> Application::check_origin(const Request& request,
                                                 const Principal& principal) const {
    if (!changes_something(request) || principal.kind == Principal::Kind::Token)
        return std::nullopt;
    const NoOrigin without =
        principal.kind == Principal::Kind::Session ? NoOrigin::Refuse : NoOrigin::Allow;
    if (is_same_origin({request.fetch_site, request.origin, request.host}, without))
        return std::nullopt;
    return Refusal{403, "the request does not come from this server's own pages",
                   "programs use a token, not the cookie of a session"};
}

std::variant<Plan, Refusal> Application::admit(const Request& request) {
    const auto target = base_.inner(request.target);
    if (!target && base_.is_short_of(request.target)) return plan_to_base(base_);
    if (!target)
        return Refusal{404, "no such address",
                       "the addresses of this server begin with " + base_.text() + "/"};
    auto found = find_route(request.method, *target);
    if (const auto* refusal = std::get_if<Refusal>(&found)) return *refusal;
    auto& route = std::get<Route>(found);
    const std::uint64_t now_ns = ClockSnapshot::take().realtime_ns;
    Principal principal;
    // Health checks cannot sign in, and must report on the store, not on rate limits.
    if (route.row->work != Work::Health) {
        auto identified = identification_.identify(request, now_ns);
        if (const auto* refusal = std::get_if<Refusal>(&identified)) {
            // With invalid credentials one can still load the page and sign in.
            if (refusal->status != 401 || route.row->need) return *refusal;
        } else {
            principal = std::get<Principal>(std::move(identified));
        }
        if (const auto wait =
                requests_.take(sender_key(principal, request), 1, RateLimit::Clock::now());
            wait.count() > 0)
            return too_many("too many requests", wait);
    }
    if (auto refusal = check_rights(route, principal)) return *refusal;
    if (auto refusal = check_origin(request, principal)) return *refusal;
    const Handling handling = route.row->handling;
    if (handling == Handling::BundleUpload || handling == Handling::BatchUpload) {
        auto plan = plan_upload(request, route, principal, now_ns);
        if (std::holds_alternative<Refusal>(plan)) ++counters_.uploads_refused;
        return plan;
    }
    if (route.row->body_limit_bytes > 0 && !request.content_type.starts_with("application/json"))
        return Refusal{400, "the body must be JSON (Content-Type: application/json)"};
    if (handling == Handling::SignInLine)
        return plan_with_place(request, std::move(route), std::move(principal));
    return plan_answer(std::move(route), std::move(principal));
}

Work Application::admission_work(const Request& request) const {
    const auto found = find_route(request.method, base_.inner(request.target).value_or("/"));
    const auto* route = std::get_if<Route>(&found);
    return route != nullptr && route->row->work == Work::Health ? Work::Health : Work::Light;
}

// Limits each sender before the queue of the password-hashing threads, so that one cannot fill it.
std::variant<Plan, Refusal> Application::plan_with_place(const Request& request, Route route,
                                                         Principal principal) {
    auto taken = sign_ins_.take_place(request.sender);
    if (const auto* refusal = std::get_if<Refusal>(&taken)) return *refusal;
    auto& place = std::get<std::shared_ptr<void>>(taken);
    Plan plan = plan_answer(std::move(route), std::move(principal));
    plan.answer = [answer = std::move(plan.answer),
                   place = std::move(place)](const Request& asked) { return answer(asked); };
    return plan;
}

// The first account ends open access from this machine. It takes effect at once, so that its
// creator is asked to sign in.
Reply Application::add_first_or_further_account(const Principal& principal,
                                                const Request& request) {
    Reply reply = add_account(parts_.store.accounts(), audit_, principal, request);
    identification_.ask_again();
    return reply;
}

Plan Application::plan_answer(Route route, Principal principal) {
    Plan plan;
    plan.work = route.row->work;
    plan.body_limit_bytes = route.row->body_limit_bytes;
    plan.answer = [this, route = std::move(route),
                   principal = std::move(principal)](const Request& request) {
        Reply reply = answer(route, principal, request);
        if (request.method != Method::Head)
            compress_reply(reply, choose_encoding(request.accept_encoding));
        return reply;
    };
    return plan;
}

std::variant<Plan, Refusal> Application::plan_upload(const Request& request, const Route& route,
                                                     const Principal& principal,
                                                     std::uint64_t now_ns) {
    const bool batch = route.row->handling == Handling::BatchUpload;
    if (request.chunked || !request.content_length)
        return Refusal{411, "an upload needs a Content-Length, and is not chunked"};
    if (!request.content_type.empty() && request.content_type != "application/zstd" &&
        request.content_type != "application/octet-stream")
        return Refusal{415, "an upload has the type application/zstd"};
    if (!request.content_encoding.empty()) return Refusal{415, "an upload has no Content-Encoding"};
    const std::uint64_t bytes = *request.content_length;
    if (auto refusal = batch ? parts_.ingest.check_batch(bytes) : parts_.ingest.check_bundle(bytes))
        return *refusal;
    if (auto wrong = check_content_digest(request.content_digest, route.arguments[0]))
        return *wrong;
    const std::string key = sender_key(principal, request);
    auto taken = uploads_.take(key, who_of(principal), bytes, now_ns);
    if (const auto* refusal = std::get_if<Refusal>(&taken)) return *refusal;
    auto& share = std::get<UploadShare>(taken);
    UploadContext context{*this,
                          parts_,
                          std::move(share.place),
                          std::move(share.quota),
                          Sender{principal.name, principal.host},
                          route.arguments[0]};
    auto upload = batch ? begin_batch_upload(std::move(context), bytes)
                        : begin_bundle_upload(std::move(context));
    if (!upload) return Ingest::refusal_of(upload.error());
    Plan plan;
    plan.upload = std::move(upload).value();
    return plan;
}

Reply Application::metrics(const Evidence& evidence, const Sight* sight) {
    const auto totals = parts_.store.inventory().totals();
    if (!totals) return failure(totals.error());
    const auto size = parts_.store.upkeep().size();
    if (!size) return failure(size.error());
    const auto jobs = parts_.store.jobs().job_counts();
    if (!jobs) return failure(jobs.error());
    const auto causes = evidence.causes().cause_totals(cause_metrics_limit);
    if (!causes) return failure(causes.error());
    const auto messages = parts_.store.messages().message_counts();
    if (!messages) return failure(messages.error());
    const auto quota = uploads_.daily().use(ClockSnapshot::take().realtime_ns);
    if (!quota) return failure(quota.error());
    counters_.uploads_now = uploads_.running();
    counters_.audit_lost = audit_.lost();
    counters_.audit_left_out = audit_.left_out();
    Reply reply;
    reply.content_type = "text/plain; version=0.0.4";
    reply.body = format_metrics(counters_, *totals, *size, *jobs, parts_.jobs.figures()) +
                 quota_metrics(uploads_.daily().limit_bytes(), *quota) +
                 alert_metrics(parts_.alert_sender.figures(), *messages) +
                 parts_.ingest.event_counters().text(sight) + cause_metrics(*causes);
    return reply;
}

Reply Application::health() {
    if (health_.ask() == HealthCheck::Answer::Healthy) return {200, "text/plain", "ok\n"};
    return reply_of({503, "the store does not answer", {}, std::chrono::seconds(5)});
}

Reply Application::answer(const Route& route, const Principal& principal, const Request& request) {
    if (principal.sight && route.row->handling == Handling::WholeMachine)
        return reply_of(
            {403, "this holds more than the events of your teams, and those are what you see",
             "the page of a delay shows and exports what belongs to it, objects too; for the rest "
             "ask an administrator"});
    const std::string sender = network_of_sender(request.sender);
    const std::string limited_as = sender_key(principal, request);
    return route.row->answer({*this, parts_.store,
                              parts_.store.evidence(Visibility(principal.sight)),
                              parts_.ingest.blobs(), audit_, watch_summaries_, parts_.alert_sender,
                              route, principal, request, sender, limited_as, download_places_});
}

void Application::remove_old_bundles() {
    const auto removed = parts_.ingest.remove_bundles(ClockSnapshot::take().realtime_ns);
    if (!removed) {
        parts_.log("retention: " + removed.error().message);
    } else if (removed->bundles > 0) {
        counters_.bundles_expired += removed->bundles;
        audit_.note("retention", "remove bundles", std::to_string(removed->bundles),
                    format_byte_size(removed->bytes));
    }
}

void Application::remove_old_runs() {
    const auto removed = parts_.ingest.remove_runs(ClockSnapshot::take().realtime_ns);
    if (!removed) {
        parts_.log("retention: " + removed.error().message);
    } else if (*removed > 0) {
        counters_.runs_expired += *removed;
        audit_.note("retention", "remove runs", std::to_string(*removed), {});
    }
}

}  // namespace lagtrap::server
