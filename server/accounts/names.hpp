// What accounts, tokens, roles and scopes are called.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/result.hpp"
#include "server/store/account_store.hpp"

namespace lagtrap::server {

// 1 to 64 of letters, digits, dot, dash, underscore and at.
[[nodiscard]] Status check_account_name(std::string_view name);
// The same without the at.
[[nodiscard]] Status check_token_name(std::string_view name);

// "reader", "uploader", "admin".
[[nodiscard]] Result<Role> parse_role(std::string_view text);
[[nodiscard]] const char* role_name(Role role);

// "read", "upload", "admin"; TokenScope.
[[nodiscard]] Result<std::uint32_t> parse_token_scope(std::string_view text);
// The widest of them.
[[nodiscard]] const char* token_scope_name(std::uint32_t scopes);

}  // namespace lagtrap::server
