// lagtrap-server: takes bundles in, keeps them, shows them.
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
#include "core/duration.hpp"
#include "core/files.hpp"
#include "core/program_log.hpp"
#include "server/api/application.hpp"
#include "server/api/http_server.hpp"
#include "server/api/tokens.hpp"
#include "server/ingest/describe.hpp"
#include "server/store/sqlite_store.hpp"

namespace lagtrap::server {
namespace {

// The unit does not restart the program after wrong_options.
enum ExitCode { done = 0, failed = 1, wrong_options = 2 };
constexpr std::uint64_t retention_interval_ns = 3600ULL * 1'000'000'000ULL;

// The command line as given; sizes and durations are still texts.
struct Arguments {
    HttpOptions http;
    std::string data = "/var/lib/lagtrap-server";
    std::string token_file;
    std::string bundle_limit = "1GiB";
    std::string keep_size;
    std::string keep_for;
    std::string header_timeout = "10s";
    std::string body_timeout = "30s";
    std::string token_name;
    std::string token_scope;
};

Status read_timeout(const char* option, const std::string& text, std::chrono::milliseconds& target) {
    const auto duration = parse_duration(text);
    if (!duration) return duration.error().within(option);
    target = std::chrono::duration_cast<std::chrono::milliseconds>(*duration);
    if (target.count() == 0) return make_error(ErrorKind::Invalid, std::string(option) + ": at least 1ms");
    return success();
}

Result<IngestLimits> read_limits(const Arguments& arguments) {
    IngestLimits limits;
    const auto bundle = parse_byte_size(arguments.bundle_limit);
    if (!bundle) return bundle.error().within("--max-bundle");
    limits.bundle_bytes = *bundle;
    if (!arguments.keep_size.empty()) {
        const auto size = parse_byte_size(arguments.keep_size);
        if (!size) return size.error().within("--keep-size");
        limits.keep_bytes = *size;
    }
    if (!arguments.keep_for.empty()) {
        const auto duration = parse_duration(arguments.keep_for);
        if (!duration) return duration.error().within("--keep-for");
        limits.keep_for = *duration;
    }
    return limits;
}

Result<std::optional<TokenTable>> read_tokens(const Arguments& arguments) {
    if (!arguments.token_file.empty()) {
        TRY_ASSIGN(TokenTable table, TokenTable::load(arguments.token_file));
        return std::optional(std::move(table));
    }
    TRY_ASSIGN(const bool loopback, is_loopback(arguments.http.listen));
    if (loopback) return std::optional<TokenTable>();
    return make_error(ErrorKind::Denied, "without --token-file the server listens on loopback alone, not on " +
                                             arguments.http.listen +
                                             "; make a token with: lagtrap-server token NAME --scope upload");
}

// Everything that must live while the server runs, in the order in which it is made.
struct Parts {
    std::unique_ptr<Store> store;
    std::unique_ptr<Ingest> ingest;
    std::unique_ptr<Application> application;
};

Result<Parts> open_parts(const Arguments& arguments, const IngestLimits& limits, std::optional<TokenTable> tokens) {
    TRY(make_directories(arguments.data, 0750));
    TRY_ASSIGN(BlobStore blobs, BlobStore::open(arguments.data));
    if (blobs.leftovers_removed() > 0) spdlog::info("removed {} half-received bundle(s)", blobs.leftovers_removed());
    Parts parts;
    TRY_ASSIGN(parts.store, open_sqlite_store(arguments.data + "/lagtrap.sqlite"));
    parts.ingest = std::make_unique<Ingest>(std::move(blobs), *parts.store, limits, describe_bundle);
    TRY_ASSIGN(const Reconciled mended, parts.ingest->reconcile(ClockSnapshot::take().realtime_ns));
    if (mended.rows_added > 0) spdlog::warn("listed {} bundle(s) that were stored unlisted", mended.rows_added);
    if (mended.rows_removed > 0) spdlog::warn("dropped {} listed bundle(s) whose files are gone", mended.rows_removed);
    parts.application = std::make_unique<Application>(*parts.ingest, *parts.store, std::move(tokens),
                                                      [](const std::string& line) { spdlog::info("{}", line); });
    parts.application->apply_retention();
    return parts;
}

HttpCallbacks make_callbacks(const Arguments& arguments, Application& application) {
    HttpCallbacks callbacks;
    callbacks.on_hangup = [&arguments, &application] {
        if (!application.needs_tokens()) return;
        auto table = TokenTable::load(arguments.token_file);
        if (!table) {
            spdlog::error("the tokens stay as they were: {}", table.error().message);
            return;
        }
        spdlog::info("read {} token(s)", table->size());
        application.replace_tokens(std::move(table).value());
    };
    callbacks.on_stopping = [] {
        ::sd_notify(0, "STOPPING=1");
        spdlog::info("finishing what runs");
    };
    callbacks.on_tick = [&application, last_ns = monotonic_ns()]() mutable {
        ::sd_notify(0, "WATCHDOG=1");
        if (monotonic_ns() - last_ns < retention_interval_ns) return;
        last_ns = monotonic_ns();
        application.apply_retention();
    };
    return callbacks;
}

int fail(const Error& error, ExitCode code) {
    spdlog::error("{}", error.message);
    return code;
}

int serve(Arguments& arguments) {
    start_program_log();
    std::signal(SIGPIPE, SIG_IGN);
    for (const Status& status :
         {read_timeout("--header-timeout", arguments.header_timeout, arguments.http.header_timeout),
          read_timeout("--body-timeout", arguments.body_timeout, arguments.http.body_timeout)})
        if (!status) return fail(status.error(), wrong_options);
    const auto limits = read_limits(arguments);
    if (!limits) return fail(limits.error(), wrong_options);
    auto tokens = read_tokens(arguments);
    if (!tokens) return fail(tokens.error(), wrong_options);
    auto parts = open_parts(arguments, *limits, std::move(tokens).value());
    if (!parts) return fail(parts.error(), failed);
    auto server =
        HttpServer::listen(arguments.http, *parts->application, make_callbacks(arguments, *parts->application));
    if (!server) return fail(server.error(), failed);
    spdlog::info("listening on {}, data in {}", (*server)->address(), arguments.data);
    if (parts->application->needs_tokens() && arguments.http.tls_certificate.empty() &&
        !is_loopback(arguments.http.listen).value())
        spdlog::warn("plain HTTP shows tokens to the network; use --tls-certificate or a proxy with TLS");
    ::sd_notify(0, ("READY=1\nSTATUS=listening on " + (*server)->address()).c_str());
    const bool all_finished = (*server)->run();
    if (!all_finished) spdlog::warn("cut off requests that ran after the deadline");
    spdlog::info("stopped");
    return all_finished ? done : failed;
}

int print_token(const Arguments& arguments) {
    const auto scope = parse_scope(arguments.token_scope);
    const auto fresh = scope ? make_token(arguments.token_name, *scope) : Result<FreshToken>(scope.error());
    if (!fresh) {
        fmt::print(stderr, "lagtrap-server token: {}\n", fresh.error().message);
        return wrong_options;
    }
    fmt::print("token, for its owner's token file (shown once):\n{}\nline for the server's --token-file:\n{}\n",
               fresh->token, fresh->line);
    return done;
}

}  // namespace
}  // namespace lagtrap::server

