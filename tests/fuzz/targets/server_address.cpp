// The target of a request: route, filter and page. The first byte is the method.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/text.hpp"
#include "server/api/json_reply.hpp"
#include "server/api/routes.hpp"
#include "tests/fuzz/memory_file.hpp"

using namespace lagtrap::server;

namespace {

void check(bool holds) {
    if (!holds) std::abort();
}

void check_question(const Route& route) {
    for (const std::string& event :
         {std::string(), route.arguments.empty() ? std::string() : route.arguments[0]})
        (void)read_filter(route, event);
    const auto page = read_page(route, 100);
    const auto* question = std::get_if<PageQuestion>(&page);
    if (question == nullptr) return;
    check(question->limit >= 1 && question->limit <= 1000);
    // The "next" of an answer requests the same position again.
    if (!question->after) return;
    Route again;
    const auto next = next_of(question->after);
    again.query = {{"after", std::string(next.get_string())}};
    const auto back = read_page(again, 100);
    check(std::holds_alternative<PageQuestion>(back) &&
          std::get<PageQuestion>(back).after == question->after);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto method = static_cast<Method>(data[0] % 6);
    const auto found = find_route(method, lagtrap::fuzz::text_of(data + 1, size - 1));
    if (const auto* refusal = std::get_if<Refusal>(&found)) {
        check(refusal->status >= 400 && refusal->status < 500);
        (void)reply_of(*refusal);
        return 0;
    }
    const auto& route = std::get<Route>(found);
    check(route.row != nullptr);
    for (const std::string& argument : route.arguments)
        check(!argument.empty() && lagtrap::printable(argument) == argument);
    for (const auto& [name, value] : route.query) {
        check(lagtrap::printable(value) == value);
        check(std::count_if(
                  route.query.begin(), route.query.end(),
                  [&wanted = name](const auto& other) { return other.first == wanted; }) == 1);
    }
    check_question(route);
    return 0;
}
