// Principals: who sends a request, and what they may do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/store/account_store.hpp"
#include "server/store/sight.hpp"
#include "server/store/token_store.hpp"

namespace lagtrap::server {

enum class Right { Read, Upload, Administer };

// "read", "upload" or "admin", as in token scopes and token files.
[[nodiscard]] const char* right_name(Right right);

struct Principal {
    enum class Kind {
        Anybody,  // gave no credentials, or needs none
        Local,    // the server has neither tokens nor accounts and answers only this machine
        Token,
        Session,
    };
    Kind kind = Kind::Anybody;
    std::string name;  // of the token or account; empty for Anybody and Local
    bool may_read = false;
    bool may_upload = false;
    bool may_administer = false;
    std::string host;                // the only host that uploads may name; empty: any
    std::string session_digest;      // of a session
    std::uint64_t expires_ns = 0;    // of a session; 0: never
    bool has_password = false;       // of a session: its account signs in with a password
    SightRef sight;                  // what they see; null: everything
    std::vector<std::string> teams;  // names, if they see only what their teams see

    [[nodiscard]] bool may(Right right) const {
        if (may_administer) return true;
        return right == Right::Read ? may_read : right == Right::Upload && may_upload;
    }
    // "admin", "uploader" or "reader". A token that may only upload is an uploader too.
    [[nodiscard]] const char* role() const {
        if (may_administer) return "admin";
        return may_upload ? "uploader" : "reader";
    }
};

}  // namespace lagtrap::server
