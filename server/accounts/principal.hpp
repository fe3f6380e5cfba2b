// Who asks, and what they may do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/store/sight.hpp"

namespace lagtrap::server {

enum class Right { Read, Upload, Administer };

// "read", "upload", "admin": the scopes of tokens and files of tokens.
[[nodiscard]] const char* right_name(Right right);

struct Principal {
    enum class Kind {
        Anybody,  // no proof was given, or none is needed
        Local,    // the server has neither tokens nor accounts and answers to this machine alone
        Token,
        Session,
    };
    Kind kind = Kind::Anybody;
    std::string name;  // of the token or account; empty for Anybody and Local
    bool may_read = false;
    bool may_upload = false;
    bool may_administer = false;
    std::string host;                // uploads may name this host alone; empty: any
    std::string session_digest;      // of a session
    std::uint64_t expires_ns = 0;    // of a session; 0: never
    bool has_password = false;       // of a session: an account that signs in with one
    SightRef sight;                  // what they see; null: everything
    std::vector<std::string> teams;  // by name, of whoever sees their own alone

    [[nodiscard]] bool may(Right right) const {
        if (may_administer) return true;
        return right == Right::Read ? may_read : right == Right::Upload && may_upload;
    }
    // "admin", "uploader" or "reader"; a token that may only upload is an uploader too.
    [[nodiscard]] const char* role() const {
        if (may_administer) return "admin";
        return may_upload ? "uploader" : "reader";
    }
};

}  // namespace lagtrap::server
