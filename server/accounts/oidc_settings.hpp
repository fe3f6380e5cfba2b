// Settings of single sign-on: the OpenID Connect provider, and the roles of its groups.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/account_store.hpp"

namespace lagtrap::server {

struct OidcSettings {
    std::string issuer;  // "https://login.example/realms/main", exactly as the provider spells it
    std::string client_id;
    std::string client_secret;  // empty: a public client, protected by PKCE only
    std::string title;          // shown to people; by default the issuer's host
    std::string scopes = "openid profile email";
    std::string name_claim = "preferred_username";
    std::string groups_claim = "groups";
    std::string ca_file;  // empty: the system's
    struct GroupRole {
        std::string group;  // "*": everybody who can sign in at the provider
        Role role;
    };
    std::vector<GroupRole> roles;

    // The widest role of these groups; nullopt if none of them has one.
    [[nodiscard]] std::optional<Role> role_of(const std::vector<std::string>& groups) const;
};

// Reads lines of a name and a value: issuer, client_id, client_secret, title, scopes, name_claim,
// groups_claim, ca_file, and any number of "admin GROUP", "uploader GROUP" and "reader GROUP". "#"
// begins a comment. Denied if every user may read the file.
[[nodiscard]] Result<OidcSettings> read_oidc_settings(const std::filesystem::path& path);

// Whether secrets may be sent to this address: https, or http to this machine.
[[nodiscard]] bool is_safe_address(std::string_view url);

}  // namespace lagtrap::server
