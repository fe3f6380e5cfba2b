#include "cli/servers/bundle_fetch.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/control/status_fields.hpp"
#include "cli/servers/server_access.hpp"
#include "core/digest.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "spool/spool.hpp"

namespace lagtrap::cli {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t answer_limit_bytes = 16 << 20;
constexpr std::size_t page_rows = 500;
constexpr std::size_t pages_read = 40;
constexpr std::size_t causes_listed = 1000;
constexpr std::size_t causes_named = 5;

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char letter) { return std::tolower(letter); });
    return text;
}

std::string event_query(const BundleFilter& filter) {
    return filter.event.empty() ? "" : "&event=" + percent_encoded(filter.event);
}

std::string bundles_path(const BundleFilter& filter, const std::string& next) {
    std::string path = fmt::format("/api/v1/bundles?limit={}", page_rows) + event_query(filter);
    if (!filter.host.empty()) path += "&host=" + percent_encoded(filter.host);
    if (filter.since_realtime_ns > 0) path += fmt::format("&from={}", filter.since_realtime_ns);
    return next.empty() ? path : path + "&after=" + percent_encoded(next);
}

ServerBundle bundle_in(const json::object& row) {
    ServerBundle bundle;
    bundle.digest = text(row, "digest");
    bundle.session = text(row, "session");
    bundle.bytes = number(row, "bytes");
    bundle.host = text(row, "host");
    bundle.event = text(row, "event");
    bundle.delays = number(row, "delays");
    bundle.longest_delay_ns = number(row, "longest_delay_ns");
    bundle.unreadable = text(row, "bad_reason");
    return bundle;
}

bool is_id(const std::string& text) {
    return !text.empty() && text.size() <= 20 &&
           std::all_of(text.begin(), text.end(),
                       [](unsigned char digit) { return std::isdigit(digit) != 0; });
}

// Gives the file its name unless there is such a file.
Status name_new_file(const std::string& temporary, const fs::path& path) {
    if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0)
        return sync_directory(path.parent_path());
    // Some network file systems cannot rename like this, but link.
    if (errno != EINVAL || ::link(temporary.c_str(), path.c_str()) != 0)
        return system_error("create " + path.string());
    remove_file(temporary);
    return sync_directory(path.parent_path());
}

}  // namespace

std::string file_name_of(const ServerBundle& bundle) {
    const std::string name = spool::make_bundle_name(bundle.session, bundle.digest);
    if (spool::parse_entry_name(name)) return name;
    return "bundle-" + bundle.digest.substr(0, 16) + ".lagtrap.tar.zst";
}

Result<BundlePage> read_bundle_page(const std::string& answer) {
    TRY_ASSIGN(const json::object object, object_in(answer));
    const json::value* const rows = object.if_contains("bundles");
    if (rows == nullptr || !rows->is_array()) return not_as_described();
    BundlePage page;
    page.next = text(object, "next");
    for (const json::value& row : rows->as_array()) {
        if (!row.is_object()) return not_as_described();
        page.bundles.push_back(bundle_in(row.as_object()));
        if (!is_sha256_hex(page.bundles.back().digest)) return not_as_described();
    }
    return page;
}

Result<std::vector<std::string>> matching_causes(const std::string& answer,
                                                 const std::string& wanted) {
    TRY_ASSIGN(const json::object object, object_in(answer));
    std::vector<std::string> ids;
    std::string titles;
    std::size_t causes = 0;
    for (const json::value& row : list(object, "causes")) {
        if (!row.is_object()) return not_as_described();
        const std::string id = text(row.as_object(), "id"), title = text(row.as_object(), "title");
        if (!is_id(id)) return not_as_described();
        if (id == wanted || lower(title).find(lower(wanted)) != std::string::npos)
            ids.push_back(id);
        if (++causes <= causes_named) titles += "\n  " + id + "  " + title;
    }
    if (!ids.empty()) return ids;
    if (causes == 0)
        return make_error(ErrorKind::NotFound, "the server has not found any cause yet");
    if (causes > causes_named) titles += fmt::format("\n  and {} more", causes - causes_named);
    return make_error(ErrorKind::NotFound, "no cause has \"" + printable(wanted) +
                                               "\" in its title; there are" + titles);
}

Result<std::set<std::string>> BundleFetch::bundles_of_cause(const BundleFilter& filter) {
    TRY_ASSIGN(
        const std::string causes,
        transfer_.get(fmt::format("/api/v1/causes?limit={}", causes_listed) + event_query(filter),
                      answer_limit_bytes, keep_going_));
    TRY_ASSIGN(const auto ids, matching_causes(causes, filter.cause));
    std::set<std::string> digests;
    for (const std::string& id : ids) {
        TRY_ASSIGN(const std::string answer,
                   transfer_.get("/api/v1/causes/" + id, answer_limit_bytes, keep_going_));
        TRY_ASSIGN(const json::object cause, object_in(answer));
        for (const json::value& delay : list(cause, "newest_delays"))
            if (delay.is_object()) digests.insert(text(delay.as_object(), "bundle"));
    }
    digests.erase("");  // of delays whose bundle is gone
    return digests;
}

Result<std::vector<ServerBundle>> BundleFetch::find(const BundleFilter& filter) {
    std::set<std::string> of_cause;
    if (!filter.cause.empty()) {
        TRY_ASSIGN(of_cause, bundles_of_cause(filter));
    }
    std::vector<ServerBundle> found;
    std::string next;
    for (std::size_t pages = 0; pages < pages_read; ++pages) {
        TRY_ASSIGN(const std::string answer,
                   transfer_.get(bundles_path(filter, next), answer_limit_bytes, keep_going_));
        TRY_ASSIGN(BundlePage page, read_bundle_page(answer));
        for (ServerBundle& bundle : page.bundles) {
            if (found.size() == filter.limit) return found;
            if (filter.cause.empty() || of_cause.erase(bundle.digest) == 1)
                found.push_back(std::move(bundle));
        }
        next = page.next;
        if (next.empty() || (!filter.cause.empty() && of_cause.empty())) break;
    }
    return found;
}

Result<BundleFetch::Outcome> BundleFetch::fetch(const ServerBundle& bundle,
                                                const fs::path& folder) {
    const fs::path path = folder / file_name_of(bundle);
    std::error_code unknown;
    if (fs::exists(fs::symlink_status(path, unknown))) return Outcome::AlreadyThere;
    if (bundle.bytes > bundle_limit_bytes)
        return make_error(
            ErrorKind::TooLarge,
            fmt::format("the bundle has {}; at most {} are fetched", format_byte_size(bundle.bytes),
                        format_byte_size(bundle_limit_bytes)));
    std::string temporary = (folder / ".lagtrap-fetch-XXXXXX").string();
    TRY_ASSIGN(const UniqueFd file, make_temporary_file(temporary));
    const auto receive = [&]() -> Status {
        TRY_ASSIGN(const auto got, transfer_.download("/api/v1/bundles/" + bundle.digest,
                                                      file.get(), bundle.bytes, keep_going_));
        if (got.digest != bundle.digest)
            return make_error(ErrorKind::Invalid,
                              "what arrived has another digest, " + got.digest.substr(0, 16) +
                                  "...: it was damaged, or the server is not honest");
        if (::fsync(file.get()) != 0) return system_error("sync " + temporary);
        return name_new_file(temporary, path);
    };
    if (const Status received = receive(); !received) {
        remove_file(temporary);
        return received.error();
    }
    return Outcome::Fetched;
}

}  // namespace lagtrap::cli
