#include "server/accounts/names.hpp"

#include <string>

#include "core/text.hpp"
#include "server/store/token_store.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t name_limit = 64;
constexpr std::string_view account_letters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@";
constexpr std::string_view token_letters = account_letters.substr(0, account_letters.size() - 1);

Status check_name(std::string_view name, std::string_view letters, const char* expected) {
    if (!name.empty() && name.size() <= name_limit &&
        name.find_first_not_of(letters) == std::string_view::npos)
        return success();
    return make_error(ErrorKind::Invalid, "name is \"" + printable(name.substr(0, name_limit)) +
                                              "\"; expected 1 to 64 of " + expected);
}

}  // namespace

Status check_account_name(std::string_view name) {
    return check_name(name, account_letters, "letters, digits, dot, dash, underscore, at");
}

Status check_token_name(std::string_view name) {
    return check_name(name, token_letters, "letters, digits, dot, dash, underscore");
}

Result<Role> parse_role(std::string_view text) {
    for (const Role role : {Role::Reader, Role::Uploader, Role::Admin})
        if (text == role_name(role)) return role;
    return make_error(ErrorKind::Invalid, "role is \"" + printable(text.substr(0, name_limit)) +
                                              "\"; expected reader, uploader or admin");
}

const char* role_name(Role role) {
    switch (role) {
        case Role::Reader: return "reader";
        case Role::Uploader: return "uploader";
        case Role::Admin: break;
    }
    return "admin";
}

Result<std::uint32_t> parse_token_scope(std::string_view text) {
    if (text == "read") return static_cast<std::uint32_t>(ScopeRead);
    if (text == "upload") return static_cast<std::uint32_t>(ScopeUpload);
    if (text == "admin") return static_cast<std::uint32_t>(ScopeAdmin);
    return make_error(ErrorKind::Invalid, "scope is \"" + printable(text.substr(0, name_limit)) +
                                              "\"; expected read, upload or admin");
}

const char* token_scope_name(std::uint32_t scopes) {
    if ((scopes & ScopeAdmin) != 0) return "admin";
    return (scopes & ScopeUpload) != 0 ? "upload" : "read";
}

}  // namespace lagtrap::server
