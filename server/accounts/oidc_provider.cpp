#include "server/accounts/oidc_provider.hpp"

#include <curl/curl.h>

#include <memory>

#include <boost/json.hpp>

#include "core/clock.hpp"
#include "core/text.hpp"
#include "server/accounts/json_text.hpp"
#include "server/accounts/secrets.hpp"

namespace lagtrap::server {
namespace {

namespace json = boost::json;

constexpr long timeout_s = 10;
constexpr std::size_t answer_limit_bytes = 1 << 20;
constexpr std::size_t shown_bytes = 200;
constexpr std::uint64_t kept_ns = 3600ULL * 1'000'000'000ULL;
constexpr std::uint64_t keys_interval_ns = 60ULL * 1'000'000'000ULL;

struct Answer {
    long status = 0;
    std::string body{};
};

std::size_t take(char* data, std::size_t size, std::size_t count, void* user) {
    auto& body = *static_cast<std::string*>(user);
    const std::size_t bytes = size * count;
    if (body.size() + bytes > answer_limit_bytes) return 0;
    body.append(data, bytes);
    return bytes;
}

std::string escaped(std::string_view text) {
    constexpr std::string_view plain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
    constexpr const char* digits = "0123456789ABCDEF";
    std::string result;
    for (const char letter : text) {
        const auto byte = static_cast<unsigned char>(letter);
        if (plain.find(letter) != std::string_view::npos) {
            result += letter;
        } else {
            result += {'%', digits[byte >> 4], digits[byte & 15]};
        }
    }
    return result;
}

struct Question {
    std::string url;
    std::string form{};  // empty: GET
    std::string user{};  // with a password: HTTP Basic
    std::string password{};
    std::string ca_file{};
};

Result<Answer> ask(const Question& question) {
    // Not thread-safe, and needed before the first handle.
    static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
    const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(
        ready == CURLE_OK ? curl_easy_init() : nullptr, curl_easy_cleanup);
    if (!handle) return make_error(ErrorKind::System, "libcurl does not start");
    CURL* curl = handle.get();
    Answer answer;
    curl_easy_setopt(curl, CURLOPT_URL, question.url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR,
                     is_safe_address(question.url) ? "https,http" : "https");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, timeout_s);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "lagtrap-server");
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
    if (!question.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, question.ca_file.c_str());
    if (!question.form.empty())
        curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, question.form.c_str());
    if (!question.user.empty()) {
        curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
        curl_easy_setopt(curl, CURLOPT_USERNAME, question.user.c_str());
        curl_easy_setopt(curl, CURLOPT_PASSWORD, question.password.c_str());
    }
    const CURLcode code = curl_easy_perform(curl);
    if (code != CURLE_OK)
        return make_error(ErrorKind::System, question.url + ": " + curl_easy_strerror(code));
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
    return answer;
}

Result<json::object> read_answer(const Answer& answer, const std::string& url) {
    boost::system::error_code failed;
    json::value value = json::parse(answer.body, failed);
    if (answer.status == 200 && !failed && value.is_object()) return std::move(value.get_object());
    std::string said = printable(answer.body.substr(0, shown_bytes));
    return make_error(
        answer.status >= 400 && answer.status < 500 ? ErrorKind::Denied : ErrorKind::System,
        url + " answered " + std::to_string(answer.status) + (said.empty() ? "" : ": " + said));
}

std::string verifier_of(const std::string& secret) {
    return sha256_base64url("verifier " + secret);
}
std::string nonce_of(const std::string& secret) { return sha256_base64url("nonce " + secret); }

bool offers(const json::object& facts, std::string_view name, std::string_view wanted) {
    const json::value* values = facts.if_contains(name);
    if (values == nullptr || !values->is_array()) return false;
    for (const json::value& value : values->get_array())
        if (value.is_string() && value.get_string() == wanted) return true;
    return false;
}

}  // namespace

std::string OidcProvider::state_of(const std::string& secret) {
    return sha256_base64url("state " + secret);
}

bool OidcProvider::must_fetch(std::uint64_t fetched_ns, std::uint64_t now_ns, Freshness freshness) {
    const std::uint64_t limit_ns = freshness == Freshness::New ? keys_interval_ns : kept_ns;
    return fetched_ns == 0 || now_ns - fetched_ns >= limit_ns;
}

