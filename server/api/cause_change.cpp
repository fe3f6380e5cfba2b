#include "server/api/cause_change.hpp"

#include <string_view>

#include "server/api/build_routes.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t owner_limit_bytes = 64;
constexpr std::size_t note_limit_bytes = 4000;
constexpr std::size_t link_limit_bytes = 500;

// Reads optional strings.
std::optional<Refusal> take_optional(const json::object& body, std::string_view name,
                                     std::size_t limit_bytes, std::optional<std::string>& into) {
    if (!body.contains(name)) return std::nullopt;
    auto text = read_text(body, name, limit_bytes);
    if (const auto* wrong = std::get_if<Refusal>(&text)) return *wrong;
    into = std::move(std::get<std::string>(text));
    return std::nullopt;
}

std::optional<Refusal> take_status(const json::object& body, CauseChange& change) {
    std::optional<std::string> status, build;
    if (auto wrong = take_optional(body, "status", build_id_limit_bytes, status)) return wrong;
    if (auto wrong = take_optional(body, "resolved_build", build_id_limit_bytes, build))
        return wrong;
    if (build && (!status || *status != "resolved"))
        return Refusal{400, "\"resolved_build\" goes with \"status\": \"resolved\""};
    if (!status) return std::nullopt;
    if (*status != "known" && *status != "resolved")
        return Refusal{400, "\"status\": expected known or resolved",
                       "new and regressed are found, not set"};
    change.status = *status == "known" ? CauseStatus::Known : CauseStatus::Resolved;
    change.resolved_build = build.value_or("");
    return std::nullopt;
}

}  // namespace

std::variant<CauseChange, Refusal> read_cause_change(const json::object& body) {
    CauseChange change;
    if (auto wrong = take_status(body, change)) return *wrong;
    if (auto wrong = take_optional(body, "owner", owner_limit_bytes, change.owner)) return *wrong;
    if (auto wrong = take_optional(body, "note", note_limit_bytes, change.note)) return *wrong;
    if (auto wrong = take_optional(body, "link", link_limit_bytes, change.link)) return *wrong;
    // The page shows it as a link, so a scheme that runs scripts must not pass.
    if (change.link && !change.link->empty() && !change.link->starts_with("https://") &&
        !change.link->starts_with("http://"))
        return Refusal{400, "\"link\": expected an address that begins with https:// or http://"};
    std::optional<std::string> part_of;
    constexpr std::size_t id_limit_bytes = 20;
    if (auto wrong = take_optional(body, "part_of", id_limit_bytes, part_of)) return *wrong;
    if (part_of) {
        change.root = part_of->empty() ? std::optional<std::uint64_t>(0) : read_digits(*part_of);
        if (!change.root)
            return Refusal{400, "\"part_of\": expected the id of a cause, or nothing"};
    }
    return change;
}

}  // namespace lagtrap::server
