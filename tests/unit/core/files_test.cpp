#include "core/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.hpp"
#include "core/file_access.hpp"

namespace lagtrap::test::files_test {
namespace {

using ::testing::HasSubstr;

class Files : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "lagtrap-test-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::size_t entries() const {
        const std::filesystem::directory_iterator all(folder_);
        return static_cast<std::size_t>(std::distance(begin(all), end(all)));
    }

    std::filesystem::path folder_;
};

TEST_F(Files, AreWrittenWhole) {
    const auto path = folder_ / "file";
    const std::string content("one\0two\n", 8);
    ASSERT_TRUE(write_file_durably(path, content, 0640));
    EXPECT_EQ(read_file(path, 100).value(), content);
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777U, 0640U);
    EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, AreReplacedAndNotChanged) {
    const auto path = folder_ / "file";
    ASSERT_TRUE(write_file_durably(path, "before"));
    const auto old = open_file(path, O_RDONLY);
    ASSERT_TRUE(old);
    ASSERT_TRUE(write_file_durably(path, "after"));
    // a concurrent reader does not see a mixture
    EXPECT_EQ(read_all(old->get(), 100).value(), "before");
    EXPECT_EQ(read_file(path, 100).value(), "after");
}

TEST_F(Files, LeaveNothingBehindWhereWritingFails) {
    const auto path = folder_ / "taken";
    std::filesystem::create_directory(path);
    const auto status = write_file_durably(path, "content");
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr(path.string()));
    EXPECT_EQ(entries(), 1U);
    EXPECT_EQ(write_file_durably(folder_ / "absent" / "file", "").error().kind,
              ErrorKind::NotFound);
}

TEST_F(Files, AreReadUpToALimit) {
    const auto path = folder_ / "file";
    ASSERT_TRUE(write_file_durably(path, "12345"));
    EXPECT_EQ(read_file(path, 5).value(), "12345");
    const auto larger = read_file(path, 4);
    ASSERT_FALSE(larger);
    EXPECT_EQ(larger.error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(read_file(folder_ / "absent", 4).error().kind, ErrorKind::NotFound);
}

// The examples of FIPS 180-2, appendix B.
TEST_F(Files, HaveTheDigestOfTheStandard) {
    const std::string abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    EXPECT_EQ(sha256_of("abc"), abc);
    EXPECT_EQ(sha256_of(std::string(1'000'000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    Sha256 in_pieces;
    in_pieces.update("a", 1);
    in_pieces.update("bc", 2);
    EXPECT_EQ(in_pieces.finish_hex(), abc);
    ASSERT_TRUE(write_file_durably(folder_ / "file", "abc"));
    EXPECT_EQ(sha256_of_file(folder_ / "file").value(), abc);
    EXPECT_FALSE(sha256_of_file(folder_ / "absent"));
}

TEST(Digest, IsKnownByItsSpelling) {
    EXPECT_TRUE(is_sha256_hex(sha256_of("abc")));
    EXPECT_FALSE(is_sha256_hex(sha256_of("abc").substr(1)));
    EXPECT_FALSE(is_sha256_hex(std::string(64, 'G')));
    EXPECT_FALSE(is_sha256_hex(std::string(64, 'A')));
}

TEST_F(Files, AreWrittenAnew) {
    const auto path = folder_ / "file";
    const mode_t before = ::umask(0);
    ASSERT_TRUE(write_file(path, "a longer text", 0600));
    ASSERT_TRUE(write_file(path, "short", 0666));
    ::umask(before);
    EXPECT_EQ(read_file(path, 100).value(), "short");
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777U, 0600U) << "of when it was made";
    EXPECT_EQ(write_file(folder_ / "absent" / "file", "").error().kind, ErrorKind::NotFound);
    const auto full = write_file("/dev/full", "x");
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().message, "/dev/full: write: No space left on device");
}

TEST_F(Files, OfAFolderAreListedUpToALimit) {
    for (const char* name : {"a", "b", ".hidden"}) ASSERT_TRUE(write_file(folder_ / name, ""));
    EXPECT_THAT(list_folder(folder_, 10).value(),
                testing::UnorderedElementsAre("a", "b", ".hidden"));
    EXPECT_EQ(list_folder(folder_, 3).value().size(), 3U);
    EXPECT_EQ(list_folder(folder_, 2).value().size(), 2U);
    EXPECT_EQ(list_folder(folder_ / "absent", 2).error().kind, ErrorKind::NotFound);
    EXPECT_FALSE(list_folder(folder_ / "a", 2)) << "not a folder";
}

TEST_F(Files, FoldersAreMadeWithThoseAround) {
    const mode_t before = ::umask(0);
    EXPECT_TRUE(make_directories(folder_ / "a" / "b", 0750));
    ::umask(before);
    for (const auto& made : {folder_ / "a", folder_ / "a" / "b"}) {
        struct stat facts {};
        ASSERT_EQ(::stat(made.c_str(), &facts), 0);
        EXPECT_EQ(facts.st_mode & 07777U, 0750U) << made;
    }
    EXPECT_TRUE(make_directories(folder_ / "a" / "b", 0750)) << "they are there";
    ASSERT_TRUE(write_file(folder_ / "file", ""));
    const auto on_file = make_directories(folder_ / "file", 0750);
    ASSERT_FALSE(on_file);
    EXPECT_EQ(on_file.error().message, (folder_ / "file").string() + ": not a directory");
    const auto below = make_directories(folder_ / "file" / "x", 0750);
    ASSERT_FALSE(below);
    EXPECT_THAT(below.error().message, HasSubstr("mkdir " + (folder_ / "file" / "x").string()));
}

TEST_F(Files, AreMovedToAnotherFolder) {
    std::filesystem::create_directory(folder_ / "to");
    ASSERT_TRUE(write_file(folder_ / "file", "x"));
    EXPECT_TRUE(rename_durably(folder_ / "file", folder_ / "to" / "file"));
    EXPECT_EQ(read_file(folder_ / "to" / "file", 10).value(), "x");
    EXPECT_EQ(entries(), 1U);
    const auto absent = rename_durably(folder_ / "file", folder_ / "other");
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().message,
              "rename " + (folder_ / "file").string() + ": No such file or directory");
    remove_file(folder_ / "to" / "file");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "to" / "file"));
    EXPECT_TRUE(sync_directory(folder_));
    EXPECT_TRUE(sync_directory("")) << "the current folder";
    EXPECT_FALSE(sync_directory(folder_ / "absent"));
}

