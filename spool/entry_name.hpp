// The names of files that wait in the spool.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "spool/retention.hpp"

namespace lagtrap::spool {

// The parts of an entry's name: "SESSION-DIGEST16.lagtrap.tar.zst" for a bundle,
// "BATCH-DIGEST16.runs.zst" for a batch of runs, "SESSION-DIGEST16.otlp.pb" for a bundle's delays
// as spans.
struct EntryName {
    std::string id;             // of session or batch: lower-case UUID
    std::string digest_prefix;  // first 16 hexadecimal digits of the SHA-256 of the file
    EntryKind kind = EntryKind::Bundle;
};

// nullopt if `name` is not the complete name of an entry. Other files in the spool's folders are
// left alone.
[[nodiscard]] std::optional<EntryName> parse_entry_name(std::string_view name);
[[nodiscard]] std::string make_bundle_name(std::string_view session_id, std::string_view digest);
[[nodiscard]] std::string make_batch_name(std::string_view batch_id, std::string_view digest);
[[nodiscard]] std::string make_spans_name(std::string_view session_id, std::string_view digest);

}  // namespace lagtrap::spool
