// By which provider of OpenID Connect people sign in, and what its groups may do here.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/account_store.hpp"

namespace lagtrap::server {

struct OidcSettings {
    std::string issuer;  // "https://login.example/realms/main", as the provider writes it itself
    std::string client_id;
    std::string client_secret;  // empty: a public client, which PKCE alone protects
    std::string title;          // for people; by default the issuer's host
    std::string scopes = "openid profile email";
    std::string name_claim = "preferred_username";
    std::string groups_claim = "groups";
    std::string ca_file;  // empty: the system's
    struct GroupRole {
        std::string group;  // "*": whoever can sign in at the provider
        Role role;
    };
    std::vector<GroupRole> roles;

    // The widest role of the groups; nothing if none of them has one.
    [[nodiscard]] std::optional<Role> role_of(const std::vector<std::string>& groups) const;
};

// Lines of a name and a value: issuer, client_id, client_secret, title, scopes, name_claim, groups_claim, ca_file, and any
// number of "admin GROUP", "uploader GROUP" and "reader GROUP"; "#" begins a comment. Denied where every user may read it.
[[nodiscard]] Result<OidcSettings> read_oidc_settings(const std::filesystem::path& path);

// Whether secrets may go to an address: https, or http to this machine.
[[nodiscard]] bool is_safe_address(std::string_view url);

}  // namespace lagtrap::server
