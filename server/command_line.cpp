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
    const auto fresh = right ? make_token(options.token.name, *right) : Result<FreshToken>(right.error());
    if (!fresh) {
        fmt::print(stderr, "lagtrap-server token: {}\n", fresh.error().message);
        return wrong_options;
    }
    fmt::print("token, for its owner's token file (shown once):\n{}\nline for the server's --token-file:\n{}\n",
               fresh->token, fresh->line);
    return done;
}

// Runs an operator's command over the store.
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
    CLI::App* user = app.add_subcommand("user", "accounts of people")->require_subcommand(1)->fallthrough();
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
        added->add_option("name", options.name, "the account")->required();
        return added;
    };
    with_name(command("add", "make an account; the password comes from the terminal or standard input",
                      [](Store& s, const Options& o) { return add_user(s, o.name, o.role); }))
        ->add_option("--role", options.role, "reader, uploader or admin")
        ->required();
    command("list", "list the accounts", [](Store& s, const Options&) { return list_users(s); });
    with_name(
        command("remove", "remove an account", [](Store& s, const Options& o) { return remove_user(s, o.name); }));
    with_name(command("password", "set a password, and end the account's sessions",
                      [](Store& s, const Options& o) { return change_password(s, o.name); }));
    with_name(command("role", "change a role, and end the account's sessions",
                      [](Store& s, const Options& o) { return change_role(s, o.name, o.role); }))
        ->add_option("role", options.role, "reader, uploader or admin")
        ->required();
}

void add_token_commands(CLI::App& app, Options& options, Command& chosen) {
    CLI::App* token =
        app.add_subcommand("token", "tokens of machines; with a name alone: a line for --token-file")->fallthrough();
    token->add_option("name", options.token.name, "letters, digits, dot, dash, underscore");
    token->add_option("--scope", options.token.scope, "upload, read or admin");
    token->callback([&, token] {
        if (token->get_subcommands().empty()) chosen = [&options] { return print_token_line(options); };
    });
    CLI::App* add = token->add_subcommand("add", "make a token in the store; prints it once")->fallthrough();
    add->add_option("name", options.token.name, "letters, digits, dot, dash, underscore")->required();
    add->add_option("--scope", options.token.scope, "upload, read or admin")->required();
    add->add_option("--host", options.token.host, "the only host that uploads may be of");
    add->add_option("--group", options.token.group, "a label, for a token that hosts share");
    add->add_flag("--quiet", options.token.quiet, "print the token alone, for scripts");
    add->add_option("--expires", options.token.expires, "life, such as 90d; default: without end");
    add->callback([&] {
        chosen = [&options] { return administer(options, [&](Store& s) { return add_token(s, options.token); }); };
    });
    token->add_subcommand("list", "list the store's tokens")->fallthrough()->callback([&] {
        chosen = [&options] { return administer(options, [](Store& s) { return list_tokens(s); }); };
    });
    CLI::App* revoke = token->add_subcommand("revoke", "end a token at once")->fallthrough();
    revoke->add_option("token", options.name, "its id or its name")->required();
    revoke->callback([&] {
        chosen = [&options] { return administer(options, [&](Store& s) { return revoke_token(s, options.name); }); };
    });
}

void add_team_commands(CLI::App& app, Options& options, Command& chosen) {
    CLI::App* team = app.add_subcommand("team", "people who see their own events and units alone")
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
        added->add_option("team", options.team.name, "letters, digits, dot, dash, underscore")->required();
        return added;
    };
    CLI::App* set = with_name(command("set", "make a team, or give it other patterns and groups",
                                      [](Store& s, const Options& o) { return set_team(s, o.team); }));
    set->add_option("--event", options.team.events, "events that it sees, such as 'checkout.*'; may be repeated");
    set->add_option("--unit", options.team.units, "units and containers that it sees; may be repeated");
    set->add_option("--group", options.team.groups,
                    "group of the provider whose people are in it; '*': all of them; may be repeated");
    command("list", "list the teams", [](Store& s, const Options&) { return list_teams(s); });
    with_name(
        command("remove", "remove a team", [](Store& s, const Options& o) { return remove_team(s, o.team.name); }));
    for (CLI::App* added :
         {with_name(command("join", "put an account into a team",
                            [](Store&s, const Options&o) { return join_team(s, o.team.name, o.account); })),
          with_name(command("leave", "take an account out of a team",
                            [](Store&s, const Options&o) { return leave_team(s, o.team.name, o.account); }))})
        added->add_option("account", options.account, "the account")->required();
}

void add_label_command(CLI::App& app, Options& options, Command& chosen) {
    CLI::App* label = app.add_subcommand("label", "give a build a name, such as v1.2; without a build: list the names")
                          ->fallthrough();
    label->add_option("build", options.name, "its build id, or the beginning of it");
    label->add_option("label", options.label, "what it is called; \"\" takes the name away");
    label->callback([&, label] {
        chosen = [&options, label] {
            return administer(options, [&options, label](Store& s) -> Status {
                if (label->count("build") == 0) return list_build_labels(s);
                if (label->count("label") == 0)
                    return make_error(ErrorKind::Invalid, "label: expected a name after the build, such as v1.2");
                return label_build(s, options.name, options.label);
            });
        };
    });
}

