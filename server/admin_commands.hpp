// What the server's operator does on the command line: accounts, tokens, backup, check. Each opens the store, which a
// running server may use at the same time, and prints to standard output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "server/store/blobs.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

// The password is asked for twice on a terminal, and is the first line of standard input otherwise.
[[nodiscard]] Status add_user(Store& store, const std::string& name, const std::string& role);
[[nodiscard]] Status list_users(Store& store);
// Refuses to remove the last admin, or to make it something else.
[[nodiscard]] Status remove_user(Store& store, const std::string& name);
// Ends the account's sessions.
[[nodiscard]] Status change_password(Store& store, const std::string& name);
[[nodiscard]] Status change_role(Store& store, const std::string& name, const std::string& role);

struct NewToken {
    std::string name;
    std::string scope;
    std::string host;     // empty: any
    std::string group;    // a label; may be empty
    std::string expires;  // a duration from now; empty: never
    bool quiet = false;   // the token alone goes to standard output
};
// Says on standard error what follows where nobody has an account yet.
[[nodiscard]] Status add_token(Store& store, const NewToken& token);
[[nodiscard]] Status list_tokens(Store& store);
// By id, or by name where only one has it.
[[nodiscard]] Status revoke_token(Store& store, const std::string& id_or_name);

// Makes a team, or gives one other patterns and groups.
[[nodiscard]] Status set_team(Store& store, const Team& team);
[[nodiscard]] Status list_teams(Store& store);
// Refuses as long as somebody in it is in no other team.
[[nodiscard]] Status remove_team(Store& store, const std::string& name);
[[nodiscard]] Status join_team(Store& store, const std::string& team, const std::string& account);
// Says so where the account sees nothing from then on.
[[nodiscard]] Status leave_team(Store& store, const std::string& team, const std::string& account);

// `build`: a build id, or the beginning of one that runs have. An empty name takes the name away. Without a build: lists
// the names.
[[nodiscard]] Status label_build(Store& store, const std::string& build, const std::string& name);
[[nodiscard]] Status list_build_labels(Store& store);

[[nodiscard]] Status make_backup(Store& store, const std::string& file);
// Prints complaints; an error if there are any. Reads everything.
[[nodiscard]] Status check_all(Store& store, Blobs& blobs);

}  // namespace lagtrap::server
