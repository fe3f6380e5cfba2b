#include "binaries/elf/mapping_guard.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include "core/sanitized.hpp"
#include "core/unique_fd.hpp"
#include "tests/unit/binaries/support.hpp"

namespace lagtrap::binaries::test::mapping_guard_test {
namespace {

const std::size_t page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

// A mapped file of four pages of 'x'.
class MappedFile {
  public:
    MappedFile() {
        const auto path = folder_.path() / "file";
        write(path, std::string(4 * page_bytes, 'x'));
        fd_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
        data_ = static_cast<char*>(::mmap(nullptr, size(), PROT_READ, MAP_PRIVATE, fd_.get(), 0));
    }
    ~MappedFile() { ::munmap(data_, size()); }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    void cut_to_pages(std::size_t pages) const {
        EXPECT_EQ(::ftruncate(fd_.get(), static_cast<off_t>(pages * page_bytes)), 0);
    }
    [[nodiscard]] char at(std::size_t place) const {
        return static_cast<volatile const char*>(data_)[place];
    }
    [[nodiscard]] const char* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return 4 * page_bytes; }

  private:
    TemporaryFolder folder_;
    UniqueFd fd_;
    char* data_ = nullptr;
};

TEST(MappingGuardTest, MissingPagesReadAsZeros) {
    const MappedFile file;
    const auto guard = MappingGuard::protect(file.data(), file.size());
    ASSERT_TRUE(guard);
    EXPECT_EQ(file.at(3 * page_bytes), 'x');
    EXPECT_FALSE(guard->file_was_cut());
    file.cut_to_pages(1);
    EXPECT_FALSE(guard->file_was_cut()) << "nobody has read what is missing";
    EXPECT_EQ(file.at(page_bytes - 1), 'x');
    EXPECT_EQ(file.at(page_bytes), '\0');
    EXPECT_TRUE(guard->file_was_cut());
    EXPECT_EQ(file.at(4 * page_bytes - 1), '\0');
}

TEST(MappingGuardTest, EachFileIsCutOnItsOwn) {
    const MappedFile one, other;
    const auto first = MappingGuard::protect(one.data(), one.size());
    const auto second = MappingGuard::protect(other.data(), other.size());
    ASSERT_TRUE(first && second);
    other.cut_to_pages(0);
    EXPECT_EQ(other.at(0), '\0');
    EXPECT_FALSE(first->file_was_cut());
    EXPECT_TRUE(second->file_was_cut());
}

TEST(MappingGuardTest, GuardsAreLimitedAndUsedAgain) {
    const MappedFile file;
    std::vector<MappingGuard> guards;
    while (auto guard = MappingGuard::protect(file.data(), file.size())) {
        guards.push_back(std::move(*guard));
        ASSERT_LE(guards.size(), 64U);
    }
    EXPECT_EQ(guards.size(), 64U);
    file.cut_to_pages(0);
    EXPECT_EQ(file.at(0), '\0');
    guards.clear();
    const auto again = MappingGuard::protect(file.data(), file.size());
    ASSERT_TRUE(again);
    EXPECT_FALSE(again->file_was_cut()) << "that was another guard";
}

TEST(MappingGuardTest, CanBeMoved) {
    const MappedFile file, other;
    auto guard = MappingGuard::protect(file.data(), file.size());
    auto second = MappingGuard::protect(other.data(), other.size());
    ASSERT_TRUE(guard && second);
    file.cut_to_pages(0);
    EXPECT_EQ(file.at(0), '\0');
    MappingGuard moved(std::move(*guard));
    EXPECT_TRUE(moved.file_was_cut());
    moved = std::move(*second);
    EXPECT_FALSE(moved.file_was_cut());
    other.cut_to_pages(0);
    EXPECT_EQ(other.at(0), '\0');
    EXPECT_TRUE(moved.file_was_cut());
}

// Of four pages, the second one is guarded.
void read_page(std::size_t page) {
    const MappedFile file;
    const auto guard = MappingGuard::protect(file.data() + page_bytes, page_bytes);
    file.cut_to_pages(0);
    static_cast<void>(file.at(page * page_bytes));
    std::_Exit(0);
}

TEST(MappingGuardDeathTest, PagesThatAreNotGuardedEndTheProcessAsBefore) {
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    // A sanitizer catches the signal and exits.
    const auto ends = [](int status) {
        return is_sanitized ? status != 0 : WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS;
    };
    EXPECT_EXIT(read_page(0), ends, "");
    EXPECT_EXIT(read_page(1), ::testing::ExitedWithCode(0), "");
    EXPECT_EXIT(read_page(2), ends, "");
}

}  // namespace
}  // namespace lagtrap::binaries::test::mapping_guard_test
