// The texts that the server answers with.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/ingest/ingest.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

// {"bundles":[...],"next":NUMBER or null}: `next` is the `before` of the following page.
[[nodiscard]] std::string list_json(const std::vector<BundleRow>& rows, std::uint32_t limit);
// {"digest":"...","bytes":N,"stored":"new"|"already"}, with "bad" where the bundle can not be read.
[[nodiscard]] std::string stored_json(const Stored& stored);
// {"error":"..."}.
[[nodiscard]] std::string error_json(std::string_view message);

// The list for people. Every text of a bundle is escaped.
[[nodiscard]] std::string list_page(const std::vector<BundleRow>& rows, std::uint32_t limit, const Totals& totals);
[[nodiscard]] std::string_view page_style();
// Allows our own style sheet and nothing else.
inline constexpr std::string_view page_policy =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

[[nodiscard]] std::string escape_html(std::string_view text);

}  // namespace lagtrap::server
