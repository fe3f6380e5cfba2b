#include "server/admin_commands.hpp"

#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include <fmt/format.h>

#include "core/clock.hpp"
#include "core/digest.hpp"
#include "core/duration.hpp"
#include "core/text.hpp"
#include "server/accounts/names.hpp"
#include "server/accounts/passwords.hpp"
#include "server/accounts/secrets.hpp"
#include "server/accounts/team_rules.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t whole_build_id_digits = 16;

// Turns terminal echo off while it exists.
class QuietTerminal {
  public:
    QuietTerminal() {
        if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
        termios quiet = before_;
        quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        changed_ = ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) == 0;
    }
    QuietTerminal(const QuietTerminal&) = delete;
    QuietTerminal& operator=(const QuietTerminal&) = delete;
    ~QuietTerminal() {
        if (changed_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
    }

  private:
    termios before_{};
    bool changed_ = false;
};

Result<std::string> read_line() {
    std::string line;
    for (;;) {
        char letter = 0;
        const ssize_t got = ::read(STDIN_FILENO, &letter, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error("reading the password");
        if (got == 0 || letter == '\n') break;
        line += letter;
        if (line.size() > password_longest_bytes)
            return make_error(ErrorKind::TooLarge, "the password is too long");
    }
    if (line.ends_with('\r')) line.pop_back();
    return line;
}

Result<std::string> ask_password(const std::string& name) {
    if (::isatty(STDIN_FILENO) == 0) return read_line();
    const QuietTerminal quiet;
    fmt::print(stderr, "Password of {}: ", name);
    TRY_ASSIGN(const std::string first, read_line());
    fmt::print(stderr, "\nOnce more: ");
    TRY_ASSIGN(const std::string second, read_line());
    fmt::print(stderr, "\n");
    if (first != second) return make_error(ErrorKind::Invalid, "the two passwords differ");
    return first;
}

Result<std::string> ask_hash(const std::string& name) {
    TRY_ASSIGN(const std::string password, ask_password(name));
    TRY(check_password(password));
    return hash_password(password);
}

Result<Account> account_of(Store& store, const std::string& name) {
    TRY_ASSIGN(auto account, store.accounts().find_account(name));
    if (!account) return make_error(ErrorKind::NotFound, "no account \"" + printable(name) + "\"");
    return std::move(*account);
}

Status keep_an_admin(Store& store, const Account& account) {
    if (account.role != Role::Admin || account.disabled) return success();
    TRY_ASSIGN(const auto accounts, store.accounts().list());
    const auto admins = std::count_if(accounts.begin(), accounts.end(), [](const Account& a) {
        return a.role == Role::Admin && !a.disabled;
    });
    if (admins > 1) return success();
    return make_error(ErrorKind::Denied,
                      account.name + " is the last admin; create another admin first");
}

// Everybody who can run the program with this store counts as "command line".
Status note(Store& store, const char* action, const std::string& object,
            const std::string& detail = {}) {
    AuditEntry entry;
    entry.at_realtime_ns = ClockSnapshot::take().realtime_ns;
    entry.who = "command line";
    entry.action = action;
    entry.object = object;
    entry.detail = detail;
    return store.audit().add_audit(entry);
}

std::string time_or(std::optional<std::uint64_t> realtime_ns, const char* otherwise) {
    return realtime_ns ? format_utc(*realtime_ns).substr(0, 19) + "Z" : std::string(otherwise);
}

Result<std::string> find_build(Store& store, const std::string& beginning) {
    TRY_ASSIGN(const Choices choices, store.everything().choices().of_event({}));
    std::vector<std::string> found;
    for (const std::string& build : choices.builds) {
        if (build == beginning) return build;
        if (build.starts_with(beginning)) found.push_back(build);
    }
    if (found.size() == 1) return found.front();
    if (found.size() > 1)
        return make_error(
            ErrorKind::Invalid,
            fmt::format("{} builds begin with \"{}\", such as {} and {}; give more digits",
                        found.size(), printable(beginning), found[0], found[1]));
    // The full id of a build without runs is accepted, so that a build can get its name first.
    const bool hexadecimal = beginning.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (hexadecimal && beginning.size() >= whole_build_id_digits) return beginning;
    return make_error(ErrorKind::NotFound, "no run has a build that begins with \"" +
                                               printable(beginning) +
                                               "\"; to name a build before its first run, give its "
                                               "full id (readelf -n PROGRAM shows it)");
}

std::string patterns_of(const Team& team) {
    std::string text;
    for (const auto& [what, lines] :
         {std::pair("event", &team.events), std::pair("unit", &team.units),
          std::pair("group", &team.groups)})
        for (const std::string& line : *lines)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, line);
    return text.empty() ? "sees nothing" : text;
}