Result<OidcProvider::Addresses> OidcProvider::addresses() {
    {
        const std::lock_guard lock(mutex_);
        if (!must_fetch(addresses_ns_, monotonic_ns(), Freshness::Kept)) return addresses_;
    }
    std::string url = settings_.issuer;
    while (url.ends_with('/')) url.pop_back();
    url += "/.well-known/openid-configuration";
    TRY_ASSIGN(const Answer answer, ask({.url = url, .ca_file = settings_.ca_file}));
    TRY_ASSIGN(const json::object facts, read_answer(answer, url));
    if (text_of(facts, "issuer") != settings_.issuer)
        return make_error(ErrorKind::Invalid,
                          "the provider calls itself " +
                              printable(text_of(facts, "issuer")).substr(0, shown_bytes) +
                              "; write it so behind \"issuer\", instead of " + settings_.issuer);
    Addresses found{text_of(facts, "authorization_endpoint"), text_of(facts, "token_endpoint"),
                    text_of(facts, "jwks_uri")};
    for (const std::string* address : {&found.authorization, &found.token, &found.keys})
        if (!is_safe_address(*address) || printable(*address) != *address)
            return make_error(ErrorKind::Invalid, url + ": expected addresses of https, found \"" +
                                                      printable(*address).substr(0, shown_bytes) +
                                                      "\"");
    found.secret_in_body =
        offers(facts, "token_endpoint_auth_methods_supported", "client_secret_post") &&
        !offers(facts, "token_endpoint_auth_methods_supported", "client_secret_basic");
    const std::lock_guard lock(mutex_);
    addresses_ = found;
    addresses_ns_ = monotonic_ns();
    return found;
}

Result<std::vector<SigningKey>> OidcProvider::keys(const std::string& address,
                                                   Freshness freshness) {
    {
        const std::lock_guard lock(mutex_);
        if (!must_fetch(keys_ns_, monotonic_ns(), freshness)) return keys_;
    }
    TRY_ASSIGN(const Answer answer, ask({.url = address, .ca_file = settings_.ca_file}));
    if (answer.status != 200)
        return make_error(ErrorKind::System,
                          address + " answered " + std::to_string(answer.status));
    TRY_ASSIGN(auto found, read_key_set(answer.body));
    const std::lock_guard lock(mutex_);
    keys_ = found;
    keys_ns_ = monotonic_ns();
    return found;
}

Result<std::string> OidcProvider::sign_in_address(const std::string& secret,
                                                  const std::string& redirect_uri) {
    TRY_ASSIGN(const Addresses found, addresses());
    return found.authorization + (found.authorization.find('?') == std::string::npos ? "?" : "&") +
           "response_type=code&client_id=" + escaped(settings_.client_id) +
           "&redirect_uri=" + escaped(redirect_uri) + "&scope=" + escaped(settings_.scopes) +
           "&state=" + state_of(secret) + "&nonce=" + nonce_of(secret) +
           "&code_challenge=" + sha256_base64url(verifier_of(secret)) +
           "&code_challenge_method=S256";
}

Result<std::string> OidcProvider::fetch_token(const Addresses& found, const std::string& code,
                                              const std::string& secret,
                                              const std::string& redirect_uri) {
    Question question{.url = found.token, .ca_file = settings_.ca_file};
    question.form = "grant_type=authorization_code&code=" + escaped(code) +
                    "&redirect_uri=" + escaped(redirect_uri) +
                    "&code_verifier=" + verifier_of(secret);
    if (settings_.client_secret.empty() || found.secret_in_body) {
        question.form += "&client_id=" + escaped(settings_.client_id);
        if (found.secret_in_body && !settings_.client_secret.empty())
            question.form += "&client_secret=" + escaped(settings_.client_secret);
    } else {
        // RFC 6749, section 2.3.1: form-encode both first.
        question.user = escaped(settings_.client_id);
        question.password = escaped(settings_.client_secret);
    }
    TRY_ASSIGN(const Answer answer, ask(question));
    TRY_ASSIGN(const json::object facts, read_answer(answer, found.token));
    return text_of(facts, "id_token");
}

Result<OidcPerson> OidcProvider::person_of(const std::string& code, const std::string& secret,
                                           const std::string& redirect_uri,
                                           std::uint64_t now_realtime_ns) {
    TRY_ASSIGN(const Addresses found, addresses());
    TRY_ASSIGN(const std::string token, fetch_token(found, code, secret, redirect_uri));
    const IdTokenQuestion question{settings_.issuer,       settings_.client_id,
                                   nonce_of(secret),       settings_.name_claim,
                                   settings_.groups_claim, now_realtime_ns / 1'000'000'000ULL};
    TRY_ASSIGN(auto known, keys(found.keys, Freshness::Kept));
    auto facts = check_id_token(token, known, question);
    if (!facts && facts.error().kind == ErrorKind::NotFound) {
        TRY_ASSIGN(known, keys(found.keys, Freshness::New));
        facts = check_id_token(token, known, question);
    }
    if (!facts) return facts.error();
    if (facts->name.empty())
        return make_error(ErrorKind::Denied, "the ID token has no \"" + settings_.name_claim +
                                                 "\"; see name_claim and scopes");
    return OidcPerson{settings_.issuer + " " + facts->subject, facts->name,
                      settings_.role_of(facts->groups), facts->groups};
}

}  // namespace lagtrap::server
