#include "uploader/target.hpp"

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>

#include "core/files.hpp"
#include "core/text.hpp"

namespace lagtrap::uploader {
namespace {

constexpr std::uint64_t token_limit_bytes = 4096;

struct FreeUrl {
    void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, FreeUrl>;

// Part of an address; empty if missing.
std::string part_of(const Url& url, CURLUPart part) {
    char* text = nullptr;
    if (curl_url_get(url.get(), part, &text, 0) != CURLUE_OK) return {};
    std::string copy = text;
    curl_free(text);
    return copy;
}

bool is_this_machine(const std::string& host) {
    const bool digits_only = host.find_first_not_of("0123456789.") == std::string::npos;
    return host == "localhost" || host == "[::1]" || (digits_only && host.starts_with("127."));
}

Error invalid(const std::string& address, const char* what) {
    return make_error(ErrorKind::Invalid, "upload address \"" + printable(address) + "\": " + what);
}

}  // namespace

Result<Target> make_target(const settings::Upload& upload, PlainHttp plain_http) {
    const Url url(curl_url());
    if (url == nullptr) return make_error(ErrorKind::System, "out of memory");
    if (upload.url.find("://") == std::string::npos ||
        curl_url_set(url.get(), CURLUPART_URL, upload.url.c_str(), CURLU_NON_SUPPORT_SCHEME) !=
            CURLUE_OK)
        return invalid(upload.url, "not an address; expected https://host[:port][/path]");
    const std::string scheme = part_of(url, CURLUPART_SCHEME);
    const std::string host = part_of(url, CURLUPART_HOST);
    if (scheme != "https" && scheme != "http")
        return invalid(upload.url, "only https and http are supported");
    if (!part_of(url, CURLUPART_USER).empty() || !part_of(url, CURLUPART_PASSWORD).empty())
        return invalid(upload.url, "contains a user or password; use a token file");
    if (!part_of(url, CURLUPART_QUERY).empty() || !part_of(url, CURLUPART_FRAGMENT).empty())
        return invalid(upload.url, "must not have a query or fragment");
    if (scheme == "http" && plain_http == PlainHttp::Refuse && !is_this_machine(host))
        return invalid(upload.url,
                       "plain http would expose token and bundles; use https, or allow it");

    Target target;
    target.url = part_of(url, CURLUPART_URL);
    while (target.url.ends_with('/')) target.url.pop_back();
    target.token_file = upload.token_file;
    target.ca_file = upload.ca_file;
    target.proxy = upload.proxy;
    target.timeout = upload.timeout;
    return target;
}

std::string entry_url(const Target& target, spool::EntryKind kind, std::string_view digest) {
    if (kind == spool::EntryKind::Spans) return target.url + "/v1/traces";
    const char* const folder =
        kind == spool::EntryKind::Batch ? "/api/v1/batches/" : "/api/v1/bundles/";
    return target.url + folder + std::string(digest);
}

Result<std::string> read_token(const std::string& path) {
    TRY_ASSIGN(const UniqueFd fd, open_file(path, O_RDONLY));
    struct stat facts {};
    if (::fstat(fd.get(), &facts) != 0) return system_error(path);
    if ((facts.st_mode & 0007) != 0)
        return make_error(ErrorKind::Denied, path + ": readable by every user; run chmod o= on it");
    auto content = read_all(fd.get(), token_limit_bytes);
    if (!content) return content.error().within(path);
    std::string token = std::move(content).value();
    while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
    const bool plain =
        std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
    if (token.empty() || !plain)
        return make_error(ErrorKind::Invalid,
                          path + ": expected one line with a token of printable characters");
    return token;
}

}  // namespace lagtrap::uploader
