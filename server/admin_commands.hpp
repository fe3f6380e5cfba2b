// The operator's commands: accounts, tokens, teams, build names, store check. They open the store,
// which a running server may use at the same time, and print to standard output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "server/store/blobs.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

// On a terminal, asks for the password twice; otherwise reads the first line of standard input.
[[nodiscard]] Status add_user(Store& store, const std::string& name, const std::string& role);
[[nodiscard]] Status list_users(Store& store);
// Refuses to remove or demote the last admin.
[[nodiscard]] Status remove_user(Store& store, const std::string& name);
// Also ends the account's sessions.
[[nodiscard]] Status change_password(Store& store, const std::string& name);
[[nodiscard]] Status change_role(Store& store, const std::string& name, const std::string& role);

struct NewToken {
    std::string name;
    std::string scope;
    std::string host;     // empty: any
    std::string group;    // a label; may be empty
    std::string expires;  // a duration from now; empty: never
    bool quiet = false;   // print only the token to standard output
};
// If there are no accounts yet, warns on standard error what the first token changes.
[[nodiscard]] Status add_token(Store& store, const NewToken& token);
[[nodiscard]] Status list_tokens(Store& store);
// By id, or by name if it is unique.
[[nodiscard]] Status revoke_token(Store& store, const std::string& id_or_name);

// Creates a team, or replaces its patterns and groups.
[[nodiscard]] Status set_team(Store& store, const Team& team);
[[nodiscard]] Status list_teams(Store& store);
// Refuses while a member is in no other team.
[[nodiscard]] Status remove_team(Store& store, const std::string& name);
[[nodiscard]] Status join_team(Store& store, const std::string& team, const std::string& account);
// Warns if the account sees nothing afterwards.
[[nodiscard]] Status leave_team(Store& store, const std::string& team, const std::string& account);

// `build` is a build id, or a prefix of one that runs have. An empty name removes the name. Without
// a build, lists the names.
[[nodiscard]] Status label_build(Store& store, const std::string& build, const std::string& name);
[[nodiscard]] Status list_build_labels(Store& store);

[[nodiscard]] Status make_backup(Store& store, const std::string& file);
// Prints complaints; an error if there are any. Reads all data.
[[nodiscard]] Status check_all(Store& store, Blobs& blobs);

}  // namespace lagtrap::server
