#include "server/serve.hpp"

#include <systemd/sd-daemon.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <spdlog/spdlog.h>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "core/heap.hpp"
#include "core/program_log.hpp"

namespace lagtrap::server {
namespace {

// Old or excess data is removed within a minute.
constexpr std::uint64_t retention_interval_ns = 50ULL * 1'000'000'000ULL;
constexpr std::uint64_t maintenance_interval_ns = 300ULL * 1'000'000'000ULL;
constexpr std::uint64_t freeing_interval_ns = 10ULL * 1'000'000'000ULL;

int fail(const Error& error, ExitCode code) {
    spdlog::error("{}", error.message);
    return code;
}

// Everything that lives while the server runs, in order of construction.
struct Running {
    std::unique_ptr<Store> store;
    std::unique_ptr<Blobs> blobs;
    std::unique_ptr<JobRunner> jobs;
    std::unique_ptr<AlertSender> alert_sender;
    std::unique_ptr<OidcProvider> provider;
    std::unique_ptr<Ingest> ingest;
    std::unique_ptr<Application> application;
};

Result<Running> open_parts(const Options& options, const IngestLimits& limits,
                           const SenderLimits& sender_limits, BasePath base,
                           std::optional<TokenTable> tokens) {
    const auto log = [](const std::string& line) { spdlog::info("{}", line); };
    Running parts;
    TRY_ASSIGN(parts.store, open_chosen_store(options));
    TRY_ASSIGN(parts.blobs, open_chosen_blobs(options));
    if (parts.blobs->leftovers_removed() > 0)
        spdlog::info("removed {} half-received bundle(s)", parts.blobs->leftovers_removed());
    parts.jobs = std::make_unique<JobRunner>(*parts.store, *parts.blobs, log);
    TRY_ASSIGN(AlertOptions alert_options, read_alert_options(options));
    parts.alert_sender = std::make_unique<AlertSender>(*parts.store, std::move(alert_options), log);
    TRY_ASSIGN(parts.provider, read_provider(options));
    TRY_ASSIGN(const std::string trace_viewer, read_trace_viewer(options));
    JobRunner& jobs = *parts.jobs;
    parts.ingest =
        std::make_unique<Ingest>(*parts.blobs, *parts.store, limits, [&jobs] { jobs.wake(); });
    TRY_ASSIGN(const Reconciled mended, parts.ingest->reconcile(ClockSnapshot::take().realtime_ns));
    if (mended.rows_added > 0)
        spdlog::warn("listed {} bundle(s) that were stored unlisted", mended.rows_added);
    if (mended.rows_removed > 0)
        spdlog::warn("dropped {} listed bundle(s) whose files are missing", mended.rows_removed);
    parts.application = std::make_unique<Application>(
        Parts{*parts.store, *parts.ingest, *parts.jobs, *parts.alert_sender, log,
              parts.provider.get(), trace_viewer},
        sender_limits, std::move(base), std::move(tokens));
    return parts;
}

// Without accounts and tokens, everybody who reaches the server may do everything, so only this
// machine may reach it.
Status check_openness(const Options& options, Application& application) {
    TRY_ASSIGN(const bool loopback, is_loopback(options.http.listen));
    TRY_ASSIGN(const bool open, application.is_open());
    if (!open || (loopback && !options.http.behind_proxy)) return success();
    return make_error(
        ErrorKind::Denied,
        "without accounts, tokens or --token-file, the server listens only on loopback, not on " +
            options.http.listen +
            "; create an account with: lagtrap-server user add NAME --role admin");
}

void maintain(Running& parts) {
    if (const auto status = parts.store->upkeep().maintain(ClockSnapshot::take().realtime_ns);
        !status)
        spdlog::warn("the store's upkeep: {}", status.error().message);
    parts.jobs->close_failed_jobs();
}

// Takes what happens to the HTTP server.
class Caretaker {
  public:
    // Both must outlive it.
    Caretaker(const Options& options, Running& parts) : options_(options), parts_(parts) {}

