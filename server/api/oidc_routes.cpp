#include "server/api/oidc_routes.hpp"

#include "core/clock.hpp"
#include "core/text.hpp"
#include "server/accounts/names.hpp"
#include "server/accounts/secrets.hpp"
#include "server/api/json_reply.hpp"

namespace lagtrap::server {
namespace {

constexpr std::int64_t pending_s = 600;
constexpr std::size_t page_limit_bytes = 1024;
constexpr std::size_t secret_letters = 43;
// Letters that are safe in a cookie and cannot name another host.
constexpr std::string_view page_letters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~/?=&%+:@!$'()*";

bool is_page(std::string_view to) {
    return to.starts_with('/') && !to.starts_with("//") && to.size() <= page_limit_bytes &&
           to.find_first_not_of(page_letters) == std::string_view::npos;
}

// The page to return to. Decoding the query removed its escapes; they are put back.
std::string page_of(const Route& route) {
    const auto to = route.parameter("to");
    return to && is_page(*to) ? std::string(*to) : "/";
}

Reply send_to(const std::string& address) {
    Reply reply;
    reply.status = 303;
    reply.headers.emplace_back("Location", address);
    reply.headers.emplace_back("Cache-Control", "no-store");
    return reply;
}

// `reason` is one of the words that the sign-in page knows.
Reply send_back(const OidcParts& parts, const Request& request, const char* reason,
                const std::string& detail) {
    parts.log("signing in by " + parts.provider->settings().title + ": " + printable(detail));
    Reply reply = send_to(parts.base.text() + "/?sign_in=" + reason);
    reply.headers.emplace_back("Set-Cookie", parts.pending.text(request.secure, "", 0));
    return reply;
}

Reply no_provider() {
    return reply_of({404, "this server has no provider to sign in by", "sign in with a password"});
}

struct Pending {
    std::string secret;
    std::string page;
};

Pending pending_of(const OidcParts& parts, const Request& request) {
    const std::string_view text = find_cookie(request.cookie, parts.pending.name(request.secure));
    if (text.size() <= secret_letters || text[secret_letters] != '.' ||
        !is_page(text.substr(secret_letters + 1)))
        return {};
    return {std::string(text.substr(0, secret_letters)),
            std::string(text.substr(secret_letters + 1))};
}

Reply open_session(const OidcParts& parts, const OidcPerson& person, const std::string& page,
                   const Request& request) {
    const SignInParts& sign_in = parts.sign_in;
    const auto refuse = [&](const char* reason, const std::string& detail) {
        sign_in.audit.note({}, refused_sign_in, person.name, detail + ", from " + request.sender);
        return send_back(parts, request, reason, printable(person.name) + ": " + detail);
    };
    if (!person.role) return refuse("no-group", "none of the groups has a role here");
    if (const auto status = check_account_name(person.name); !status)
        return refuse("bad-name", status.error().message);
    const std::uint64_t now_ns = ClockSnapshot::take().realtime_ns;
    const auto signed_in = sign_in.authenticator.sign_in_known(
        person.name, person.subject, *person.role, person.groups, request.sender, now_ns);
    if (!signed_in) return failure(signed_in.error());
    if (!*signed_in)
        return refuse("name-taken", "the account of that name is another person's, or disabled");
    const std::string& title = parts.provider->settings().title;
    for (const AccountChange& change : (*signed_in)->changes)
        sign_in.audit.note("provider " + title, change.action, change.object,
                           change.detail + ", from " + request.sender);
    sign_in.audit.note(person.name, "sign in", {}, "by " + title + ", from " + request.sender);
    const SignedIn& session = (*signed_in)->session;
    Reply reply = send_to(parts.base.text() + page);
    const auto seconds =
        static_cast<std::int64_t>((session.expires_realtime_ns - now_ns) / 1'000'000'000ULL);
    reply.headers.emplace_back("Set-Cookie",
                               sign_in.cookie.text(request.secure, session.secret, seconds));
    reply.headers.emplace_back("Set-Cookie", parts.pending.text(request.secure, "", 0));
    return reply;
}

}  // namespace

Reply get_sign_in_ways(const OidcProvider* provider) {
    return json_reply(json::object{
        {"provider", provider == nullptr ? json::value(nullptr)
                                         : json::value(printable(provider->settings().title))}});
}

Reply begin_oidc(const OidcParts& parts, const Route& route, const Request& request) {
    if (parts.provider == nullptr) return no_provider();
    const std::string secret = random_secret();
    const auto address = parts.provider->sign_in_address(secret, parts.redirect_uri);
    if (!address) return send_back(parts, request, "no-answer", address.error().message);
    Reply reply = send_to(*address);
    reply.headers.emplace_back(
        "Set-Cookie", parts.pending.text(request.secure, secret + "." + page_of(route), pending_s));
    return reply;
}

Reply finish_oidc(const OidcParts& parts, const Route& route, const Request& request) {
    if (parts.provider == nullptr) return no_provider();
    const Pending pending = pending_of(parts, request);
    const auto state = route.parameter("state");
    if (pending.secret.empty() || !state ||
        !equal_secrets(*state, OidcProvider::state_of(pending.secret)))
        return send_back(parts, request, "expired",
                         "it was begun by another browser, or more than ten minutes ago");
    // RFC 9207: rejects an answer of another provider.
    if (const auto issuer = route.parameter("iss");
        issuer && *issuer != parts.provider->settings().issuer)
        return send_back(parts, request, "refused", "the answer is by " + std::string(*issuer));
    if (const auto error = route.parameter("error"))
        return send_back(parts, request, "refused",
                         std::string(*error) + " " +
                             std::string(route.parameter("error_description").value_or("")));
    const auto code = route.parameter("code");
    if (!code) return send_back(parts, request, "refused", "the answer has no code");
    const auto person = parts.provider->person_of(
        std::string(*code), pending.secret, parts.redirect_uri, ClockSnapshot::take().realtime_ns);
    if (person) return open_session(parts, *person, pending.page, request);
    const bool denied = person.error().kind == ErrorKind::Denied;
    if (denied)
        parts.sign_in.audit.note({}, refused_sign_in, {},
                                 person.error().message + ", from " + request.sender);
    return send_back(parts, request, denied ? "refused" : "no-answer", person.error().message);
}

}  // namespace lagtrap::server