void add_upkeep_commands(CLI::App& app, Options& options, Command& chosen) {
    CLI::App* backup = app.add_subcommand("backup", "copy the SQLite store into a new file")->fallthrough();
    backup->add_option("file", options.file, "where to")->required();
    backup->callback([&] {
        chosen = [&options] { return administer(options, [&](Store& s) { return make_backup(s, options.file); }); };
    });
    app.add_subcommand("check", "check the store and that each bundle's bytes are there")->fallthrough()->callback([&] {
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
    app.add_option("--listen", options.http.listen, "address and port")->capture_default_str();
    app.add_option("--data", options.data, "folder for database, bundles and what is on its way in")
        ->capture_default_str();
    app.add_option("--store", options.store, "sqlite:PATH or postgresql://...; default: lagtrap.sqlite in --data");
    app.add_option("--store-file", options.store_file,
                   "file with the address of the store, which may have a password; not readable for others");
    app.add_option("--store-cache", options.store_cache, "pages of an SQLite store kept in memory for writing")
        ->capture_default_str();
    app.add_option("--blobs", options.blobs, "folder or s3://BUCKET?endpoint=URL for bundles; default: --data");
    app.add_option("--token-file", options.token_file, "lines \"NAME SCOPE TOKEN_SHA256\"; read again at SIGHUP");
    app.add_option("--tls-certificate", options.http.tls_certificate,
                   "PEM file with the certificate chain; read again at SIGHUP");
    app.add_option("--tls-key", options.http.tls_key, "PEM file with the private key");
    app.add_flag("--behind-proxy", options.http.behind_proxy,
                 "believe X-Forwarded-For and X-Forwarded-Proto, which the proxy must set");
    app.add_option(
           "--trusted-proxy", options.trusted_proxies,
           "with --behind-proxy: believe them from this address or network alone, such as 10.0.0.0/8; may be repeated")
        ->delimiter(',');
    app.add_option("--max-bundle", options.bundle_limit, "largest bundle taken")->capture_default_str();
    app.add_option("--keep-size", options.keep_size, "remove the oldest bundles beyond this size, such as 100GiB");
    app.add_option("--keep-for", options.keep_for, "remove bundles older than this, such as 90d");
    app.add_option("--keep-runs-size", options.keep_runs_size, "remove the oldest runs beyond this size");
    app.add_option("--keep-runs-for", options.keep_runs_for, "remove runs older than this, such as 90d");
    app.add_option("--max-connections", options.http.connections, "connections at once")
        ->capture_default_str()
        ->check(CLI::Range(1, 100'000));
    app.add_option("--max-connections-of-address", options.http.connections_of_address,
                   "of these from one address, or from one /64 of IPv6")
        ->capture_default_str()
        ->check(CLI::Range(1, 100'000));
    app.add_option("--max-uploads", options.uploads_at_once, "uploads at once")
        ->capture_default_str()
        ->check(CLI::Range(1, 100'000));
    app.add_option("--requests-per-second", options.requests_per_second, "of one sender; 0: no limit")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    app.add_option("--upload-rate", options.upload_rate,
                   "bytes a second of one sender, such as 1MiB; default: no limit");
    app.add_option("--daily-quota", options.daily_quota,
                   "bytes a day (UTC) of one sender over all servers of the store, such as 5GiB; default: no limit");
    app.add_option("--parsers", options.parsers, "bundles looked into at once")
        ->capture_default_str()
        ->check(CLI::Range(0, 64));
    app.add_option("--public-url", options.public_url,
                   "address of the pages for people, for links in messages, such as https://lagtrap.example");
    app.add_option(
        "--base-path", options.base_path,
        "where pages and API lie on their host, such as /lagtrap; a proxy in front passes paths on unchanged");
    app.add_option("--trace-viewer", options.trace_viewer,
                   "address of the Perfetto UI in which pages open traces, such as one of your own or "
                   "https://ui.perfetto.dev; default: none");
    app.add_option("--oidc-file", options.oidc_file,
                   "file that names a provider of OpenID Connect by which people sign in; not readable for others");
    app.add_option("--rule-interval", options.rule_interval, "between two looks at a rule")->capture_default_str();
    app.add_flag("--allow-local-receivers", options.allow_local_receivers,
                 "rules may post to loopback, link-local and cloud metadata addresses");
    app.add_option("--header-timeout", options.header_timeout, "for a request's header")->capture_default_str();
    app.add_option("--body-timeout", options.body_timeout, "without a byte of a body")->capture_default_str();
}

void add_commands(CLI::App& app, Options& options, Command& chosen) {
    add_user_commands(app, options, chosen);
    add_token_commands(app, options, chosen);
    add_team_commands(app, options, chosen);
    add_label_command(app, options, chosen);
    add_upkeep_commands(app, options, chosen);
}

}  // namespace lagtrap::server
