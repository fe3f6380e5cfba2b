// The command line of lagtrap-server as given: sizes and durations are not parsed yet.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/accounts/token_file.hpp"
#include "server/admin_commands.hpp"
#include "server/alerts/alert_sender.hpp"
#include "server/api/application.hpp"
#include "server/api/http_server.hpp"
#include "server/ingest/ingest.hpp"

namespace lagtrap::server {

struct Options {
    HttpOptions http;
    std::string data = "/var/lib/lagtrap-server";
    std::string store;       // "sqlite:PATH" or "postgresql://..."; empty: lagtrap.sqlite in `data`
    std::string store_file;  // a file with the value for `store`
    std::string store_cache = "128MiB";
    std::string blobs;  // a folder or "s3://..."; empty: `data`
    std::string token_file;
    std::vector<std::string> trusted_proxies;
    std::string bundle_limit = "1GiB";
    std::string keep_size, keep_for, keep_runs_size, keep_runs_for;
    std::string header_timeout = "10s";
    std::string body_timeout = "30s";
    std::string upload_rate;  // bytes per second
    std::string daily_quota;  // bytes
    std::string public_url;
    std::string base_path;
    std::string trace_viewer;
    std::string oidc_file;
    std::string rule_interval = "60s";
    bool allow_local_receivers = false;
    double requests_per_second = 500;
    std::uint32_t uploads_at_once = 512;
    std::uint32_t parsers = 1;

    // For commands.
    std::string name, role, password_name, file, label;
    NewToken token;
    Team team;
    std::string account;
};

// Checks ranges and spelling; errors name the option.
[[nodiscard]] Status read_timeouts(Options& options);
[[nodiscard]] Status read_proxies(Options& options);
[[nodiscard]] Result<IngestLimits> read_ingest_limits(const Options& options);
[[nodiscard]] Result<SenderLimits> read_sender_limits(const Options& options);
[[nodiscard]] Result<AlertOptions> read_alert_options(const Options& options);
// The identity provider; null if none is configured.
[[nodiscard]] Result<std::unique_ptr<OidcProvider>> read_provider(const Options& options);
// Address of the trace viewer that pages open traces in; empty if there is none.
[[nodiscard]] Result<std::string> read_trace_viewer(const Options& options);
// The path prefix of pages and API.
[[nodiscard]] Result<BasePath> read_base_path(const Options& options);
// The token file's table, if one is configured.
[[nodiscard]] Result<std::optional<TokenTable>> read_token_file(const Options& options);

// The address for open_store(). Refuses a password in `store`.
[[nodiscard]] Result<std::string> store_address(const Options& options);
[[nodiscard]] Result<std::uint64_t> store_cache_bytes(const Options& options);
[[nodiscard]] std::string blobs_address(const Options& options);
// Both create the data folder if it is missing.
[[nodiscard]] Result<std::unique_ptr<Store>> open_chosen_store(const Options& options);
[[nodiscard]] Result<std::unique_ptr<Blobs>> open_chosen_blobs(const Options& options);

}  // namespace lagtrap::server