Status warn_without_accounts(Store& store) {
    TRY_ASSIGN(const auto accounts, store.accounts().list());
    if (accounts.empty())
        fmt::print(stderr,
                   "With a token, pages and API require signing in, and there are no accounts yet. "
                   "Create one with:\n"
                   "lagtrap-server user add NAME --role admin\n");
    return success();
}

}  // namespace

Status add_user(Store& store, const std::string& name, const std::string& role) {
    TRY(check_account_name(name));
    TRY_ASSIGN(const Role parsed, parse_role(role));
    TRY_ASSIGN(const std::string hash, ask_hash(name));
    const Account account{name, parsed, hash, ClockSnapshot::take().realtime_ns, false};
    TRY_ASSIGN(const AddOutcome added, store.accounts().add_account(account));
    if (added == AddOutcome::Already)
        return make_error(ErrorKind::Invalid, "account \"" + name + "\" already exists");
    fmt::print("added {} as {}\n", name, role_name(parsed));
    return note(store, "add account", name, role_name(parsed));
}

Status list_users(Store& store) {
    TRY_ASSIGN(const auto accounts, store.accounts().list());
    for (const Account& account : accounts)
        fmt::print("{:<24} {:<9} since {}{}\n", account.name, role_name(account.role),
                   time_or(account.created_realtime_ns, ""), account.disabled ? ", disabled" : "");
    if (accounts.empty())
        fmt::print("no accounts; create one with: lagtrap-server user add NAME --role admin\n");
    return success();
}

Status remove_user(Store& store, const std::string& name) {
    TRY_ASSIGN(const Account account, account_of(store, name));
    TRY(keep_an_admin(store, account));
    TRY(store.accounts().remove_account(name));
    fmt::print("removed {}\n", name);
    return note(store, "delete account", name);
}

Status change_password(Store& store, const std::string& name) {
    TRY_ASSIGN(Account account, account_of(store, name));
    TRY_ASSIGN(account.password_hash, ask_hash(name));
    TRY_ASSIGN(const bool changed, store.accounts().change_account(account, {}));
    if (!changed) return make_error(ErrorKind::NotFound, "the account no longer exists");
    fmt::print("changed the password of {}; its sessions have ended\n", name);
    return note(store, "change password", name);
}

Status change_role(Store& store, const std::string& name, const std::string& role) {
    TRY_ASSIGN(Account account, account_of(store, name));
    TRY_ASSIGN(const Role parsed, parse_role(role));
    if (parsed != Role::Admin) TRY(keep_an_admin(store, account));
    account.role = parsed;
    TRY_ASSIGN(const bool changed, store.accounts().change_account(account, {}));
    if (!changed) return make_error(ErrorKind::NotFound, "the account no longer exists");
    fmt::print("{} is {} now; its sessions have ended\n", name, role_name(parsed));
    return note(store, "change role", name, role_name(parsed));
}

