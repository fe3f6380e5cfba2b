#include "daemon/runs/kept_count.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>

#include <fmt/format.h>

#include "core/files.hpp"

namespace lagtrap::daemon {
namespace {

// All numbers are written with the same length, so that each overwrites the previous one
// completely.
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

Result<KeptCount> KeptCount::open(std::filesystem::path path) {
    const auto file = open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!file && file.error().kind != ErrorKind::NotFound) return file.error();
    return KeptCount(std::move(path), file ? number_in(file->get()) : 0);
}

Status KeptCount::set(std::uint64_t value) {
    if (value == value_) return success();
    TRY_ASSIGN(const UniqueFd file,
               open_file(path_, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600));
    const std::string text = fmt::format("{:020}\n", value);
    if (::pwrite(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
        return system_error("write " + path_.string());
    value_ = value;
    return success();
}

}  // namespace lagtrap::daemon
