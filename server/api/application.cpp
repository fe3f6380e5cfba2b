#include "server/api/application.hpp"

#include <fmt/format.h>

#include "core/clock.hpp"
#include "core/duration.hpp"
#include "server/api/pages.hpp"
#include "trace/bundle.hpp"

namespace lagtrap::server {
namespace {

Refusal broken(const Error&) { return {500, "the server could not read its store"}; }

bool names_this_machine(std::string_view host) {
    if (host.starts_with("[::1]")) return host.size() == 5 || host[5] == ':';
    const std::string_view name = host.substr(0, host.find(':'));
    const bool digits = name.find_first_not_of("0123456789.") == std::string_view::npos;
    return name == "localhost" || (digits && name.starts_with("127."));
}

std::string attachment_name(const BundleRow& row) {
    const std::string session = row.facts.session_id.empty() ? "bundle" : row.facts.session_id;
    std::string name;
    for (const char letter : session)
        if (std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-') name += letter;
    return name + "-" + row.digest.substr(0, 16) + ".lagtrap.tar.zst";
}

}  // namespace

Reply reply_of(const Refusal& refusal) {
    Reply reply;
    reply.status = refusal.status;
    reply.body = error_json(refusal.message);
    if (refusal.status == 401)
        reply.headers.emplace_back("WWW-Authenticate", "Basic realm=\"lagtrap: any name, the token as password\"");
    if (refusal.status == 507) reply.headers.emplace_back("Retry-After", "300");
    return reply;
}

Application::Application(Ingest& ingest, Store& store, std::optional<TokenTable> tokens, Log log)
    : ingest_(ingest), store_(store), needs_tokens_(tokens.has_value()), log_(std::move(log)) {
    if (tokens) tokens_ = std::make_shared<const TokenTable>(std::move(*tokens));
}

void Application::replace_tokens(TokenTable tokens) {
    auto fresh = std::make_shared<const TokenTable>(std::move(tokens));
    const std::lock_guard lock(tokens_mutex_);
    tokens_ = std::move(fresh);
}

std::variant<std::string, Refusal> Application::authorise(const Route& route, std::string_view authorization,
                                                          std::string_view host) const {
    if (!needs_tokens_) {
        if (names_this_machine(host)) return std::string();
        return Refusal{421, "this server has no tokens and answers to localhost alone"};
    }
    const auto need = need_of(route.kind);
    if (!need) return std::string();
    std::shared_ptr<const TokenTable> tokens;
    {
        const std::lock_guard lock(tokens_mutex_);
        tokens = tokens_;
    }
    const std::string token = token_of_header(authorization);
    auto check = tokens->check(token, need->scope);
    if (check.answer == TokenTable::Answer::WrongScope && need->or_else) check = tokens->check(token, *need->or_else);
    if (check.answer == TokenTable::Answer::Allowed) return check.name;
    if (check.answer == TokenTable::Answer::WrongScope)
        return Refusal{403, fmt::format("the token may not do this; it needs scope {}", scope_name(need->scope))};
    return Refusal{401, token.empty() ? "a token is needed" : "the token is not known"};
}

Reply Application::answer(const Route& route) {
    switch (route.kind) {
        case RouteKind::Page: return answer_list(route, true);
        case RouteKind::List: return answer_list(route, false);
        case RouteKind::Style: return {200, "text/css", std::string(page_style()), {}, {}, {}};
        case RouteKind::Health:
        case RouteKind::Metrics: {
            const auto totals = store_.totals();
            if (!totals) return reply_of({503, "the store does not answer"});
            if (route.kind == RouteKind::Health) return {200, "text/plain", "ok\n", {}, {}, {}};
            return {200, "text/plain; version=0.0.4", format_metrics(counters_, *totals), {}, {}, {}};
        }
        case RouteKind::FindBundle:
        case RouteKind::GetBundle: return answer_bundle(route);
        case RouteKind::SystemFile: return answer_system_file(route);
        case RouteKind::UploadBundle: break;
    }
    return reply_of({500, "not answered here"});
}

Reply Application::answer_list(const Route& route, bool as_page) {
    const auto rows = store_.list(route.limit, route.before);
    if (!rows) return reply_of(broken(rows.error()));
    if (!as_page) return {200, "application/json", list_json(*rows, route.limit), {}, {}, {}};
    const auto totals = store_.totals();
    if (!totals) return reply_of(broken(totals.error()));
    return {200,
            "text/html; charset=utf-8",
            list_page(*rows, route.limit, *totals),
            {{"Content-Security-Policy", std::string(page_policy)}},
            {},
            {}};
}

Reply Application::answer_bundle(const Route& route) {
    const auto row = store_.find(route.digest);
    if (!row) return reply_of(broken(row.error()));
    if (!*row) return reply_of({404, "no such bundle"});
    Reply reply;
    reply.content_type = "application/zstd";
    reply.headers.emplace_back("X-Lagtrap-Digest", route.digest);
    reply.headers.emplace_back("Content-Disposition", "attachment; filename=\"" + attachment_name(**row) + "\"");
    if (route.kind == RouteKind::FindBundle) {
        reply.announced_bytes = (*row)->bytes;
    } else {
        reply.file = ingest_.blobs().path_of(route.digest);
    }
    return reply;
}

Reply Application::answer_system_file(const Route& route) {
    const auto row = store_.find(route.digest);
    if (!row) return reply_of(broken(row.error()));
    if (!*row) return reply_of({404, "no such bundle"});
    if (!(*row)->bad_reason.empty()) return reply_of({422, "the bundle can not be read: " + (*row)->bad_reason});
    auto xml = trace::read_bundle_system_file(ingest_.blobs().path_of(route.digest));
    if (!xml) return reply_of({500, "the bundle can not be read: " + xml.error().message});
    return {200,
            "application/xml",
            std::move(xml).value(),
            {{"Content-Security-Policy", "default-src 'none'; sandbox"}},
            {},
            {}};
}

Reply Application::finish_upload(IncomingBlob blob, const std::string& digest, const std::string& sender) {
    const std::uint64_t now_ns = ClockSnapshot::take().realtime_ns;
    const auto outcome = ingest_.finish(std::move(blob), digest, sender, now_ns);
    if (const auto* refusal = std::get_if<Refusal>(&outcome)) {
        ++counters_.uploads_refused;
        log_(fmt::format("refused {}: {}", digest.substr(0, 16), refusal->message));
        return reply_of(*refusal);
    }
    const auto& stored = std::get<Stored>(outcome);
    const bool fresh = stored.outcome == AddOutcome::New;
    ++(fresh ? counters_.uploads_new : counters_.uploads_already);
    log_(fmt::format("{} {} ({}){}{}", fresh ? "stored" : "had already", digest.substr(0, 16),
                     format_byte_size(stored.bytes), sender.empty() ? "" : " from " + sender,
                     stored.bad_reason.empty() ? "" : ", but it can not be read: " + stored.bad_reason));
    if (fresh) apply_retention();
    Reply reply;
    reply.status = fresh ? 201 : 200;
    reply.body = stored_json(stored);
    reply.headers.emplace_back("X-Lagtrap-Digest", digest);
    return reply;
}

void Application::apply_retention() {
    const auto removed = ingest_.apply_retention(ClockSnapshot::take().realtime_ns);
    if (!removed) {
        log_("retention: " + removed.error().message);
    } else if (removed->bundles > 0) {
        counters_.bundles_expired += removed->bundles;
        log_(fmt::format("retention removed {} bundles ({})", removed->bundles, format_byte_size(removed->bytes)));
    }
}

}  // namespace lagtrap::server
