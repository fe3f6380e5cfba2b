#include "server/accounts/principal.hpp"

namespace lagtrap::server {

const char* right_name(Right right) {
    switch (right) {
        case Right::Read: return "read";
        case Right::Upload: return "upload";
        case Right::Administer: break;
    }
    return "admin";
}

}  // namespace lagtrap::server
