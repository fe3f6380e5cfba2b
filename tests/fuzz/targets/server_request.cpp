// Whole requests, as the HTTP server passes them to the application: every route, including sign-in
// and uploads.
//
// The input is requests separated by a line "%". Each has a line "METHOD TARGET", then lines "name:
// value" up to an empty one, then the body. "{digest}" in a target is the digest of the body, or of
// the last body.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/digest.hpp"
#include "core/text.hpp"
#include "server/accounts/token_file.hpp"
#include "server/api/json_reply.hpp"
#include "tests/fuzz/filled_server.hpp"
#include "tests/fuzz/memory_file.hpp"

using namespace lagtrap;
using namespace lagtrap::server;

namespace {

constexpr std::size_t requests_limit = 16;
// The servers are recreated after this many inputs, and after this many that changed something, so
// that an input's effects neither influence later inputs nor accumulate.
constexpr unsigned inputs_of_a_server = 500;
constexpr unsigned changes_of_a_server = 50;

void check(bool holds) {
    if (!holds) std::abort();
}

// Removes and returns the text up to `separator`, or all of it.
std::string_view take_part(std::string_view& text, std::string_view separator) {
    const std::string_view part = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(part.size() + separator.size(), text.size()));
    return part;
}

Method method_of(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, Method>, 5> methods{
        {{"GET", Method::Get},
         {"HEAD", Method::Head},
         {"POST", Method::Post},
         {"PUT", Method::Put},
         {"DELETE", Method::Delete}}};
    for (const auto& [text, method] : methods)
        if (text == name) return method;
    return Method::Other;
}

struct Asked {
    Request request;
    bool of_open = false;  // for the server without accounts
};

void read_header(std::string_view name, std::string_view value, Asked& asked) {
    Request& request = asked.request;
    const std::array<std::pair<std::string_view, std::string*>, 10> texts{
        {{"host", &request.host},
         {"authorization", &request.authorization},
         {"cookie", &request.cookie},
         {"origin", &request.origin},
         {"sec-fetch-site", &request.fetch_site},
         {"content-type", &request.content_type},
         {"content-encoding", &request.content_encoding},
         {"accept-encoding", &request.accept_encoding},
         {"if-none-match", &request.if_none_match},
         {"content-digest", &request.content_digest}}};
    for (const auto& [text, into] : texts)
        if (text == name) *into = value;
    if (name == "from") request.sender = value;
    if (name == "secure") request.secure = true;
    if (name == "loopback") request.from_loopback = true;
    if (name == "chunked") request.chunked = true;
    if (name == "open") asked.of_open = true;
}

Asked read_request(std::string_view text, std::string& last_digest) {
    Asked asked;
    std::string_view line = take_part(text, "\n");
    asked.request.method = method_of(take_part(line, " "));
    asked.request.target = line;
    asked.request.sender = "10.0.0.1";
    while (!text.empty()) {
        std::string_view header = take_part(text, "\n");
        if (header.empty()) break;
        const std::string_view name = take_part(header, ": ");
        read_header(name, header, asked);
    }
    asked.request.body = text;
    if (!text.empty()) {
        asked.request.content_length = text.size();
        last_digest = sha256_of(text);
    }
    constexpr std::string_view place = "{digest}";
    if (const auto at = asked.request.target.find(place); at != std::string::npos)
        asked.request.target.replace(at, place.size(), last_digest);
    return asked;
}

// Whether the request's credentials satisfy `need` on the server with accounts.
bool proves(const Request& request, const Need& need) {
    const std::string token = token_of_header(request.authorization);
    if (token == fuzz::admin_token) return true;
    if (token == fuzz::upload_token)
        return need.right == Right::Upload || need.or_else == Right::Upload;
    return request.cookie.find(fuzz::session_secret) != std::string::npos &&
           (need.right == Right::Read || need.or_else == Right::Read);
}

void check_reply(const Reply& reply) {
    // No request makes the store or the disk fail.
    check(reply.status >= 200 && reply.status < 500);
    bool plain = true;
    for (const auto& [name, value] : reply.headers) {
        check(printable(name) == name && printable(value) == value);
        plain = plain && name != "Content-Encoding";
    }
    check(printable(reply.content_type) == reply.content_type);
    if (reply.source) {
        std::array<char, 4096> piece;
        std::uint64_t bytes = 0;
        for (auto got = reply.source->read(piece.data(), piece.size()); check(got.ok()), *got > 0;
             got = reply.source->read(piece.data(), piece.size()))
            bytes += *got;
        check(!reply.announced_bytes || *reply.announced_bytes == bytes);
    } else if (plain && reply.content_type == "application/json" && !reply.body.empty()) {
        json::error_code error;
        (void)json::parse(reply.body, error);
        check(!error);
    }
}

// Does with the plan what the HTTP server does: passes the body, in pieces if it is an upload.
void carry_out(Plan& plan, const Request& request) {
    if (plan.upload) {
        const std::string_view body = request.body;
        for (const std::string_view piece :
             {body.substr(0, body.size() / 2), body.substr(body.size() / 2)}) {
            const Status written = plan.upload->write(piece.data(), piece.size());
            if (!written) return check_reply(reply_of(plan.upload->refusal_of(written.error())));
        }
        check_reply(plan.upload->finish());
    } else if (request.body.size() <= plan.body_limit_bytes) {
        check_reply(plan.answer(request));
    }
}

// Whether the request may have changed something.
bool ask(fuzz::FilledServer& server, const Request& request) {
    auto admitted = server.application().admit(request);
    if (const auto* refusal = std::get_if<Refusal>(&admitted)) {
        check_reply(reply_of(*refusal));
        return false;
    }
    const auto route = find_route(request.method, request.target);
    check(std::holds_alternative<Route>(route));
    const auto need = std::get<Route>(route).row->need;
    check(!need || !server.has_accounts() || proves(request, *need));
    carry_out(std::get<Plan>(admitted), request);
    return request.method != Method::Get && request.method != Method::Head;
}

// A server, and when to recreate it.
struct Kept {
    fuzz::FilledServer::Accounts accounts;
    std::unique_ptr<fuzz::FilledServer> server{};
    unsigned inputs = 0;
    unsigned changes = 0;

    fuzz::FilledServer& get() {
        if (!server) server = std::make_unique<fuzz::FilledServer>(accounts);
        return *server;
    }
    void renew_in_time() {
        if (++inputs < inputs_of_a_server && changes < changes_of_a_server) return;
        server.reset();
        inputs = changes = 0;
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static Kept some{fuzz::FilledServer::Accounts::Some};
    static Kept none{fuzz::FilledServer::Accounts::None};
    std::string_view text = fuzz::text_of(data, size);
    std::string digest = sha256_of("y");
    for (std::size_t i = 0; i < requests_limit && !text.empty(); ++i) {
        const Asked asked = read_request(take_part(text, "\n%\n"), digest);
        Kept& kept = asked.of_open ? none : some;
        if (ask(kept.get(), asked.request)) ++kept.changes;
    }
    some.renew_in_time();
    none.renew_in_time();
    return 0;
}