    void take(const HungUp& /*fact*/) {
        if (options_.token_file.empty()) return;
        auto table = TokenTable::load(options_.token_file);
        if (!table) {
            spdlog::error("the tokens are unchanged: {}", table.error().message);
            return;
        }
        spdlog::info("read {} token(s)", table->size());
        parts_.application->replace_tokens(std::move(table).value());
    }
    void take(const CertificateReloaded& reloaded) {
        if (reloaded.done)
            spdlog::info("reloaded the certificate");
        else
            spdlog::error("the certificate is unchanged: {}", reloaded.done.error().message);
    }
    void take(const Stopping& /*fact*/) {
        ::sd_notify(0, "STOPPING=1");
        spdlog::info("finishing running requests");
    }
    void take(const Tick& /*fact*/) {
        ::sd_notify(0, "WATCHDOG=1");
        const std::uint64_t now_ns = monotonic_ns();
        if (is_due(upkeep_ns_, maintenance_interval_ns, now_ns)) maintain(parts_);
        if (is_due(freed_ns_, freeing_interval_ns, now_ns)) return_free_memory();
        if (!is_due(retention_ns_, retention_interval_ns, now_ns)) return;
        parts_.application->remove_old_bundles();
        parts_.application->remove_old_runs();
    }

  private:
    static bool is_due(std::uint64_t& last_ns, std::uint64_t interval_ns, std::uint64_t now_ns) {
        if (now_ns - last_ns < interval_ns) return false;
        last_ns = now_ns;
        return true;
    }

    const Options& options_;
    Running& parts_;
    std::uint64_t retention_ns_ = monotonic_ns(), upkeep_ns_ = retention_ns_,
                  freed_ns_ = retention_ns_;
};

}  // namespace

int serve(Options& options) {
    start_program_log();
    std::signal(SIGPIPE, SIG_IGN);
    if (const auto status = read_timeouts(options); !status)
        return fail(status.error(), wrong_options);
    if (const auto status = read_proxies(options); !status)
        return fail(status.error(), wrong_options);
    const auto limits = read_ingest_limits(options);
    if (!limits) return fail(limits.error(), wrong_options);
    const auto sender_limits = read_sender_limits(options);
    if (!sender_limits) return fail(sender_limits.error(), wrong_options);
    if (const auto address = store_address(options); !address)
        return fail(address.error(), wrong_options);
    if (const auto cache = store_cache_bytes(options); !cache)
        return fail(cache.error(), wrong_options);
    if (const auto alert_sender = read_alert_options(options); !alert_sender)
        return fail(alert_sender.error(), wrong_options);
    if (const auto trace_viewer = read_trace_viewer(options); !trace_viewer)
        return fail(trace_viewer.error(), wrong_options);
    auto base = read_base_path(options);
    if (!base) return fail(base.error(), wrong_options);
    if (const auto provider = read_provider(options); !provider)
        return fail(provider.error(), wrong_options);
    auto tokens = read_token_file(options);
    if (!tokens) return fail(tokens.error(), wrong_options);
    auto parts = open_parts(options, *limits, *sender_limits, *base, std::move(tokens).value());
    if (!parts) return fail(parts.error(), failed);
    if (const auto status = check_openness(options, *parts->application); !status)
        return fail(status.error(), wrong_options);
    Caretaker caretaker(options, *parts);
    auto server =
        HttpServer::listen(options.http, *parts->application, [&caretaker](const auto& report) {
            std::visit([&](const auto& happened) { caretaker.take(happened); }, report);
        });
    if (!server) return fail(server.error(), failed);
    maintain(*parts);
    parts->application->remove_old_bundles();
    parts->jobs->start(options.parsers);
    parts->alert_sender->start();
    spdlog::info("listening on {}{}, data in {}", (*server)->address(), base->text(), options.data);
    if (options.http.tls_certificate.empty() && !options.http.behind_proxy &&
        !is_loopback(options.http.listen).value())
        spdlog::warn(
            "plain HTTP exposes tokens; use --tls-certificate, or a proxy with TLS and "
            "--behind-proxy");
    ::sd_notify(0, ("READY=1\nSTATUS=listening on " + (*server)->address()).c_str());
    const bool all_finished = (*server)->run();
    parts->alert_sender->stop();
    parts->jobs->stop();
    if (!all_finished) spdlog::warn("aborted requests that ran past the deadline");
    spdlog::info("stopped");
    return all_finished ? done : failed;
}

}  // namespace lagtrap::server
