#include "server/api/account_routes.hpp"

#include <algorithm>

#include "core/clock.hpp"
#include "core/digest.hpp"
#include "core/text.hpp"
#include "server/accounts/names.hpp"
#include "server/accounts/passwords.hpp"
#include "server/accounts/secrets.hpp"
#include "server/accounts/sender_network.hpp"
#include "server/api/json_reply.hpp"
#include "server/api/list_file.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t name_limit_bytes = 64;
constexpr std::size_t host_limit_bytes = 256;
constexpr std::uint32_t audit_default = 100;
constexpr const char* refused_change = "refuse password change";
constexpr const char* audit_columns = "id,at,at_ns,who,action,object,detail\r\n";

Refusal https_alone() {
    return {403, "passwords are taken over HTTPS alone", "use the server's https address"};
}

std::string from(const Request& request) { return "from " + request.sender; }

// Whether the account has a session that was started from this sender.
bool has_session_from(const AccountStore& store, const std::string& account,
                      const std::string& sender) {
    const auto sessions = store.sessions(account);
    return sessions && std::ranges::any_of(*sessions, [&](const Session& session) {
               return network_of_sender(session.address) == sender;
           });
}

SignInLimits::Attempt take_attempt(const SignInParts& parts, const std::string& account,
                                   const std::string& sender) {
    return parts.limits.take(
        account, sender, [&] { return has_session_from(parts.store, account, sender); },
        SignInLimits::Clock::now());
}

// Does not record a name that no account has: people sometimes type their password there.
void note_refusal(const SignInParts& parts, const std::string& name, const Request& request) {
    const auto account = parts.store.find_account(name);
    const bool known = account && account->has_value();
    parts.audit.note({}, refused_sign_in, known ? name : "an unknown account",
                     "account and password do not fit, " + from(request));
}

std::optional<std::uint64_t> last_sign_in(const AccountStore& store, const std::string& account) {
    const auto sessions = store.sessions(account);
    std::optional<std::uint64_t> last;
    if (sessions)
        for (const Session& session : *sessions)
            last = std::max(last.value_or(0), session.created_realtime_ns);
    return last;
}

json::object account_json(const AccountStore& store, const Account& account) {
    return {{"account", account.name},
            {"role", role_name(account.role)},
            {"created_ns", json_digits(account.created_realtime_ns)},
            {"last_sign_in_ns", digits_or_null(last_sign_in(store, account.name))}};
}

json::object audit_json(const AuditEntry& entry) {
    return {{"id", json_digits(entry.number)},      {"at_ns", json_digits(entry.at_realtime_ns)},
            {"who", text_or_null(entry.who)},       {"action", entry.action},
            {"object", text_or_null(entry.object)}, {"detail", text_or_null(entry.detail)}};
}

void add_audit_line(std::string& line, const AuditEntry& entry) {
    Cells cells{line};
    cells.add(entry.number);
    cells.add(format_utc(entry.at_realtime_ns));
    cells.add(entry.at_realtime_ns);
    for (const std::string* text : {&entry.who, &entry.action, &entry.object, &entry.detail})
        cells.add(*text);
    line += "\r\n";
}

std::optional<PageKey> next_entry(const std::vector<AuditEntry>& entries, std::uint32_t limit) {
    if (entries.size() < limit) return std::nullopt;
    return PageKey{entries.back().at_realtime_ns, entries.back().number};
}

std::variant<AuditPart, Refusal> read_audit_part(const Route& route) {
    const auto only = route.parameter("only");
    if (!only) return AuditPart::All;
    if (*only == "sign-ins") return AuditPart::SignIns;
    if (*only == "refusals") return AuditPart::Refusals;
    return Refusal{400, "\"only\": expected sign-ins or refusals"};
}

}  // namespace

Reply get_session(const Principal& principal, const EdgeStore& edges) {
    const auto has_edges = edges.has_edges();
    json::array teams;
    for (const std::string& team : principal.teams) teams.emplace_back(team);
    return json_reply(json::object{
        {"account", principal.name},
        {"role", principal.role()},
        {"has_password", principal.has_password},
        {"teams", std::move(teams)},
        {"sees_everything", principal.sight == nullptr},
        {"who_delays_whom", has_edges && *has_edges},
        {"expires_ns", digits_or_null(principal.expires_ns > 0 ? std::optional(principal.expires_ns)
                                                               : std::nullopt)}});
}

