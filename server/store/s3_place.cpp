#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "server/store/s3_blobs.hpp"

namespace lagtrap::server {
namespace {

constexpr std::string_view scheme = "s3://";
constexpr std::string_view name_letters = "abcdefghijklmnopqrstuvwxyz0123456789.-";
constexpr std::string_view key_letters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

Error wrong(const std::string& what) {
    return make_error(ErrorKind::Invalid,
                      what + "; the form is s3://BUCKET[/PREFIX]?endpoint=https://HOST[:PORT]");
}

Status check(const S3Place& place) {
    if (place.bucket.size() < 3 ||
        place.bucket.find_first_not_of(name_letters) != std::string::npos)
        return wrong("the bucket \"" + place.bucket +
                     "\" has a name that none may have (3 or more of a-z, 0-9, '.' and '-')");
    if (place.prefix.find_first_not_of(key_letters) != std::string::npos)
        return wrong("the prefix \"" + place.prefix +
                     "\" has other letters than A-Z, a-z, 0-9, '.', '_', '-' and '/'");
    const bool web =
        place.endpoint.starts_with("https://") || place.endpoint.starts_with("http://");
    if (!web || place.endpoint.find('@') != std::string::npos)
        return wrong("the endpoint \"" + place.endpoint + "\" is no address of http or https");
    if (place.key_id.empty() || place.secret.empty())
        return make_error(
            ErrorKind::Denied,
            "the S3 store needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment");
    return success();
}

}  // namespace

Result<S3Place> S3Place::parse(const std::string& address) {
    if (!address.starts_with(scheme)) return wrong(address + " is no S3 address");
    S3Place place;
    place.endpoint = environment("AWS_ENDPOINT_URL");
    if (const auto region = environment("AWS_REGION"); !region.empty()) place.region = region;
    place.key_id = environment("AWS_ACCESS_KEY_ID");
    place.secret = environment("AWS_SECRET_ACCESS_KEY");
    place.session_token = environment("AWS_SESSION_TOKEN");
    std::string_view rest(address);
    rest.remove_prefix(scheme.size());
    const auto question = rest.find('?');
    const std::string_view path = rest.substr(0, question);
    place.bucket = path.substr(0, path.find('/'));
    if (path.size() > place.bucket.size() + 1) place.prefix = path.substr(place.bucket.size() + 1);
    if (!place.prefix.empty() && place.prefix.back() != '/') place.prefix += '/';
    std::string_view query =
        question == std::string_view::npos ? std::string_view() : rest.substr(question + 1);
    while (!query.empty()) {
        const std::string_view one = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(one.size() + 1, query.size()));
        const auto equals = one.find('=');
        const std::string_view name = one.substr(0, equals);
        const std::string value(equals == std::string_view::npos ? std::string_view()
                                                                 : one.substr(equals + 1));
        if (name == "endpoint") {
            place.endpoint = value;
        } else if (name == "region") {
            place.region = value;
        } else {
            return wrong(std::string(name) + " is not known in an S3 address");
        }
    }
    while (!place.endpoint.empty() && place.endpoint.back() == '/') place.endpoint.pop_back();
    TRY(check(place));
    return place;
}

}  // namespace lagtrap::server
