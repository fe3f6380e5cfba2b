#include "server/command_line.hpp"

#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "server/serve.hpp"

namespace lagtrap::server {
namespace {

int print_token_line(const Options& options) {
    const auto right = parse_right(options.token.scope);
    const auto fresh =
        right ? make_token(options.token.name, *right) : Result<FreshToken>(right.error());
    if (!fresh) {
        fmt::print(stderr, "lagtrap-server token: {}\n", fresh.error().message);
        return wrong_options;
    }
    fmt::print(
        "token, for its owner's token file (shown once):\n{}\nline for the server's "
        "--token-file:\n{}\n",
        fresh->token, fresh->line);
    return done;
}

// Opens the store and runs an operator's command on it.
int administer(const Options& options, const std::function<Status(Store&)>& command) {
    const auto run = [&]() -> Status {
        TRY_ASSIGN(const auto store, open_chosen_store(options));
        return command(*store);
    };
    const Status status = run();
    if (status) return done;
    fmt::print(stderr, "lagtrap-server: {}\n", status.error().message);
    return status.error().kind == ErrorKind::Invalid ? wrong_options : failed;
}

void add_user_commands(CLI::App& app, Options& options, Command& chosen) {
    CLI::App* user =
        app.add_subcommand("user", "Manage user accounts")->require_subcommand(1)->fallthrough();
    const auto command = [&](const char* name, const char* text, auto run) {
        CLI::App* added = user->add_subcommand(name, text)->fallthrough();
        added->callback([&chosen, &options, run] {
            chosen = [&options, run] {
                return administer(options, [&options, run](Store& s) { return run(s, options); });
            };
        });
        return added;
    };
    const auto with_name = [&](CLI::App* added) {
        added->add_option("name", options.name, "Account name")->required();
        return added;
    };
    with_name(command("add",
                      "Create an account; the password is read from the terminal or standard input",
                      [](Store& s, const Options& o) { return add_user(s, o.name, o.role); }))
        ->add_option("--role", options.role, "Role: reader, uploader or admin")
        ->required();
    command("list", "List accounts", [](Store& s, const Options&) { return list_users(s); });
    with_name(command("remove", "Remove an account",
                      [](Store& s, const Options& o) { return remove_user(s, o.name); }));
    with_name(command("password", "Set a password and end the account's sessions",
                      [](Store& s, const Options& o) { return change_password(s, o.name); }));
    with_name(command("role", "Change a role and end the account's sessions",
                      [](Store& s, const Options& o) { return change_role(s, o.name, o.role); }))
        ->add_option("role", options.role, "Role: reader, uploader or admin")
        ->required();
}

void add_token_commands(CLI::App& app, Options& options, Command& chosen) {
    CLI::App* token =
        app.add_subcommand("token",
                           "Manage tokens; with only a name: print a line for --token-file")
            ->fallthrough();
    token->add_option("name", options.token.name, "Name: letters, digits, dot, dash, underscore");
    token->add_option("--scope", options.token.scope, "Scope: upload, read or admin");
    token->callback([&, token] {
        if (token->get_subcommands().empty())
            chosen = [&options] { return print_token_line(options); };
    });
    CLI::App* add =
        token->add_subcommand("add", "Create a token in the store and print it")->fallthrough();
    add->add_option("name", options.token.name, "Name: letters, digits, dot, dash, underscore")
        ->required();
    add->add_option("--scope", options.token.scope, "Scope: upload, read or admin")->required();
    add->add_option("--host", options.token.host, "Host whose uploads are allowed; default: any");
    add->add_option("--group", options.token.group, "Label for a token shared by hosts");
    add->add_flag("--quiet", options.token.quiet, "Print only the token, for scripts");
    add->add_option("--expires", options.token.expires,
                    "Lifetime, such as 90d; default: unlimited");
    add->callback([&] {
        chosen = [&options] {
            return administer(options, [&](Store& s) { return add_token(s, options.token); });
        };
    });
    token->add_subcommand("list", "List the tokens in the store")->fallthrough()->callback([&] {
        chosen = [&options] {
            return administer(options, [](Store& s) { return list_tokens(s); });
        };
    });
    CLI::App* revoke = token->add_subcommand("revoke", "Revoke a token immediately")->fallthrough();
    revoke->add_option("token", options.name, "Token id or name")->required();
    revoke->callback([&] {
        chosen = [&options] {
            return administer(options, [&](Store& s) { return revoke_token(s, options.name); });
        };
    });
}

void add_team_commands(CLI::App& app, Options& options, Command& chosen) {
    CLI::App* team =
        app.add_subcommand("team",
                           "Manage teams, whose members see only the team's events and units")
            ->require_subcommand(1)
            ->fallthrough();
    const auto command = [&](const char* name, const char* text, auto run) {
        CLI::App* added = team->add_subcommand(name, text)->fallthrough();
        added->callback([&chosen, &options, run] {
            chosen = [&options, run] {
                return administer(options, [&options, run](Store& s) { return run(s, options); });
            };
        });
        return added;
    };
    const auto with_name = [&](CLI::App* added) {
        added->add_option("team", options.team.name, "Name: letters, digits, dot, dash, underscore")
            ->required();
        return added;
    };
    CLI::App* set =
        with_name(command("set", "Create a team, or replace its patterns and groups",
                          [](Store& s, const Options& o) { return set_team(s, o.team); }));
    set->add_option("--event", options.team.events,
                    "Events its members see, such as 'checkout.*'; repeatable");
    set->add_option("--unit", options.team.units,
                    "Units and containers its members see; repeatable");
    set->add_option("--group", options.team.groups,
                    "Provider group whose users are members; '*': all users; repeatable");
    command("list", "List teams", [](Store& s, const Options&) { return list_teams(s); });
    with_name(command("remove", "Remove a team",
                      [](Store& s, const Options& o) { return remove_team(s, o.team.name); }));
    for (CLI::App* added :
         {with_name(command(
              "join", "Add an account to a team",
              [](Store&s, const Options&o) { return join_team(s, o.team.name, o.account); })),
          with_name(command("leave", "Remove an account from a team", [](Store&s, const Options&o) {
              return leave_team(s, o.team.name, o.account);
          }))})
        added->add_option("account", options.account, "Account name")->required();
}

void add_label_command(CLI::App& app, Options& options, Command& chosen) {
    CLI::App* label =
        app.add_subcommand("label", "Name a build, such as v1.2; without arguments: list names")
            ->fallthrough();
    label->add_option("build", options.name, "Build id, or the beginning of one");
    label->add_option("label", options.label, "Name; \"\" removes it");
    label->callback([&, label] {
        chosen = [&options, label] {
            return administer(options, [&options, label](Store& s) -> Status {
                if (label->count("build") == 0) return list_build_labels(s);
                if (label->count("label") == 0)
                    return make_error(ErrorKind::Invalid,
                                      "label: expected a name after the build, such as v1.2");
                return label_build(s, options.name, options.label);
            });
        };
    });
}

void add_upkeep_commands(CLI::App& app, Options& options, Command& chosen) {
    CLI::App* backup =
        app.add_subcommand("backup", "Copy the SQLite store to a new file")->fallthrough();
    backup->add_option("file", options.file, "File to write")->required();
    backup->callback([&] {
        chosen = [&options] {
            return administer(options, [&](Store& s) { return make_backup(s, options.file); });
        };
    });
    app.add_subcommand("check", "Check the store, and that every bundle's data exists")
        ->fallthrough()
        ->callback([&] {
            chosen = [&options] {
                return administer(options, [&](Store& s) -> Status {
                    TRY_ASSIGN(const auto blobs, open_chosen_blobs(options));
                    return check_all(s, *blobs);
                });
            };
        });
}

}  // namespace

void add_server_options(CLI::App& app, Options& options) {
    app.add_option("--listen", options.http.listen, "Address and port to listen on")
        ->capture_default_str();
    app.add_option("--data", options.data, "Folder for the database, bundles and incoming data")
        ->capture_default_str();
    app.add_option("--store", options.store,
                   "Store: sqlite:PATH or postgresql://...; default: lagtrap.sqlite in --data");
    app.add_option("--store-file", options.store_file,
                   "File with the address of the store, which may contain a password; must not be "
                   "readable by others");
    app.add_option("--store-cache", options.store_cache,
                   "Page cache of an SQLite store for writing")
        ->capture_default_str();
    app.add_option("--blobs", options.blobs,
                   "Folder or s3://BUCKET?endpoint=URL for bundles; default: --data");
    app.add_option("--token-file", options.token_file,
                   "File of lines \"NAME SCOPE TOKEN_SHA256\"; reloaded on SIGHUP");
    app.add_option("--tls-certificate", options.http.tls_certificate,
                   "PEM file with the certificate chain; reloaded on SIGHUP");
    app.add_option("--tls-key", options.http.tls_key, "PEM file with the private key");
    app.add_flag("--behind-proxy", options.http.behind_proxy,
                 "Trust X-Forwarded-For and X-Forwarded-Proto, which the proxy must overwrite");
    app.add_option("--trusted-proxy", options.trusted_proxies,
                   "With --behind-proxy: trust them only from this address or network, such as "
                   "10.0.0.0/8; repeatable")
        ->delimiter(',');
    app.add_option("--max-bundle", options.bundle_limit, "Maximum bundle size")
        ->capture_default_str();
    app.add_option("--keep-size", options.keep_size,
                   "Delete the oldest bundles above this total size, such as 100GiB");
    app.add_option("--keep-for", options.keep_for, "Delete bundles older than this, such as 90d");
    app.add_option("--keep-runs-size", options.keep_runs_size,
                   "Delete the oldest runs above this total size");
    app.add_option("--keep-runs-for", options.keep_runs_for,
                   "Delete runs older than this, such as 90d");
    app.add_option("--max-connections", options.http.connections, "Maximum number of connections")
        ->capture_default_str()
        ->check(CLI::Range(1, 100'000));
    app.add_option("--max-connections-of-address", options.http.connections_of_address,
                   "Maximum number of connections from one address, or IPv6 /64 network")
        ->capture_default_str()
        ->check(CLI::Range(1, 100'000));
    app.add_option("--max-uploads", options.uploads_at_once,
                   "Maximum number of simultaneous uploads")
        ->capture_default_str()
        ->check(CLI::Range(1, 100'000));
    app.add_option("--requests-per-second", options.requests_per_second,
                   "Request limit per sender; 0: no limit")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    app.add_option("--upload-rate", options.upload_rate,
                   "Bytes per second and sender, such as 1MiB; default: no limit");
    app.add_option("--daily-quota", options.daily_quota,
                   "Bytes per day (UTC) and sender across all servers of the store, such as 5GiB; "
                   "default: no limit");
    app.add_option("--parsers", options.parsers, "Number of bundles parsed at once")
        ->capture_default_str()
        ->check(CLI::Range(0, 64));
    app.add_option(
        "--public-url", options.public_url,
        "Address of the pages for users, for links in messages, such as https://lagtrap.example");
    app.add_option("--base-path", options.base_path,
                   "Path prefix of the pages and the API, such as /lagtrap; a proxy in front must "
                   "pass paths on unchanged");
    app.add_option("--trace-viewer", options.trace_viewer,
                   "Address of the Perfetto UI for viewing traces, such as your own copy or "
                   "https://ui.perfetto.dev; default: none");
    app.add_option("--oidc-file", options.oidc_file,
                   "File that configures an OpenID Connect provider for signing in; must not be "
                   "readable by others");
    app.add_option("--rule-interval", options.rule_interval, "How often rules are evaluated")
        ->capture_default_str();
    app.add_flag("--allow-local-receivers", options.allow_local_receivers,
                 "Let rules post to loopback, link-local and cloud metadata addresses");
    app.add_option("--header-timeout", options.header_timeout,
                   "Maximum time for a request's header")
        ->capture_default_str();
    app.add_option("--body-timeout", options.body_timeout, "Maximum time without data of a body")
        ->capture_default_str();
}

void add_commands(CLI::App& app, Options& options, Command& chosen) {
    add_user_commands(app, options, chosen);
    add_token_commands(app, options, chosen);
    add_team_commands(app, options, chosen);
    add_label_command(app, options, chosen);
    add_upkeep_commands(app, options, chosen);
}

}  // namespace lagtrap::server
