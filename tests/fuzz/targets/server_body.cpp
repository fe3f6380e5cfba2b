// JSON bodies of requests. The first byte selects the expected one.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "server/accounts/names.hpp"
#include "server/accounts/passwords.hpp"
#include "server/api/json_reply.hpp"
#include "tests/fuzz/memory_file.hpp"

using namespace lagtrap::server;

namespace {

std::variant<json::object, Refusal> read_body(std::uint8_t which, const Request& request) {
    switch (which % 5) {
        case 0: return read_object(request, {"account", "password"});
        case 1: return read_object(request, {"account", "password", "role"});
        case 2: return read_object(request, {"name", "scope", "(host)", "(expires_ns)"});
        case 3: return read_object(request, {"dirty", "reason"});
        default: return read_object(request, {"a", "b"});
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    Request request;
    request.body = lagtrap::fuzz::text_of(data + 1, size - 1);
    const auto body = read_body(data[0], request);
    if (const auto* refusal = std::get_if<Refusal>(&body)) {
        if (refusal->status != 400) std::abort();
        (void)reply_of(*refusal);
        return 0;
    }
    constexpr std::size_t limit_bytes = 64;
    for (const auto& [key, value] : std::get<json::object>(body)) {
        const auto read = read_text(std::get<json::object>(body), key, limit_bytes);
        const auto* text = std::get_if<std::string>(&read);
        if (text == nullptr) continue;
        if (text->size() > limit_bytes || text->find('\0') != std::string::npos) std::abort();
        (void)check_account_name(*text);
        (void)check_token_name(*text);
        (void)check_password(*text);
        (void)parse_role(*text);
        (void)parse_token_scope(*text);
        (void)read_digits(*text);
    }
    return 0;
}