int main(int argc, char** argv) {
    using namespace lagtrap::server;
    Arguments arguments;
    CLI::App app{"Receives, keeps and shows the bundles of lagtrap."};
    app.add_option("--listen", arguments.http.listen, "address and port")->capture_default_str();
    app.add_option("--data", arguments.data, "folder for database and bundles")->capture_default_str();
    app.add_option("--token-file", arguments.token_file, "lines \"NAME SCOPE TOKEN_SHA256\"; read again at SIGHUP");
    app.add_option("--tls-certificate", arguments.http.tls_certificate, "PEM file with the certificate chain");
    app.add_option("--tls-key", arguments.http.tls_key, "PEM file with the private key");
    app.add_option("--max-bundle", arguments.bundle_limit, "largest bundle taken")->capture_default_str();
    app.add_option("--keep-size", arguments.keep_size, "remove the oldest bundles beyond this size, such as 100GiB");
    app.add_option("--keep-for", arguments.keep_for, "remove bundles older than this, such as 90d");
    app.add_option("--max-connections", arguments.http.connections, "connections at once")
        ->capture_default_str()
        ->check(CLI::Range(1, 100'000));
    app.add_option("--header-timeout", arguments.header_timeout, "for a request's header")->capture_default_str();
    app.add_option("--body-timeout", arguments.body_timeout, "without a byte of a body")->capture_default_str();
    app.set_version_flag("--version", "lagtrap-server " LAGTRAP_VERSION);
    CLI::App* token = app.add_subcommand("token", "make a token; prints it and the line for --token-file");
    token->add_option("name", arguments.token_name, "letters, digits, dot, dash, underscore")->required();
    token->add_option("--scope", arguments.token_scope, "upload, read or admin")->required();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? done : wrong_options;
    }
    return token->parsed() ? print_token(arguments) : serve(arguments);
}
