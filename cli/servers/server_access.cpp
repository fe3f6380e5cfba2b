#include "cli/servers/server_access.hpp"

#include <utility>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "settings/settings.hpp"
#include "uploader/target.hpp"

namespace lagtrap::cli {

namespace json = boost::json;

Result<uploader::Transfer> reach_server(const ServerAccess& access, std::chrono::seconds longest) {
    settings::Upload server;
    server.url = access.url;
    server.token_file = access.token_file;
    server.ca_file = access.ca_file;
    server.timeout = longest;
    TRY_ASSIGN(uploader::Target target, uploader::make_target(server, uploader::PlainHttp::Refuse));
    return uploader::Transfer(std::move(target));
}

Error hinted(Error error, bool has_token) {
    if (error.kind == ErrorKind::Denied)
        error.message += has_token ? "; --token-file needs a token with the scope read "
                                     "(`lagtrap-server token add NAME --scope read` makes one)"
                                   : "; use --token-file with a token that has the scope read";
    if (error.kind == ErrorKind::Unsupported)
        error.message += "; if the system does not trust the server's certificate, use --ca FILE";
    return error;
}

Result<json::object> object_in(const std::string& answer) {
    boost::system::error_code failed;
    json::value value = json::parse(answer, failed);
    if (failed || !value.is_object())
        return make_error(ErrorKind::Invalid, "the server's answer is not a JSON object");
    return std::move(value.as_object());
}

Error not_as_described() {
    return make_error(ErrorKind::Invalid,
                      "unexpected answer of the server; is it older than this program?");
}

std::string percent_encoded(std::string_view text) {
    std::string encoded;
    for (const char letter : text) {
        const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                           (letter >= '0' && letter <= '9') || letter == '-' || letter == '.' ||
                           letter == '_';
        encoded += plain ? std::string(1, letter)
                         : fmt::format("%{:02X}", static_cast<unsigned char>(letter));
    }
    return encoded;
}

}  // namespace lagtrap::cli
