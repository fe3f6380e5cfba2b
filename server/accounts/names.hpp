// The spelling of account names, token names, roles and scopes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/result.hpp"
#include "server/store/account_store.hpp"

namespace lagtrap::server {

// 1 to 64 letters, digits, dots, dashes, underscores and "@".
[[nodiscard]] Status check_account_name(std::string_view name);
// As for accounts, without "@".
[[nodiscard]] Status check_token_name(std::string_view name);

// "reader", "uploader" or "admin".
[[nodiscard]] Result<Role> parse_role(std::string_view text);
[[nodiscard]] const char* role_name(Role role);

// "read", "upload" or "admin"; gives bits of TokenScope.
[[nodiscard]] Result<std::uint32_t> parse_token_scope(std::string_view text);
// The name of the widest scope among `scopes`.
[[nodiscard]] const char* token_scope_name(std::uint32_t scopes);

}  // namespace lagtrap::server
