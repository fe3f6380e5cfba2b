#include "server/accounts/authenticator.hpp"

#include <algorithm>

#include "core/digest.hpp"
#include "server/accounts/names.hpp"
#include "server/accounts/passwords.hpp"
#include "server/accounts/secrets.hpp"

namespace lagtrap::server {
namespace {

// Minimum time between two updates of "last used", so that not every request writes to the store.
constexpr std::uint64_t touch_interval_ns = 60ULL * 1'000'000'000ULL;

constexpr std::uint64_t nanoseconds(std::chrono::nanoseconds duration) {
    return static_cast<std::uint64_t>(duration.count());
}

void give_rights(Role role, Principal& principal) {
    principal.may_administer = role == Role::Admin;
    principal.may_upload = role != Role::Reader;
    principal.may_read = true;
}

}  // namespace

Result<std::optional<Principal>> Authenticator::of_token(std::string_view text,
                                                         std::uint64_t now_ns) {
    const auto parsed = MachineToken::parse(text);
    if (!parsed) return std::optional<Principal>();
    TRY_ASSIGN(const auto token, tokens_.find_token(parsed->id));
    if (!token || !equal_secrets(token->secret_sha256, sha256_of(parsed->secret)))
        return std::optional<Principal>();
    if (token->expires_realtime_ns && *token->expires_realtime_ns <= now_ns)
        return std::optional<Principal>();
    if (now_ns > token->used_realtime_ns.value_or(0) + touch_interval_ns)
        TRY(tokens_.touch_token(token->id, now_ns));
    Principal principal;
    principal.kind = Principal::Kind::Token;
    principal.name = token->name;
    principal.may_administer = (token->scopes & ScopeAdmin) != 0;
    principal.may_upload = (token->scopes & ScopeUpload) != 0;
    principal.may_read = (token->scopes & ScopeRead) != 0;
    principal.host = token->host;
    return std::optional(std::move(principal));
}

Result<std::optional<Principal>> Authenticator::of_session(std::string_view secret,
                                                           std::uint64_t now_ns) {
    if (secret.empty()) return std::optional<Principal>();
    const std::string digest = sha256_of(secret);
    TRY_ASSIGN(const auto session, accounts_.find_session(digest));
    if (!session) return std::optional<Principal>();
    const bool unused = now_ns > session->used_realtime_ns + nanoseconds(session_idle_limit);
    if (unused || now_ns >= session->expires_realtime_ns) {
        TRY(accounts_.remove_session(digest));
        return std::optional<Principal>();
    }
    TRY_ASSIGN(const auto account, accounts_.find_account(session->account));
    if (!account || account->disabled) return std::optional<Principal>();
    if (now_ns > session->used_realtime_ns + touch_interval_ns)
        TRY(accounts_.touch_session(digest, now_ns));
    Principal principal;
    principal.kind = Principal::Kind::Session;
    principal.name = account->name;
    give_rights(account->role, principal);
    principal.session_digest = digest;
    principal.has_password = !account->password_hash.empty();
    principal.expires_ns = session->expires_realtime_ns;
    if (account->role != Role::Admin) TRY(limit_to_teams(principal));
    return std::optional(std::move(principal));
}

Status Authenticator::limit_to_teams(Principal& principal) {
    TRY_ASSIGN(const auto teams, teams_.teams_of(principal.name));
    if (teams.empty()) {
        TRY_ASSIGN(const bool any, teams_.has_teams());
        if (!any) return success();
    }
    auto sight = std::make_shared<Sight>();
    for (const Team& team : teams) {
        principal.teams.push_back(team.name);
        sight->events.insert(sight->events.end(), team.events.begin(), team.events.end());
        sight->units.insert(sight->units.end(), team.units.begin(), team.units.end());
    }
    principal.sight = std::move(sight);
    return success();
}

Result<std::optional<SignedIn>> Authenticator::sign_in(const std::string& name,
                                                       std::string_view password,
                                                       const std::string& address,
                                                       std::uint64_t now_ns) {
    if (name.empty() || password.size() > password_longest_bytes) return std::optional<SignedIn>();
    TRY_ASSIGN(auto account, accounts_.find_account(name));
    const bool usable = account && !account->disabled;
    const PasswordMatch match =
        match_password(usable ? account->password_hash : std::string(), password);
    if (match == PasswordMatch::No) return std::optional<SignedIn>();
    if (match == PasswordMatch::YesRehash) {
        if (auto hash = hash_password(password)) {
            account->password_hash = std::move(hash).value();
            TRY(accounts_.change_account(*account, {}));
        }
    }
    TRY_ASSIGN(SignedIn signed_in, open_session(name, address, now_ns));
    return std::optional(std::move(signed_in));
}

Result<SignedIn> Authenticator::open_session(const std::string& name, const std::string& address,
                                             std::uint64_t now_ns) {
    SignedIn signed_in{random_secret(), now_ns + nanoseconds(session_life)};
    Session session;
    session.token_sha256 = sha256_of(signed_in.secret);
    session.account = name;
    session.created_realtime_ns = now_ns;
    session.used_realtime_ns = now_ns;
    session.expires_realtime_ns = signed_in.expires_realtime_ns;
    session.address = address;
    TRY(accounts_.add_session(session));
    return signed_in;
}

// Reports only the teams whose membership changes here. The audit log already has changes made by
// hand.
Status Authenticator::follow_groups(const std::string& name, const std::vector<std::string>& groups,
                                    std::vector<AccountChange>& changes) {
    TRY_ASSIGN(const auto before, teams_.teams_of(name));
    TRY(teams_.set_teams_by_groups(name, groups));
    TRY_ASSIGN(const auto after, teams_.teams_of(name));
    const auto note_missing = [&](const auto& of, const auto& in, const char* action) {
        for (const Team& team : of)
            if (std::ranges::find(in, team.name, &Team::name) == in.end())
                changes.push_back({action, team.name, name + ", by groups"});
    };
    note_missing(before, after, "leave team");
    note_missing(after, before, "join team");
    return success();
}

Result<std::optional<SignedInByProvider>> Authenticator::sign_in_known(
    const std::string& name, const std::string& subject, Role role,
    const std::vector<std::string>& groups, const std::string& address, std::uint64_t now_ns) {
    SignedInByProvider signed_in;
    // An account without a password can sign in through the provider only.
    TRY_ASSIGN(const AddOutcome added,
               accounts_.add_account({name, role, {}, now_ns, false, subject}));
    if (added == AddOutcome::New)
        signed_in.changes.push_back({"add account", name, role_name(role)});
    TRY_ASSIGN(auto account, accounts_.find_account(name));
    if (!account || account->disabled || account->subject != subject)
        return std::optional<SignedInByProvider>();
    if (account->role != role) {
        signed_in.changes.push_back(
            {"change role", name,
             std::string(role_name(role)) + ", was " + role_name(account->role)});
        account->role = role;
        TRY(accounts_.change_account(*account, {}));
    }
    TRY(follow_groups(name, groups, signed_in.changes));
    TRY_ASSIGN(signed_in.session, open_session(name, address, now_ns));
    return std::optional(std::move(signed_in));
}

Result<bool> Authenticator::change_password(const Principal& principal, std::string_view old,
                                            std::string_view fresh) {
    TRY_ASSIGN(auto account, accounts_.find_account(principal.name));
    if (!account || match_password(account->password_hash, old) == PasswordMatch::No) return false;
    TRY_ASSIGN(account->password_hash, hash_password(fresh));
    return accounts_.change_account(*account, principal.session_digest);
}

Status Authenticator::sign_out(const Principal& principal) {
    if (principal.session_digest.empty()) return success();
    return accounts_.remove_session(principal.session_digest);
}

Result<bool> Authenticator::knows_nobody() {
    TRY_ASSIGN(const auto accounts, accounts_.list());
    if (!accounts.empty()) return false;
    TRY_ASSIGN(const auto tokens, tokens_.list());
    return tokens.empty();
}

std::string_view find_cookie(std::string_view header, std::string_view name) {
    while (!header.empty()) {
        std::string_view pair = header.substr(0, header.find(';'));
        header.remove_prefix(std::min(pair.size() + 1, header.size()));
        while (pair.starts_with(' ')) pair.remove_prefix(1);
        if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=')
            return pair.substr(name.size() + 1);
    }
    return {};
}

}  // namespace lagtrap::server
