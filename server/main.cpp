// lagtrap-server: takes bundles and runs in, keeps them, shows them.
#include <systemd/sd-daemon.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "core/heap.hpp"
#include "core/program_log.hpp"
#include "server/ingest/parse_worker.hpp"
#include "server/options.hpp"

namespace lagtrap::server {
namespace {

// The unit does not restart the program after wrong_options.
enum ExitCode { done = 0, failed = 1, wrong_options = 2 };
// What is too old or too much is gone within a minute.
constexpr std::uint64_t retention_interval_ns = 50ULL * 1'000'000'000ULL;
constexpr std::uint64_t maintenance_interval_ns = 300ULL * 1'000'000'000ULL;
constexpr std::uint64_t freeing_interval_ns = 10ULL * 1'000'000'000ULL;

int fail(const Error& error, ExitCode code) {
    spdlog::error("{}", error.message);
    return code;
}

Result<std::unique_ptr<Store>> open_chosen_store(const Options& options) {
    TRY_ASSIGN(const std::string address, store_address(options));
    TRY_ASSIGN(const std::uint64_t cache_bytes, store_cache_bytes(options));
    TRY(make_directories(options.data, 0750));
    return open_store(address, cache_bytes);
}

Result<std::unique_ptr<Blobs>> open_chosen_blobs(const Options& options) {
    TRY(make_directories(options.data, 0750));
    return open_blobs(blobs_address(options), options.data);
}

// Everything that must live while the server runs, in the order in which it is made.
struct Running {
    std::unique_ptr<Store> store;
    std::unique_ptr<Blobs> blobs;
    std::unique_ptr<JobRunner> jobs;
    std::unique_ptr<Teller> teller;
    std::unique_ptr<OidcProvider> provider;
    std::unique_ptr<Ingest> ingest;
    std::unique_ptr<Application> application;
};

Result<Running> open_parts(const Options& options, const IngestLimits& limits, const SenderLimits& sender_limits,
                           BasePath base, std::optional<TokenTable> tokens) {
    const auto log = [](const std::string& line) { spdlog::info("{}", line); };
    Running parts;
    TRY_ASSIGN(parts.store, open_chosen_store(options));
    TRY_ASSIGN(parts.blobs, open_chosen_blobs(options));
    if (parts.blobs->leftovers_removed() > 0)
        spdlog::info("removed {} half-received bundle(s)", parts.blobs->leftovers_removed());
    parts.jobs = std::make_unique<JobRunner>(*parts.store, *parts.blobs, log);
    TRY_ASSIGN(TellerOptions teller_options, read_teller_options(options));
    parts.teller = std::make_unique<Teller>(*parts.store, std::move(teller_options), log);
    TRY_ASSIGN(parts.provider, read_provider(options));
    TRY_ASSIGN(const std::string trace_viewer, read_trace_viewer(options));
    JobRunner& jobs = *parts.jobs;
    parts.ingest = std::make_unique<Ingest>(*parts.blobs, *parts.store, limits, [&jobs] { jobs.wake(); });
    TRY_ASSIGN(const Reconciled mended, parts.ingest->reconcile(ClockSnapshot::take().realtime_ns));
    if (mended.rows_added > 0) spdlog::warn("listed {} bundle(s) that were stored unlisted", mended.rows_added);
    if (mended.rows_removed > 0) spdlog::warn("dropped {} listed bundle(s) whose files are gone", mended.rows_removed);
    parts.application = std::make_unique<Application>(
        Parts{*parts.store, *parts.ingest, *parts.jobs, *parts.teller, log, parts.provider.get(), trace_viewer},
        sender_limits, std::move(base), std::move(tokens));
    return parts;
}

// Whoever could reach the server could do everything: only this machine may.
Status check_openness(const Options& options, Application& application) {
    TRY_ASSIGN(const bool loopback, is_loopback(options.http.listen));
    TRY_ASSIGN(const bool open, application.is_open());
    if (!open || (loopback && !options.http.behind_proxy)) return success();
    return make_error(ErrorKind::Denied,
                      "without accounts, tokens and --token-file the server listens on loopback alone, not on " +
                          options.http.listen + "; make an account with: lagtrap-server user add NAME --role admin");
}

void maintain(Running& parts) {
    if (const auto status = parts.store->maintain(ClockSnapshot::take().realtime_ns); !status)
        spdlog::warn("the store's upkeep: {}", status.error().message);
    parts.jobs->close_failed_jobs();
}

HttpCallbacks make_callbacks(const Options& options, Running& parts) {
    HttpCallbacks callbacks;
    callbacks.on_hangup = [&options, &parts] {
        if (options.token_file.empty()) return;
        auto table = TokenTable::load(options.token_file);
        if (!table) {
            spdlog::error("the tokens stay as they were: {}", table.error().message);
            return;
        }
        spdlog::info("read {} token(s)", table->size());
        parts.application->replace_tokens(std::move(table).value());
    };
    callbacks.on_tls_kept = [](const Error& error) {
        spdlog::error("the certificate stays as it was: {}", error.message);
    };
    callbacks.on_tls_read = [] { spdlog::info("read the certificate again"); };
    callbacks.on_stopping = [] {
        ::sd_notify(0, "STOPPING=1");
        spdlog::info("finishing what runs");
    };
    callbacks.on_tick = [&parts, retention_ns = monotonic_ns(), upkeep_ns = monotonic_ns(),
                         freed_ns = monotonic_ns()]() mutable {
        ::sd_notify(0, "WATCHDOG=1");
        const std::uint64_t now_ns = monotonic_ns();
        if (now_ns - upkeep_ns >= maintenance_interval_ns) {
            upkeep_ns = now_ns;
            maintain(parts);
        }
        if (now_ns - freed_ns >= freeing_interval_ns) {
            freed_ns = now_ns;
            return_free_memory();
        }
        if (now_ns - retention_ns < retention_interval_ns) return;
        retention_ns = now_ns;
        parts.application->remove_old_bundles();
        parts.application->remove_old_runs();
    };
    return callbacks;
}

int serve(Options& options) {
    start_program_log();
    std::signal(SIGPIPE, SIG_IGN);
    if (const auto status = read_timeouts(options); !status) return fail(status.error(), wrong_options);
    if (const auto status = read_proxies(options); !status) return fail(status.error(), wrong_options);
    const auto limits = read_ingest_limits(options);
    if (!limits) return fail(limits.error(), wrong_options);
    const auto sender_limits = read_sender_limits(options);
    if (!sender_limits) return fail(sender_limits.error(), wrong_options);
    if (const auto address = store_address(options); !address) return fail(address.error(), wrong_options);
    if (const auto cache = store_cache_bytes(options); !cache) return fail(cache.error(), wrong_options);
    if (const auto teller = read_teller_options(options); !teller) return fail(teller.error(), wrong_options);
    auto base = read_base_path(options);
    if (!base) return fail(base.error(), wrong_options);
    if (const auto provider = read_provider(options); !provider) return fail(provider.error(), wrong_options);
    auto tokens = read_token_file(options);
    if (!tokens) return fail(tokens.error(), wrong_options);
    auto parts = open_parts(options, *limits, *sender_limits, *base, std::move(tokens).value());
    if (!parts) return fail(parts.error(), failed);
    if (const auto status = check_openness(options, *parts->application); !status)
        return fail(status.error(), wrong_options);
    auto server = HttpServer::listen(options.http, *parts->application, make_callbacks(options, *parts));
    if (!server) return fail(server.error(), failed);
    maintain(*parts);
    parts->application->remove_old_bundles();
    parts->jobs->start(options.parsers);
    parts->teller->start();
    spdlog::info("listening on {}{}, data in {}", (*server)->address(), base->text(), options.data);
    if (options.http.tls_certificate.empty() && !options.http.behind_proxy && !is_loopback(options.http.listen).value())
        spdlog::warn(
            "plain HTTP shows tokens to the network; use --tls-certificate, or a proxy with TLS and --behind-proxy");
    ::sd_notify(0, ("READY=1\nSTATUS=listening on " + (*server)->address()).c_str());
    const bool all_finished = (*server)->run();
    parts->teller->stop();
    parts->jobs->stop();
    if (!all_finished) spdlog::warn("cut off requests that ran after the deadline");
    spdlog::info("stopped");
    return all_finished ? done : failed;
}

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
    app.add_option("--daily-quota", options.daily_quota, "bytes a day of one sender, such as 5GiB; default: no limit");
    app.add_option("--parsers", options.parsers, "bundles looked into at once")
        ->capture_default_str()
        ->check(CLI::Range(0, 64));
    app.add_option("--public-url", options.public_url,
                   "address of the pages for people, for links in messages, such as https://lagtrap.example");
    app.add_option(
        "--base-path", options.base_path,
        "where pages and API lie on their host, such as /lagtrap; a proxy in front passes paths on unchanged");
    app.add_option("--trace-viewer", options.trace_viewer,
                   "address of the Perfetto UI in which pages open traces, such as one of your own; empty: none")
        ->capture_default_str();
    app.add_option("--oidc-file", options.oidc_file,
                   "file that names a provider of OpenID Connect by which people sign in; not readable for others");
    app.add_option("--rule-interval", options.rule_interval, "between two looks at a rule")->capture_default_str();
    app.add_option("--header-timeout", options.header_timeout, "for a request's header")->capture_default_str();
    app.add_option("--body-timeout", options.body_timeout, "without a byte of a body")->capture_default_str();
}

// What is to be done, once the command line is read.
using Command = std::function<int()>;

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
}  // namespace lagtrap::server

int main(int argc, char** argv) {
    using namespace lagtrap::server;
    lagtrap::keep_heap_small();
    // Before anything is set up: this process is to have as little as it can.
    if (argc == 3 && std::string_view(argv[1]) == "--parse-worker") return run_parse_worker(argv[2]);
    Options options;
    Command command = [&options] { return serve(options); };
    CLI::App app{"Receives, keeps and shows the delays and runs of many machines."};
    add_server_options(app, options);
    app.set_version_flag("--version", "lagtrap-server " LAGTRAP_VERSION);
    add_user_commands(app, options, command);
    add_token_commands(app, options, command);
    add_team_commands(app, options, command);
    add_label_command(app, options, command);
    add_upkeep_commands(app, options, command);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? done : wrong_options;
    }
    return command();
}