TEST_F(Files, AreOpenedForThisProcessAlone) {
    std::string name = folder_ / "made-XXXXXX";
    const auto made = make_temporary_file(name);
    ASSERT_TRUE(made);
    EXPECT_TRUE(std::filesystem::exists(name));
    EXPECT_EQ(::fcntl(made->get(), F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(::fcntl(open_file(name, O_RDONLY)->get(), F_GETFD), FD_CLOEXEC);
    EXPECT_TRUE(set_mode(made->get(), 0604));
    struct stat facts {};
    ASSERT_EQ(::fstat(made->get(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777U, 0604U);
    EXPECT_FALSE(set_mode(-1, 0604));
    std::string absent = folder_ / "absent" / "XXXXXX";
    EXPECT_EQ(make_temporary_file(absent).error().kind, ErrorKind::NotFound);
    EXPECT_FALSE(read_all(-1, 10));
    EXPECT_FALSE(write_all(-1, "x", 1));
}

// Keeps what it was asked.
class Broker : public FileAccess {
  public:
    Result<UniqueFd> open(const std::filesystem::path& path, int flags, unsigned mode) override {
        asked += "open " + path.string() + " " + std::to_string(flags) + " " +
                 std::to_string(mode) + "\n";
        return UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    }
    Result<UniqueFd> make_temporary(std::string& name) override {
        asked += "make " + name + "\n";
        return UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    }
    Status rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
        asked += "rename " + from.string() + " " + to.string() + "\n";
        return success();
    }
    void remove(const std::filesystem::path& path) override {
        asked += "remove " + path.string() + "\n";
    }
    std::string asked;
};

TEST_F(Files, AreThoseOfTheBrokerIfThereIsOne) {
    Broker broker;
    use_file_access(&broker);
    EXPECT_EQ(file_access(), &broker);
    const auto read = open_file("/a", 1, 2);
    std::string name = "/bX";
    const auto made = make_temporary_file(name);
    const auto renamed = rename_file("/c", "/d");
    remove_file("/e");
    // A file of another owner whose mode is right already.
    struct stat facts {};
    const bool has_facts = ::fstat(read->get(), &facts) == 0;
    const bool same_mode = set_mode(read->get(), facts.st_mode & 0777).ok();
    use_file_access(nullptr);
    EXPECT_TRUE(read && made && renamed && has_facts && same_mode);
    EXPECT_EQ(broker.asked, "open /a 1 2\nmake /bX\nrename /c /d\nremove /e\n");
    EXPECT_EQ(file_access(), nullptr);
}

TEST(Uuid, IsRandomAndOfVersion4) {
    const std::string one = random_uuid(), other = random_uuid();
    EXPECT_NE(one, other);
    for (const std::string& text : {one, other})
        EXPECT_THAT(text, testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab]"
                                                "[0-9a-f]{3}-[0-9a-f]{12}"));
}

}  // namespace
}  // namespace lagtrap::test::files_test
