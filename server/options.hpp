// The command line as given; sizes and durations are still texts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/accounts/token_file.hpp"
#include "server/admin_commands.hpp"
#include "server/api/application.hpp"
#include "server/api/http_server.hpp"
#include "server/ingest/ingest.hpp"
#include "server/tell/teller.hpp"

namespace lagtrap::server {

struct Options {
    HttpOptions http;
    std::string data = "/var/lib/lagtrap-server";
    std::string store;       // "sqlite:PATH" or "postgresql://..."; empty: lagtrap.sqlite in `data`
    std::string store_file;  // holds what `store` would say
    std::string store_cache = "128MiB";
    std::string blobs;  // a folder or "s3://..."; empty: `data`
    std::string token_file;
    std::vector<std::string> trusted_proxies;
    std::string bundle_limit = "1GiB";
    std::string keep_size, keep_for, keep_runs_size, keep_runs_for;
    std::string header_timeout = "10s";
    std::string body_timeout = "30s";
    std::string upload_rate;  // bytes a second
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

    // Of commands.
    std::string name, role, password_name, file, label;
    NewToken token;
    Team team;
    std::string account;
};

// Ranges and spellings; errors name the option.
[[nodiscard]] Status read_timeouts(Options& options);
[[nodiscard]] Status read_proxies(Options& options);
[[nodiscard]] Result<IngestLimits> read_ingest_limits(const Options& options);
[[nodiscard]] Result<SenderLimits> read_sender_limits(const Options& options);
[[nodiscard]] Result<TellerOptions> read_teller_options(const Options& options);
// The provider by which people sign in, where one is named.
[[nodiscard]] Result<std::unique_ptr<OidcProvider>> read_provider(const Options& options);
// Where pages open traces; empty: nowhere.
[[nodiscard]] Result<std::string> read_trace_viewer(const Options& options);
// Of the addresses of pages and API.
[[nodiscard]] Result<BasePath> read_base_path(const Options& options);
// The table of the token file, where one is named.
[[nodiscard]] Result<std::optional<TokenTable>> read_token_file(const Options& options);

// What open_store() and open_blobs() want to hear. A password in `store` is refused.
[[nodiscard]] Result<std::string> store_address(const Options& options);
[[nodiscard]] Result<std::uint64_t> store_cache_bytes(const Options& options);
[[nodiscard]] std::string blobs_address(const Options& options);
// Both make the folder of the data where there is none.
[[nodiscard]] Result<std::unique_ptr<Store>> open_chosen_store(const Options& options);
[[nodiscard]] Result<std::unique_ptr<Blobs>> open_chosen_blobs(const Options& options);

}  // namespace lagtrap::server
