#include "server/api/identification.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "core/clock.hpp"
#include "server/accounts/sender_network.hpp"
#include "server/api/sender_limits.hpp"
#include "server/ingest/ingest.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint64_t open_ask_interval_ns = 1'000'000'000;
constexpr Rate failed_token_rate{1, 60};

bool names_this_machine(std::string_view host) {
    if (host.starts_with("[::1]")) return host.size() == 5 || host[5] == ':';
    const std::string_view name = host.substr(0, host.find(':'));
    const bool digits = name.find_first_not_of("0123456789.") == std::string_view::npos;
    return name == "localhost" || (digits && name.starts_with("127."));
}

}  // namespace

Identification::Identification(Authenticator& authenticator, Audit& audit,
                               const SessionCookie& cookie, bool single_sign_on,
                               std::optional<TokenTable> tokens)
    : authenticator_(authenticator),
      audit_(audit),
      cookie_(cookie),
      single_sign_on_(single_sign_on),
      failed_tokens_(failed_token_rate) {
    if (tokens) tokens_ = std::make_shared<const TokenTable>(std::move(*tokens));
}

void Identification::replace_tokens(TokenTable tokens) {
    auto fresh = std::make_shared<const TokenTable>(std::move(tokens));
    const std::lock_guard lock(tokens_mutex_);
    tokens_ = std::move(fresh);
}

Result<bool> Identification::is_open() {
    if (single_sign_on_) return false;
    {
        const std::lock_guard lock(tokens_mutex_);
        if (tokens_) return false;
    }
    const std::lock_guard lock(open_mutex_);
    const std::uint64_t now_ns = monotonic_ns();
    if (open_asked_ns_ != 0 && now_ns - open_asked_ns_ < open_ask_interval_ns) return open_;
    TRY_ASSIGN(open_, authenticator_.knows_nobody());
    open_asked_ns_ = now_ns;
    return open_;
}

std::variant<Principal, Refusal> Identification::identify_token(const Request& request,
                                                                std::uint64_t now_ns) {
    const std::string text = token_of_header(request.authorization);
    std::shared_ptr<const TokenTable> table;
    {
        const std::lock_guard lock(tokens_mutex_);
        table = tokens_;
    }
    if (table)
        if (auto found = table->find(text)) return std::move(*found);
    auto found = authenticator_.of_token(text, now_ns);
    if (!found) return Ingest::refusal_of(found.error());
    if (*found) return std::move(**found);
    audit_.note_unknown(
        network_of_sender(request.sender), "refuse token",
        std::string(text.empty() ? "none" : "unknown or expired") + ", from " + request.sender);
    if (const auto wait =
            failed_tokens_.take(network_of_sender(request.sender), 1, RateLimit::Clock::now());
        wait.count() > 0)
        return too_many("too many requests with unknown tokens", wait);
    return Refusal{401, text.empty() ? "a token is needed" : "the token is unknown or has expired"};
}

std::variant<Principal, Refusal> Identification::identify(const Request& request,
                                                          std::uint64_t now_ns) {
    const auto open = is_open();
    if (!open) return Ingest::refusal_of(open.error());
    if (*open) {
        // DNS rebinding: a foreign page could reach this server through a name that it controls.
        if (!request.from_loopback || !names_this_machine(request.host))
            return Refusal{421,
                           "this server has no accounts and tokens and answers to localhost alone",
                           "make an account with: lagtrap-server user add NAME --role admin"};
        // A proxy on this machine forwards requests of anybody who reaches it.
        if (request.forwarded)
            return Refusal{421, "this server has no accounts and tokens and answers to no proxy",
                           "make an account with: lagtrap-server user add NAME --role admin"};
        Principal local;
        local.kind = Principal::Kind::Local;
        local.may_administer = true;
        return local;
    }
    if (!request.authorization.empty()) return identify_token(request, now_ns);
    const auto secret = find_cookie(request.cookie, cookie_.name(request.secure));
    if (secret.empty()) return Principal{};
    auto found = authenticator_.of_session(secret, now_ns);
    if (!found) return Ingest::refusal_of(found.error());
    return *found ? std::move(**found) : Principal{};
}

void Identification::ask_again() {
    const std::lock_guard lock(open_mutex_);
    open_asked_ns_ = 0;
}

}  // namespace lagtrap::server
