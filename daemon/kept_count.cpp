#include "daemon/kept_count.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>

#include <fmt/format.h>

#include "core/files.hpp"

namespace lagtrap::daemon {
namespace {

// All numbers are written alike long, so that each covers the one before.
constexpr std::size_t text_bytes = 21;

std::uint64_t number_in(int file) {
    const auto text = read_all(file, text_bytes);
    std::uint64_t number = 0;
    if (!text || text->size() != text_bytes) return 0;
    const char* end = text->data() + text_bytes - 1;
    const auto [stopped, error] = std::from_chars(text->data(), end, number);
    return error == std::errc() && stopped == end ? number : 0;
}

}  // namespace

Result<KeptCount> KeptCount::open(const std::filesystem::path& path) {
    TRY_ASSIGN(UniqueFd file, open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600));
    const std::uint64_t number = number_in(file.get());
    return KeptCount(std::move(file), number);
}

Status KeptCount::set(std::uint64_t value) {
    if (value == value_) return success();
    const std::string text = fmt::format("{:020}\n", value);
    if (::pwrite(file_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
        return system_error("keep a count");
    value_ = value;
    return success();
}

}  // namespace lagtrap::daemon
