#include "cli/objects/objects_follower.hpp"

#include <algorithm>
#include <utility>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "calls/call_stream.hpp"
#include "cli/servers/server_access.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t parts_limit_bytes = 64 << 20;
constexpr std::size_t max_listed = 10;
constexpr std::chrono::seconds request_time{60};

std::string text_of(const json::object& object, std::string_view name) {
    const json::value* const value = object.if_contains(name);
    return value != nullptr && value->is_string() ? printable(std::string_view(value->as_string()))
                                                  : std::string();
}

std::uint64_t number_of(const json::object& object, std::string_view name) {
    const json::value* const value = object.if_contains(name);
    if (value == nullptr) return 0;
    boost::system::error_code failed;
    const auto number = value->to_number<std::uint64_t>(failed);
    return failed ? 0 : number;
}

bool flag_of(const json::object& object, std::string_view name) {
    const json::value* const value = object.if_contains(name);
    return value != nullptr && value->is_bool() && value->as_bool();
}

Result<std::vector<WatchOnServer>> watches_in(const std::string& answer) {
    TRY_ASSIGN(const json::object object, object_in(answer));
    const json::value* const rows = object.if_contains("watches");
    if (rows == nullptr || !rows->is_array()) return not_as_described();
    std::vector<WatchOnServer> watches;
    for (const json::value& row : rows->as_array()) {
        if (!row.is_object()) return not_as_described();
        const json::object& one = row.as_object();
        watches.push_back({text_of(one, "watch"), text_of(one, "host"), text_of(one, "process"),
                           static_cast<std::uint32_t>(number_of(one, "pid")),
                           flag_of(one, "ended")});
    }
    return watches;
}

std::string listed(const std::vector<WatchOnServer>& watches) {
    if (watches.empty())
        return "no machine has sent any yet; run `lagtrap objects --send ...` on the machine of "
               "the process";
    std::string text = "there are";
    for (const WatchOnServer& watch : watches) {
        if (&watch - watches.data() == static_cast<std::ptrdiff_t>(max_listed)) {
            text += fmt::format("\n  and {} more", watches.size() - max_listed);
            break;
        }
        text += fmt::format("\n  {}  {} ({}) on {}{}", watch.id, watch.process, watch.pid,
                            watch.host, watch.ended ? ", ended" : "");
    }
    return text;
}

FollowedPart part_in(const json::object& row) {
    FollowedPart part;
    part.lost_lines = number_of(row, "lost_lines");
    part.last = flag_of(row, "last");
    const json::value* const lines = row.if_contains("lines");
    const std::string_view text = lines != nullptr && lines->is_string()
                                      ? std::string_view(lines->as_string())
                                      : std::string_view();
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        if (end > begin && end - begin <= calls::line_limit_bytes)
            part.lines.emplace_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return part;
}

}  // namespace

Result<ObjectsFollower> ObjectsFollower::find(const FollowOptions& options) {
    TRY_ASSIGN(uploader::Transfer transfer,
               reach_server({options.url, options.token_file, options.ca_file}, request_time));
    const auto answer = transfer.get("/api/v1/objects", parts_limit_bytes, {});
    if (!answer) return hinted(answer.error(), !options.token_file.empty());
    TRY_ASSIGN(const auto watches, watches_in(*answer));
    const auto fits = [&](const WatchOnServer& watch) {
        return (options.watch.empty() || watch.id == options.watch) &&
               (options.host.empty() || watch.host == options.host) &&
               (options.process.empty() || watch.process == options.process ||
                std::to_string(watch.pid) == options.process);
    };
    // Prefer a running watch to one that has ended.
    auto found = std::find_if(watches.begin(), watches.end(), [&](const WatchOnServer& watch) {
        return fits(watch) && !watch.ended;
    });
    if (found == watches.end()) found = std::find_if(watches.begin(), watches.end(), fits);
    if (found == watches.end())
        return make_error(ErrorKind::NotFound, "the server has no such watch; " + listed(watches));
    return ObjectsFollower(std::move(transfer), *found, !options.token_file.empty());
}

Status ObjectsFollower::take(const std::string& answer) {
    TRY_ASSIGN(const json::object object, object_in(answer));
    const json::value* const rows = object.if_contains("parts");
    if (rows == nullptr || !rows->is_array()) return not_as_described();
    for (const json::value& row : rows->as_array()) {
        if (!row.is_object()) return not_as_described();
        const std::uint64_t number = number_of(row.as_object(), "number");
        if (number <= given_ || number > UINT32_MAX) continue;
        ahead_.insert_or_assign(static_cast<std::uint32_t>(number), part_in(row.as_object()));
    }
    return success();
}

// Parts are sent independently: a part that had to be resent may arrive after later ones.
Result<std::vector<FollowedPart>> ObjectsFollower::next(Clock::time_point now,
                                                        const volatile std::sig_atomic_t& stop) {
    const auto answer = transfer_.get(fmt::format("/api/v1/objects/{}?after={}", watch_.id, given_),
                                      parts_limit_bytes, [&stop] { return stop == 0; });
    if (!answer) return hinted(answer.error(), has_token_);
    TRY(take(*answer));
    std::vector<FollowedPart> parts;
    while (!ahead_.empty()) {
        const auto first = ahead_.begin();
        const std::uint32_t missing = first->first - given_ - 1;
        if (missing != 0 && !gap_since_) gap_since_ = now;
        if (missing != 0 && now - *gap_since_ < gap_timeout) break;
        gap_since_.reset();
        given_ = first->first;
        parts.push_back(std::move(first->second));
        parts.back().number = given_;
        parts.back().lost_parts = missing;
        ahead_.erase(first);
    }
    return parts;
}

}  // namespace lagtrap::cli
