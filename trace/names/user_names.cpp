#include "trace/names/user_names.hpp"

#include <charconv>
#include <string_view>

#include "core/files.hpp"
#include "core/text.hpp"

namespace lagtrap::trace {
namespace {

constexpr std::uint64_t file_limit_bytes = 16ULL << 20;
constexpr std::size_t user_name_limit_bytes = 256;

// Removes and returns the text before `end`, and removes `end`.
std::string_view take(std::string_view& text, char end) {
    const std::string_view taken = text.substr(0, text.find(end));
    text.remove_prefix(std::min(taken.size() + 1, text.size()));
    return taken;
}

}  // namespace

std::string UserNames::name_of(std::uint32_t uid) {
    if (!names_) load();
    const auto found = names_->find(uid);
    return found != names_->end() ? found->second : std::to_string(uid);
}

// NAME:PASSWORD:UID:..., one user per line (passwd(5)).
void UserNames::load() {
    names_.emplace();
    const auto content = read_file(machine_ / "etc/passwd", file_limit_bytes);
    if (!content) return;
    std::string_view rest = *content;
    while (!rest.empty()) {
        std::string_view line = take(rest, '\n');
        const std::string_view name = take(line, ':');
        take(line, ':');
        const std::string_view number = take(line, ':');
        std::uint32_t uid = 0;
        const auto [end, error] =
            std::from_chars(number.data(), number.data() + number.size(), uid);
        if (name.empty() || number.empty() || error != std::errc() ||
            end != number.data() + number.size())
            continue;
        names_->try_emplace(uid, printable(name.substr(0, user_name_limit_bytes)));
    }
}

}  // namespace lagtrap::trace
