#include "trace/logs/awaited_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "core/files.hpp"
#include "core/text.hpp"
#include "sandbox/foreign_file.hpp"

namespace lagtrap::trace {
namespace {

constexpr const char* note_name = "awaited-file";
constexpr std::size_t page_bytes = 4096;

}  // namespace

Result<AwaitedFileNote> AwaitedFileNote::create(const std::filesystem::path& capture) {
    const auto path = capture / note_name;
    TRY_ASSIGN(const UniqueFd fd, open_file(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
    if (::ftruncate(fd.get(), page_bytes) != 0) return system_error(path.string());
    void* const page = ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (page == MAP_FAILED) return system_error(path.string());
    return AwaitedFileNote(static_cast<char*>(page));
}

AwaitedFileNote::AwaitedFileNote(AwaitedFileNote&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)) {}

AwaitedFileNote::~AwaitedFileNote() {
    if (page_ != nullptr) ::munmap(page_, page_bytes);
}

// "UID PATH", or " PATH" without a process; the page's last byte remains 0.
void AwaitedFileNote::set(const std::filesystem::path& path, std::optional<std::uint32_t> uid) {
    const std::string text = (uid ? std::to_string(*uid) : std::string()) + " " + path.native();
    const std::size_t bytes = std::min(text.size(), page_bytes - 1);
    std::memcpy(page_, text.data(), bytes);
    page_[bytes] = '\0';
}

void AwaitedFileNote::clear() { *page_ = '\0'; }

std::optional<AwaitedFile> read_awaited_file(const std::filesystem::path& capture) {
    const auto content = read_regular_file(capture / note_name, page_bytes);
    if (!content) return std::nullopt;
    const std::string text = content->substr(0, content->find('\0'));
    const std::size_t blank = text.find(' ');
    if (blank == std::string::npos) return std::nullopt;
    AwaitedFile awaited{printable(text.substr(blank + 1)), std::nullopt};
    std::uint32_t uid = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + blank, uid);
    if (failed == std::errc{} && end == text.data() + blank) awaited.uid = uid;
    return awaited;
}

}  // namespace lagtrap::trace
