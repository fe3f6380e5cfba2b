#include "spool/entry_name.hpp"

#include <fmt/format.h>

namespace lagtrap::spool {
namespace {

constexpr std::string_view bundle_suffix = ".lagtrap.tar.zst";
constexpr std::string_view batch_suffix = ".runs.zst";
constexpr std::string_view spans_suffix = ".otlp.pb";
constexpr std::size_t uuid_length = 36;
constexpr std::size_t digest_prefix_length = 16;

bool is_lower_hex(std::string_view text) {
    return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_uuid(std::string_view text) {
    if (text.size() != uuid_length) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !is_lower_hex(text.substr(i, 1))) return false;
    }
    return true;
}

std::string_view suffix_of(EntryKind kind) {
    switch (kind) {
        case EntryKind::Batch: return batch_suffix;
        case EntryKind::Spans: return spans_suffix;
        case EntryKind::Bundle: break;
    }
    return bundle_suffix;
}

}  // namespace

std::optional<EntryName> parse_entry_name(std::string_view name) {
    const EntryKind kind = name.ends_with(batch_suffix)   ? EntryKind::Batch
                           : name.ends_with(spans_suffix) ? EntryKind::Spans
                                                          : EntryKind::Bundle;
    const std::string_view suffix = suffix_of(kind);
    if (name.size() != uuid_length + 1 + digest_prefix_length + suffix.size()) return std::nullopt;
    if (!name.ends_with(suffix) || name[uuid_length] != '-') return std::nullopt;
    const std::string_view id = name.substr(0, uuid_length);
    const std::string_view digest = name.substr(uuid_length + 1, digest_prefix_length);
    if (!is_uuid(id) || !is_lower_hex(digest)) return std::nullopt;
    return EntryName{std::string(id), std::string(digest), kind};
}

std::string make_bundle_name(std::string_view session_id, std::string_view digest) {
    return fmt::format("{}-{}{}", session_id, digest.substr(0, digest_prefix_length),
                       bundle_suffix);
}

std::string make_batch_name(std::string_view batch_id, std::string_view digest) {
    return fmt::format("{}-{}{}", batch_id, digest.substr(0, digest_prefix_length), batch_suffix);
}

std::string make_spans_name(std::string_view session_id, std::string_view digest) {
    return fmt::format("{}-{}{}", session_id, digest.substr(0, digest_prefix_length), spans_suffix);
}

}  // namespace lagtrap::spool
