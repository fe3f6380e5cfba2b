#include "server/options.hpp"

#include "core/duration.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "server/store/store_address.hpp"

namespace lagtrap::server {
namespace {

Status read_timeout(const char* option, const std::string& text,
                    std::chrono::milliseconds& target) {
    const auto duration = parse_duration(text);
    if (!duration) return duration.error().within(option);
    target = std::chrono::duration_cast<std::chrono::milliseconds>(*duration);
    if (target.count() == 0)
        return make_error(ErrorKind::Invalid, std::string(option) + ": expected at least 1ms");
    return success();
}

Status read_size(const char* option, const std::string& text,
                 std::optional<std::uint64_t>& target) {
    if (text.empty()) return success();
    const auto size = parse_byte_size(text);
    if (!size) return size.error().within(option);
    target = *size;
    return success();
}

Status read_age(const char* option, const std::string& text,
                std::optional<std::chrono::nanoseconds>& target) {
    if (text.empty()) return success();
    const auto duration = parse_duration(text);
    if (!duration) return duration.error().within(option);
    target = *duration;
    return success();
}

Status check_url(const char* option, const std::string& url, const char* example) {
    constexpr std::size_t url_limit_bytes = 200;
    const bool web = url.starts_with("https://") || url.starts_with("http://");
    if (url.empty() || (web && url.size() <= url_limit_bytes && printable(url) == url &&
                        url.find_first_of(" <>\"'?#;,") == std::string::npos))
        return success();
    return make_error(ErrorKind::Invalid, std::string(option) + " is \"" +
                                              printable(url).substr(0, url_limit_bytes) +
                                              "\"; expected an address such as " + example);
}

}  // namespace

Status read_timeouts(Options& options) {
    TRY(read_timeout("--header-timeout", options.header_timeout, options.http.header_timeout));
    return read_timeout("--body-timeout", options.body_timeout, options.http.body_timeout);
}

Status read_proxies(Options& options) {
    auto proxies = TrustedProxies::parse(options.trusted_proxies);
    if (!proxies) return proxies.error().within("--trusted-proxy");
    if (!proxies->empty() && !options.http.behind_proxy)
        return make_error(ErrorKind::Invalid, "--trusted-proxy needs --behind-proxy");
    options.http.trusted_proxies = std::move(proxies).value();
    return success();
}

Result<IngestLimits> read_ingest_limits(const Options& options) {
    IngestLimits limits;
    const auto bundle = parse_byte_size(options.bundle_limit);
    if (!bundle) return bundle.error().within("--max-bundle");
    limits.bundle_bytes = *bundle;
    TRY(read_size("--keep-size", options.keep_size, limits.keep_bytes));
    TRY(read_age("--keep-for", options.keep_for, limits.keep_for));
    TRY(read_size("--keep-runs-size", options.keep_runs_size, limits.keep_runs_bytes));
    TRY(read_age("--keep-runs-for", options.keep_runs_for, limits.keep_runs_for));
    return limits;
}

Result<SenderLimits> read_sender_limits(const Options& options) {
    SenderLimits limits;
    constexpr double burst_seconds = 4;
    limits.requests = {options.requests_per_second, options.requests_per_second * burst_seconds};
    limits.uploads_at_once = options.uploads_at_once;
    std::optional<std::uint64_t> rate;
    TRY(read_size("--upload-rate", options.upload_rate, rate));
    // Allow a minute's worth at once: bundles come in bursts.
    if (rate) limits.upload_bytes = {static_cast<double>(*rate), static_cast<double>(*rate) * 60};
    std::optional<std::uint64_t> quota;
    TRY(read_size("--daily-quota", options.daily_quota, quota));
    limits.daily_upload_bytes = quota.value_or(0);
    return limits;
}

Result<std::string> read_trace_viewer(const Options& options) {
    TRY(check_url("--trace-viewer", options.trace_viewer,
                  "https://ui.perfetto.dev, or nothing for no viewer"));
    return options.trace_viewer;
}

Result<AlertOptions> read_alert_options(const Options& options) {
    AlertOptions alert_sender;
    alert_sender.public_url = options.public_url;
    while (alert_sender.public_url.ends_with('/')) alert_sender.public_url.pop_back();
    TRY(check_url("--public-url", alert_sender.public_url, "https://lagtrap.example"));
    const auto interval = parse_duration(options.rule_interval);
    if (!interval) return interval.error().within("--rule-interval");
    if (*interval < std::chrono::seconds(1) || *interval > std::chrono::hours(24))
        return make_error(
            ErrorKind::Invalid,
            "--rule-interval is \"" + printable(options.rule_interval) + "\"; expected 1s to 24h");
    alert_sender.interval = *interval;
    if (options.allow_local_receivers) alert_sender.receivers = Receivers::Any;
    return alert_sender;
}

Result<std::unique_ptr<OidcProvider>> read_provider(const Options& options) {
    if (options.oidc_file.empty()) return std::unique_ptr<OidcProvider>();
    if (options.public_url.empty())
        return make_error(
            ErrorKind::Invalid,
            "--oidc-file needs --public-url: the provider sends users back to that address");
    auto settings = read_oidc_settings(options.oidc_file);
    if (!settings) return settings.error().within("--oidc-file");
    return std::make_unique<OidcProvider>(std::move(settings).value());
}

Result<BasePath> read_base_path(const Options& options) {
    auto base = BasePath::parse(options.base_path);
    if (!base) return base.error().within("--base-path");
    std::string_view url = options.public_url;
    while (url.ends_with('/')) url.remove_suffix(1);
    if (!url.empty() && !url.ends_with(base->text()))
        return make_error(ErrorKind::Invalid,
                          "--public-url is " + printable(url) + ", but the pages are below " +
                              base->text() + "; expected an address that ends with it, such as " +
                              printable(url) + base->text());
    return base;
}

Result<std::optional<TokenTable>> read_token_file(const Options& options) {
    if (options.token_file.empty()) return std::optional<TokenTable>();
    TRY_ASSIGN(TokenTable table, TokenTable::load(options.token_file));
    return std::optional(std::move(table));
}

Result<std::string> store_address(const Options& options) {
    if (!options.store.empty() && !options.store_file.empty())
        return make_error(ErrorKind::Invalid, "--store and --store-file exclude each other");
    if (!options.store_file.empty()) {
        auto address = read_store_file(options.store_file);
        if (!address) return address.error().within("--store-file");
        return address;
    }
    if (options.store.empty()) return options.data + "/lagtrap.sqlite";
    if (has_password(options.store))
        return make_error(ErrorKind::Invalid,
                          "--store contains a password, which every user of this machine can see "
                          "in the process list; use --store-file or PGPASSWORD");
    const auto address = parse_store_address(options.store);
    if (!address) return address.error().within("--store is \"" + printable(options.store) + "\"");
    return *address;
}

Result<std::uint64_t> store_cache_bytes(const Options& options) {
    constexpr std::uint64_t min_bytes = 1ULL << 20;
    constexpr std::uint64_t max_bytes = 1ULL << 40;
    const auto size = parse_byte_size(options.store_cache);
    if (!size) return size.error().within("--store-cache");
    if (*size < min_bytes || *size > max_bytes)
        return make_error(ErrorKind::Invalid, "--store-cache is \"" + options.store_cache +
                                                  "\"; expected 1MiB to 1024GiB");
    return *size;
}

std::string blobs_address(const Options& options) {
    return options.blobs.empty() ? options.data : options.blobs;
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

}  // namespace lagtrap::server
