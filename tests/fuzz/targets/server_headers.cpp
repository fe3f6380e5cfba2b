// Headers of a request, and small texts that the server parses. The first byte selects which.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/digest.hpp"
#include "server/accounts/authenticator.hpp"
#include "server/accounts/same_origin.hpp"
#include "server/accounts/secrets.hpp"
#include "server/accounts/token_file.hpp"
#include "server/api/compression.hpp"
#include "server/api/upload.hpp"
#include "server/ingest/jobs.hpp"
#include "server/ingest/parse_worker.hpp"
#include "tests/fuzz/memory_file.hpp"

using namespace lagtrap::server;

namespace {

void check(bool holds) {
    if (!holds) std::abort();
}

void read_origin(std::string_view text) {
    RequestOrigin origin;
    for (std::string_view* part : {&origin.fetch_site, &origin.origin, &origin.host}) {
        *part = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(part->size() + 1, text.size()));
    }
    if (is_same_origin(origin, NoOrigin::Refuse)) check(is_same_origin(origin, NoOrigin::Allow));
}

void read_token(std::string_view text) {
    const auto token = MachineToken::parse(text);
    if (token) check(token->text() == text);
}

void read_task(std::string_view text) {
    const auto task = ParseTask::parse(text);
    if (task) check(ParseTask::parse(task->text()).ok());
    const ParsePayload payload = ParsePayload::parse(text);
    check(ParsePayload::parse(payload.text()).host == payload.host);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view text = lagtrap::fuzz::text_of(data + 1, size - 1);
    static const std::string digest = lagtrap::sha256_of("x");
    switch (data[0] % 7) {
        case 0: check(find_cookie(text, "lagtrap").size() <= text.size()); break;
        case 1: read_token(token_of_header(text)); break;
        case 2: (void)check_content_digest(text, digest); break;
        case 3: (void)choose_encoding(text); break;
        case 4: read_origin(text); break;
        case 5:
            if (const auto table = TokenTable::parse(text))
                check(table->size() > 0 && !table->find(text));
            break;
        default: read_task(text);
    }
    return 0;
}