Reply sign_in(const SignInParts& parts, const std::string& sender, const Request& request) {
    if (!request.secure && !request.from_loopback) return reply_of(https_alone());
    const auto body = read_object(request, {"account", "password"});
    if (const auto* wrong = std::get_if<Refusal>(&body)) return reply_of(*wrong);
    const auto& object = std::get<json::object>(body);
    const auto account = read_text(object, "account", name_limit_bytes);
    if (const auto* wrong = std::get_if<Refusal>(&account)) return reply_of(*wrong);
    const auto password = read_text(object, "password", password_longest_bytes);
    if (const auto* wrong = std::get_if<Refusal>(&password)) return reply_of(*wrong);
    const std::string& name = std::get<std::string>(account);
    const auto attempt = take_attempt(parts, name, sender);
    if (attempt.wait.count() > 0) {
        parts.audit.note_unknown(sender, refused_sign_in, "too many attempts, " + from(request));
        return reply_of({429, "too many attempts to sign in", "wait, and try again",
                         std::chrono::ceil<std::chrono::seconds>(attempt.wait)});
    }
    const std::uint64_t now_ns = ClockSnapshot::take().realtime_ns;
    const auto signed_in =
        parts.authenticator.sign_in(name, std::get<std::string>(password), request.sender, now_ns);
    if (!signed_in) return failure(signed_in.error());
    if (!*signed_in) {
        note_refusal(parts, name, request);
        return reply_of({401, "account and password do not fit"});
    }
    // The attempt was charged in advance, so that parallel guesses count too. The right password
    // gets a refund.
    parts.limits.succeeded(name, sender, attempt);
    parts.audit.note(name, "sign in", {}, from(request));
    Reply reply = empty_reply();
    const auto seconds =
        static_cast<std::int64_t>(((*signed_in)->expires_realtime_ns - now_ns) / 1'000'000'000ULL);
    reply.headers.emplace_back("Set-Cookie",
                               parts.cookie.text(request.secure, (*signed_in)->secret, seconds));
    return reply;
}

Reply sign_out(const SignInParts& parts, const Principal& principal, const Request& request) {
    if (const auto status = parts.authenticator.sign_out(principal); !status)
        return failure(status.error());
    if (principal.kind == Principal::Kind::Session)
        parts.audit.note(principal.name, "sign out", {}, from(request));
    Reply reply = empty_reply();
    reply.headers.emplace_back("Set-Cookie", parts.cookie.text(request.secure, "", 0));
    return reply;
}

Reply change_own_password(const SignInParts& parts, const std::string& sender,
                          const Principal& principal, const Request& request) {
    if (!request.secure && !request.from_loopback) return reply_of(https_alone());
    const auto body = read_object(request, {"password", "new_password"});
    if (const auto* wrong = std::get_if<Refusal>(&body)) return reply_of(*wrong);
    const auto& object = std::get<json::object>(body);
    const auto old = read_text(object, "password", password_longest_bytes);
    if (const auto* wrong = std::get_if<Refusal>(&old)) return reply_of(*wrong);
    const auto fresh = read_text(object, "new_password", password_longest_bytes);
    if (const auto* wrong = std::get_if<Refusal>(&fresh)) return reply_of(*wrong);
    if (const auto status = check_password(std::get<std::string>(fresh)); !status)
        return bad_request(status.error());
    if (std::get<std::string>(fresh) == std::get<std::string>(old))
        return reply_of({400, "the new password is the one in use", "choose another one"});
    const auto account = parts.store.find_account(principal.name);
    if (!account) return failure(account.error());
    if (*account && (*account)->password_hash.empty())
        return reply_of({403, "this account has no password here", "change it where you sign in"});
    const auto attempt = take_attempt(parts, principal.name, sender);
    if (attempt.wait.count() > 0) {
        parts.audit.note_unknown(sender, refused_change, "too many attempts, " + from(request));
        return reply_of({429, "too many attempts with a wrong password", "wait, and try again",
                         std::chrono::ceil<std::chrono::seconds>(attempt.wait)});
    }
    const auto changed = parts.authenticator.change_password(principal, std::get<std::string>(old),
                                                             std::get<std::string>(fresh));
    if (!changed) return failure(changed.error());
    if (!*changed) {
        parts.audit.note(principal.name, refused_change, {},
                         "the current password was wrong, " + from(request));
        return reply_of({403, "that is not the current password",
                         "enter the password with which you signed in"});
    }
    parts.limits.succeeded(principal.name, sender, attempt);
    parts.audit.note(principal.name, "change password", principal.name,
                     "its other sessions are over, " + from(request));
    return empty_reply();
}

Reply list_accounts(const AccountStore& store) {
    const auto accounts = store.list();
    if (!accounts) return failure(accounts.error());
    json::array rows;
    for (const Account& account : *accounts) rows.push_back(account_json(store, account));
    return json_reply(json::object{{"accounts", std::move(rows)}});
}

Reply add_account(const AccountStore& store, Audit& audit, const Principal& principal,
                  const Request& request) {
    const auto body = read_object(request, {"account", "password", "role"});
    if (const auto* wrong = std::get_if<Refusal>(&body)) return reply_of(*wrong);
    const auto& object = std::get<json::object>(body);
    std::string texts[3];
    const char* names[] = {"account", "password", "role"};
    for (std::size_t i = 0; i < 3; ++i) {
        auto text = read_text(object, names[i], i == 1 ? password_longest_bytes : name_limit_bytes);
        if (const auto* wrong = std::get_if<Refusal>(&text)) return reply_of(*wrong);
        texts[i] = std::get<std::string>(std::move(text));
    }
    for (const Status& status : {check_account_name(texts[0]), check_password(texts[1])})
        if (!status) return bad_request(status.error());
    const auto role = parse_role(texts[2]);
    if (!role) return bad_request(role.error());
    if (principal.kind == Principal::Kind::Local && *role != Role::Admin)
        return reply_of({409, "the first account has to be an admin's",
                         "from then on everybody signs in, and only an admin can make accounts"});
    const auto hash = hash_password(texts[1]);
    if (!hash) return failure(hash.error());
    const Account account{texts[0], *role, *hash, ClockSnapshot::take().realtime_ns, false};
    const auto added = store.add_account(account);
    if (!added) return failure(added.error());
    if (*added == AddOutcome::Already)
        return reply_of({409, "there is an account of that name already"});
    audit.note(who_of(principal), "add account", account.name,
               std::string(role_name(account.role)) + ", " + from(request));
    return json_reply(account_json(store, account), 201);
}

Reply delete_account(const AccountStore& store, Audit& audit, const Principal& principal,
                     const Route& route, const Request& request) {
    const std::string& name = route.arguments[0];
    const auto accounts = store.list();
    if (!accounts) return failure(accounts.error());
    const auto found = std::find_if(accounts->begin(), accounts->end(),
                                    [&](const Account& a) { return a.name == name; });
    if (found == accounts->end()) return reply_of({404, "there is no such account"});
    const auto admins = std::count_if(accounts->begin(), accounts->end(), [](const Account& a) {
        return a.role == Role::Admin && !a.disabled;
    });
    if (found->role == Role::Admin && !found->disabled && admins == 1)
        return reply_of({409, "it is the last admin", "make another one first"});
    if (const auto removed = store.remove_account(name); !removed) return failure(removed.error());
    audit.note(who_of(principal), "delete account", name, from(request));
    return empty_reply();
}

Reply list_tokens(const TokenStore& store) {
    auto tokens = store.list();
    if (!tokens) return failure(tokens.error());
    std::stable_sort(tokens->begin(), tokens->end(),
                     [](const Token& a, const Token& b) { return a.name < b.name; });
    json::array rows;
    for (const Token& token : *tokens)
        rows.push_back({{"id", token.id},
                        {"name", token.name},
                        {"scope", token_scope_name(token.scopes)},
                        {"host", text_or_null(token.host)},
                        {"group", text_or_null(token.group)},
                        {"created_ns", json_digits(token.created_realtime_ns)},
                        {"expires_ns", digits_or_null(token.expires_realtime_ns)},
                        {"last_used_ns", digits_or_null(token.used_realtime_ns)}});
    return json_reply(json::object{{"tokens", std::move(rows)}});
}

Reply add_token(const TokenStore& store, Audit& audit, const Principal& principal,
                const Request& request) {
    // With the first token, everybody must authenticate. Without an account, nobody could.
    if (principal.kind == Principal::Kind::Local)
        return reply_of({409, "nobody could sign in any more once there is a token",
                         "make an account of role admin first"});
    const auto body = read_object(request, {"name", "scope", "(host)", "(expires_ns)"});
    if (const auto* wrong = std::get_if<Refusal>(&body)) return reply_of(*wrong);
    const auto& object = std::get<json::object>(body);
    const auto name = read_text(object, "name", name_limit_bytes);
    if (const auto* wrong = std::get_if<Refusal>(&name)) return reply_of(*wrong);
    const auto scope = read_text(object, "scope", name_limit_bytes);
    if (const auto* wrong = std::get_if<Refusal>(&scope)) return reply_of(*wrong);
    Token token;
    token.name = std::get<std::string>(name);
    if (const auto status = check_token_name(token.name); !status)
        return bad_request(status.error());
    const auto scopes = parse_token_scope(std::get<std::string>(scope));
    if (!scopes) return bad_request(scopes.error());
    token.scopes = *scopes;
    token.created_realtime_ns = ClockSnapshot::take().realtime_ns;
    token.made_by = principal.name;
    if (const json::value* host = object.if_contains("host"); host != nullptr && !host->is_null()) {
        const auto text = read_text(object, "host", host_limit_bytes);
        if (const auto* wrong = std::get_if<Refusal>(&text)) return reply_of(*wrong);
        token.host = printable(std::get<std::string>(text));
    }
    if (const json::value* expires = object.if_contains("expires_ns");
        expires != nullptr && !expires->is_null()) {
        const auto text = read_text(object, "expires_ns", 20);
        if (const auto* wrong = std::get_if<Refusal>(&text)) return reply_of(*wrong);
        token.expires_realtime_ns = read_digits(std::get<std::string>(text));
        if (!token.expires_realtime_ns || *token.expires_realtime_ns <= token.created_realtime_ns)
            return reply_of(
                {400, "\"expires_ns\": expected a time to come, nanoseconds since 1970 as digits"});
    }
    const auto tokens = store.list();
    if (!tokens) return failure(tokens.error());
    for (const Token& other : *tokens)
        if (other.name == token.name)
            return reply_of({409, "there is a token of that name already"});
    const MachineToken fresh = MachineToken::make();
    token.id = fresh.id;
    token.secret_sha256 = sha256_of(fresh.secret);
    if (const auto added = store.add_token(token); !added) return failure(added.error());
    audit.note(who_of(principal), "add token", token.name,
               std::string(token_scope_name(token.scopes)) + ", " + from(request));
    return json_reply(json::object{{"id", fresh.id}, {"token", fresh.text()}}, 201);
}

Reply delete_token(const TokenStore& store, Audit& audit, const Principal& principal,
                   const Route& route, const Request& request) {
    const std::string& id = route.arguments[0];
    const auto token = store.find_token(id);
    if (!token) return failure(token.error());
    const auto removed = store.remove_token(id);
    if (!removed) return failure(removed.error());
    if (!*removed) return reply_of({404, "there is no such token"});
    audit.note(who_of(principal), "revoke token", *token ? (*token)->name : id, from(request));
    return empty_reply();
}

Reply list_audit(const AuditStore& store, const Route& route) {
    const auto page = read_page(route, audit_default);
    if (const auto* wrong = std::get_if<Refusal>(&page)) return reply_of(*wrong);
    const auto part = read_audit_part(route);
    if (const auto* wrong = std::get_if<Refusal>(&part)) return reply_of(*wrong);
    const auto& [limit, after] = std::get<PageQuestion>(page);
    const auto entries = store.list(limit, after ? std::optional(after->id) : std::nullopt,
                                    std::get<AuditPart>(part));
    if (!entries) return failure(entries.error());
    json::array rows;
    for (const AuditEntry& entry : *entries) rows.push_back(audit_json(entry));
    return json_reply(
        json::object{{"entries", std::move(rows)}, {"next", next_of(next_entry(*entries, limit))}});
}

Reply export_audit(const AuditStore& store, const Route& route) {
    const auto format = read_list_format(route);
    if (const auto* wrong = std::get_if<Refusal>(&format)) return reply_of(*wrong);
    const auto part = read_audit_part(route);
    if (const auto* wrong = std::get_if<Refusal>(&part)) return reply_of(*wrong);
    const bool csv = std::get<ListFormat>(format) == ListFormat::Csv;
    auto next = [store, only = std::get<AuditPart>(part), csv](
                    std::optional<PageKey> after,
                    std::string& text) -> Result<std::optional<PageKey>> {
        TRY_ASSIGN(const auto entries,
                   store.list(page_limit, after ? std::optional(after->id) : std::nullopt, only));
        for (const AuditEntry& entry : entries) {
            if (csv) {
                add_audit_line(text, entry);
            } else {
                text += json::serialize(audit_json(entry)) + "\n";
            }
        }
        return next_entry(entries, page_limit);
    };
    return list_file(std::get<ListFormat>(format), "audit", audit_columns, std::move(next));
}

}  // namespace lagtrap::server