Status add_token(Store& store, const NewToken& wanted) {
    TRY(check_token_name(wanted.name));
    Token token;
    token.name = wanted.name;
    TRY_ASSIGN(token.scopes, parse_token_scope(wanted.scope));
    token.host = printable(wanted.host);
    token.group = printable(wanted.group);
    token.made_by = "command line";
    token.created_realtime_ns = ClockSnapshot::take().realtime_ns;
    if (!wanted.expires.empty()) {
        const auto life = parse_duration(wanted.expires);
        if (!life) return life.error().within("--expires");
        token.expires_realtime_ns =
            token.created_realtime_ns + static_cast<std::uint64_t>(life->count());
    }
    TRY_ASSIGN(const auto tokens, store.tokens().list());
    for (const Token& other : tokens)
        if (other.name == token.name)
            return make_error(ErrorKind::Invalid, "token \"" + token.name + "\" already exists");
    const MachineToken fresh = MachineToken::make();
    token.id = fresh.id;
    token.secret_sha256 = sha256_of(fresh.secret);
    TRY(store.tokens().add_token(token));
    if (!wanted.quiet) fmt::print("token, for its owner's token file (shown once):\n");
    fmt::print("{}\n", fresh.text());
    TRY(warn_without_accounts(store));
    return note(store, "add token", token.name, token_scope_name(token.scopes));
}

Status list_tokens(Store& store) {
    TRY_ASSIGN(const auto tokens, store.tokens().list());
    for (const Token& token : tokens)
        fmt::print("{} {:<24} {:<6} host {} group {} expires {} last used {}\n", token.id,
                   token.name, token_scope_name(token.scopes),
                   token.host.empty() ? "any" : token.host, token.group.empty() ? "-" : token.group,
                   time_or(token.expires_realtime_ns, "never"),
                   time_or(token.used_realtime_ns, "never"));
    if (tokens.empty())
        fmt::print("no tokens; create one with: lagtrap-server token add NAME --scope upload\n");
    return success();
}

Status revoke_token(Store& store, const std::string& id_or_name) {
    TRY_ASSIGN(const auto tokens, store.tokens().list());
    std::set<std::string> ids;
    for (const Token& token : tokens)
        if (token.id == id_or_name || token.name == id_or_name) ids.insert(token.id);
    if (ids.empty())
        return make_error(ErrorKind::NotFound, "no token \"" + printable(id_or_name) + "\"");
    if (ids.size() > 1)
        return make_error(ErrorKind::Invalid,
                          "several tokens have this name; give the id (see token list)");
    TRY(store.tokens().remove_token(*ids.begin()));
    fmt::print("revoked {}\n", id_or_name);
    return note(store, "revoke token", id_or_name);
}

Status set_team(Store& store, const Team& team) {
    TRY(check_team(team));
    TRY_ASSIGN(const AddOutcome set, store.teams().set_team(team));
    const bool fresh = set == AddOutcome::New;
    fmt::print("{} team {}: {}\n", fresh ? "made" : "changed", team.name, patterns_of(team));
    TRY_ASSIGN(const auto teams, store.teams().list());
    if (fresh && teams.size() == 1)
        fmt::print(
            "this is the first team: from now on, accounts without a team see nothing, except "
            "admins\n");
    return note(store, fresh ? "add team" : "change team", team.name, patterns_of(team));
}

Status list_teams(Store& store) {
    TRY_ASSIGN(const auto teams, store.teams().list());
    for (const Team& team : teams) {
        fmt::print("{:<24} {}\n", team.name, patterns_of(team));
        for (const Team::Member& member : team.members)
            fmt::print("    {}{}\n", member.account, member.by_group ? " (by group)" : "");
    }
    if (teams.empty())
        fmt::print(
            "no teams, so everybody sees everything; create one with: lagtrap-server team set NAME "
            "--unit PATTERN\n");
    return success();
}

Status remove_team(Store& store, const std::string& name) {
    const auto removed = store.teams().remove_team(name);
    if (!removed && removed.error().kind == ErrorKind::Busy)
        return make_error(ErrorKind::Invalid,
                          removed.error().message +
                              "; add them to another team, or remove them from this one, first");
    if (!removed) return removed.error();
    if (!*removed) return make_error(ErrorKind::NotFound, "no team \"" + printable(name) + "\"");
    fmt::print("removed team {}\n", name);
    TRY_ASSIGN(const bool others, store.teams().has_teams());
    if (!others) fmt::print("no teams left: everybody sees everything\n");
    return note(store, "delete team", name);
}

Status join_team(Store& store, const std::string& team, const std::string& account) {
    TRY_ASSIGN(const Account found, account_of(store, account));
    TRY_ASSIGN(const bool joined, store.teams().join_team(team, account));
    if (!joined) return make_error(ErrorKind::NotFound, "no team \"" + printable(team) + "\"");
    if (found.role == Role::Admin) {
        fmt::print("{} is in team {}; as an admin, it sees everything\n", account, team);
    } else {
        fmt::print("{} is in team {}\n", account, team);
    }
    return note(store, "join team", team, account);
}

Status leave_team(Store& store, const std::string& team, const std::string& account) {
    TRY_ASSIGN(const bool left, store.teams().leave_team(team, account));
    if (!left)
        return make_error(
            ErrorKind::NotFound,
            "\"" + printable(account) + "\" is not in a team \"" + printable(team) + "\"");
    TRY_ASSIGN(const auto others, store.teams().teams_of(account));
    TRY_ASSIGN(const auto found, store.accounts().find_account(account));
    const bool sees_nothing = others.empty() && found && found->role != Role::Admin;
    fmt::print("{} left team {}{}\n", account, team,
               sees_nothing ? "; it is in no other team, and sees nothing" : "");
    return note(store, "leave team", team, account);
}

Status label_build(Store& store, const std::string& build, const std::string& name) {
    if (build.empty()) return make_error(ErrorKind::Invalid, "expected a build id");
    if (name.size() > build_name_limit_bytes || printable(name) != name)
        return make_error(ErrorKind::Invalid,
                          "expected a name of at most 64 bytes without control characters");
    TRY_ASSIGN(const std::string found, find_build(store, build));
    TRY(store.everything().builds().label_build(
        {found, name, "command line", ClockSnapshot::take().realtime_ns}));
    if (name.empty()) {
        fmt::print("build {} no longer has a name\n", found);
    } else {
        fmt::print("build {} is named {}\n", found, name);
    }
    return note(store, "label build", found, name);
}

Status list_build_labels(Store& store) {
    TRY_ASSIGN(const auto labels, store.everything().builds().build_labels());
    for (const BuildLabel& label : labels)
        fmt::print("{:<40} {:<20} {} by {}\n", label.build, label.name,
                   time_or(label.at_realtime_ns, ""), label.by);
    if (labels.empty())
        fmt::print("no build has a name; name one with: lagtrap-server label BUILD NAME\n");
    return success();
}

Status make_backup(Store& store, const std::string& file) {
    TRY(store.upkeep().backup(file));
    fmt::print("wrote {}\n", file);
    return success();
}

Status check_all(Store& store, Blobs& blobs) {
    TRY_ASSIGN(std::vector<std::string> complaints, store.upkeep().check());
    TRY_ASSIGN(const auto rows, store.inventory().digests());
    std::set<std::string> listed(rows.begin(), rows.end());
    std::uint64_t unlisted = 0;
    TRY(blobs.each([&](const std::string& digest) {
        if (listed.erase(digest) == 0) ++unlisted;
        return true;
    }));
    for (const std::string& digest : listed)
        complaints.push_back("bundle " + digest + " is listed, but its data is missing");
    for (const std::string& complaint : complaints) fmt::print("{}\n", complaint);
    fmt::print("{} bundles listed, {} stored without being listed, {} complaint(s)\n", rows.size(),
               unlisted, complaints.size());
    if (!complaints.empty()) return make_error(ErrorKind::Invalid, "the store is damaged");
    return success();
}

}  // namespace lagtrap::server
