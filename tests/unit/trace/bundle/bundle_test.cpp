#include "trace/bundle/bundle.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.hpp"
#include "core/files.hpp"
#include "core/sanitized.hpp"
#include "tests/unit/trace/forged_bundle.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::trace::bundle_test {
namespace {

using testing::HasSubstr;

const std::string session_id = "0f8fad5b-d9cb-469f-a165-70867728950e";

// An archive made by somebody else.
class Forgery {
  public:
    explicit Forgery(const std::filesystem::path& path) : handle_(archive_write_new()) {
        archive_write_set_format_pax_restricted(handle_);
        archive_write_add_filter_zstd(handle_);
        EXPECT_EQ(archive_write_open_filename(handle_, path.c_str()), ARCHIVE_OK);
    }
    Forgery(const Forgery&) = delete;
    Forgery& operator=(const Forgery&) = delete;
    ~Forgery() { archive_write_free(handle_); }

    Forgery& file(const std::string& name, const std::string& content) {
        return entry(name, AE_IFREG, "", content);
    }

    Forgery& entry(const std::string& name, unsigned type, const std::string& link,
                   const std::string& content, std::uint64_t size_bytes = 0) {
        archive_entry* entry = archive_entry_new();
        archive_entry_set_pathname(entry, name.c_str());
        archive_entry_set_filetype(entry, type);
        archive_entry_set_perm(entry, 0644);
        if (type == AE_IFLNK) archive_entry_set_symlink(entry, link.c_str());
        if (type == AE_IFREG && !link.empty()) archive_entry_set_hardlink(entry, link.c_str());
        archive_entry_set_size(
            entry, static_cast<la_int64_t>(size_bytes != 0 ? size_bytes : content.size()));
        EXPECT_EQ(archive_write_header(handle_, entry), ARCHIVE_OK);
        std::uint64_t written = 0;
        do {
            if (!content.empty()) archive_write_data(handle_, content.data(), content.size());
            written += content.size();
        } while (written < size_bytes);
        archive_entry_free(entry);
        return *this;
    }

  private:
    archive* handle_;
};

// The peak memory of a process that reads the bundle, beyond what any process needs.
// sanitizers keep freed memory
constexpr std::uint64_t allowed_peak_bytes = (is_sanitized ? 1024 : 192) << 20;
std::uint64_t peak_bytes_of_reading(const std::filesystem::path& path) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(read_bundle(path).ok() ? 0 : 1);
    rusage usage{};
    int status = 0;
    EXPECT_EQ(::wait4(child, &status, 0, &usage), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1)
        << "the bundle was read, or broke its reader";
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

class Bundle : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(write_file_durably(capture_.path() / "system.xml", "<system/>"));
        ASSERT_TRUE(write_file_durably(capture_.path() / "settings.xml", "<settings/>"));
        ASSERT_TRUE(
            write_file_durably(capture_.path() / "trace.pftrace", std::string(300'000, 't')));
    }
    [[nodiscard]] std::string complaint(std::uint64_t limit = 1 << 20) const {
        auto content = read_bundle(forged(), limit);
        return content.ok() ? "" : content.error().message;
    }
    [[nodiscard]] std::filesystem::path forged() const {
        return output_.path() / "forged.lagtrap.tar.zst";
    }

    TemporaryDirectory capture_;
    TemporaryDirectory output_;
};

TEST_F(Bundle, GivesBackWhatWasPacked) {
    auto info = write_bundle(capture_.path(), session_id, output_.path());
    ASSERT_TRUE(info.ok()) << info.error().message;
    EXPECT_EQ(info->digest, sha256_of_file(info->path).value());
    EXPECT_EQ(info->size_bytes, std::filesystem::file_size(info->path));
    EXPECT_EQ(info->path.filename(),
              session_id + "-" + info->digest.substr(0, 16) + ".lagtrap.tar.zst");
    auto content = read_bundle(info->path);
    ASSERT_TRUE(content.ok()) << content.error().message;
    EXPECT_EQ(content->trace, std::string(300'000, 't'));
    EXPECT_EQ(content->system_xml, "<system/>");
    EXPECT_EQ(content->settings_xml, "<settings/>");
    EXPECT_EQ(read_bundle_system_file(info->path).value(), "<system/>");
    // Only the bundle is left.
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(output_.path()), {}), 1);
}

// What tar shows of them.
TEST_F(Bundle, HoldsPlainFilesOfNobodyTheSystemFileFirst) {
    const auto info = write_bundle(capture_.path(), session_id, output_.path());
    ASSERT_TRUE(info.ok()) << info.error().message;
    struct stat facts {};
    ASSERT_EQ(::stat(info->path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0640U);
    archive* const handle = archive_read_new();
    archive_read_support_format_tar(handle);
    archive_read_support_filter_zstd(handle);
    ASSERT_EQ(archive_read_open_filename(handle, info->path.c_str(), 65536), ARCHIVE_OK);
    std::string list;
    archive_entry* entry = nullptr;
    while (archive_read_next_header(handle, &entry) == ARCHIVE_OK)
        list += std::string(archive_entry_pathname(entry)) + " " +
                std::to_string(archive_entry_size(entry)) + " " +
                std::to_string(archive_entry_perm(entry)) + " " +
                std::to_string(archive_entry_mtime(entry)) + " " +
                std::to_string(archive_entry_uid(entry)) + "\n";
    archive_read_free(handle);
    EXPECT_EQ(list,
              "system.xml 9 420 0 0\nsettings.xml 11 420 0 0\ntrace.pftrace 300000 420 0 0\n");
}

TEST_F(Bundle, IsHiddenUntilItsCallerNamesIt) {
    const auto packed_bundle = pack_bundle(capture_.path(), session_id, output_.path());
    ASSERT_TRUE(packed_bundle.ok()) << packed_bundle.error().message;
    const auto& [beside, info] = *packed_bundle;
    EXPECT_FALSE(std::filesystem::exists(info.path));
    EXPECT_EQ(beside.parent_path(), output_.path());
    EXPECT_TRUE(beside.filename().string().starts_with("." + session_id + ".")) << beside;
    EXPECT_EQ(info.size_bytes, std::filesystem::file_size(beside));
    EXPECT_EQ(info.digest, sha256_of_file(beside).value());
    EXPECT_EQ(info.path,
              output_.path() / (session_id + "-" + info.digest.substr(0, 16) + ".lagtrap.tar.zst"));
}

TEST_F(Bundle, SaysWhichBundleCouldNotBeMade) {
    EXPECT_EQ(write_bundle(capture_.path(), "x\n", output_.path()).error().message,
              "session id \"x\\x0a\" is not a UUID");
    std::filesystem::remove(capture_.path() / "trace.pftrace");
    const auto trace = write_bundle(capture_.path(), session_id, output_.path());
    EXPECT_EQ(trace.error().kind, ErrorKind::NotFound);
    EXPECT_EQ(trace.error().message, "bundle of " + session_id + ": " +
                                         (capture_.path() / "trace.pftrace").string() +
                                         ": No such file or directory");
    std::filesystem::remove(capture_.path() / "settings.xml");
    std::filesystem::create_symlink("/etc/hostname", capture_.path() / "settings.xml");
    EXPECT_THAT(write_bundle(capture_.path(), session_id, output_.path()).error().message,
                HasSubstr("settings.xml: "));
    // A folder with the bundle's name is in the way.
    std::filesystem::remove(capture_.path() / "settings.xml");
    ASSERT_TRUE(write_file_durably(capture_.path() / "trace.pftrace", "t"));
    const auto packed_bundle = pack_bundle(capture_.path(), session_id, output_.path());
    ASSERT_TRUE(packed_bundle.ok());
    std::filesystem::remove(packed_bundle->beside);
    std::filesystem::create_directories(packed_bundle->info.path / "in-the-way");
    const auto named = write_bundle(capture_.path(), session_id, output_.path());
    ASSERT_FALSE(named.ok());
    EXPECT_THAT(named.error().message, testing::StartsWith("bundle of " + session_id + ": "));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(output_.path()), {}), 1)
        << "nothing else is left";
}

TEST_F(Bundle, TheSameFilesGiveTheSameDigest) {
    auto first = write_bundle(capture_.path(), session_id, output_.path());
    ASSERT_TRUE(write_file_durably(capture_.path() / "system.xml", "<system/>"));
    auto second = write_bundle(capture_.path(), session_id, output_.path());
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(first->digest, second->digest);
}

TEST_F(Bundle, WithoutATraceThereIsNoBundle) {
    std::filesystem::remove(capture_.path() / "trace.pftrace");
    EXPECT_FALSE(write_bundle(capture_.path(), session_id, output_.path()).ok());
    EXPECT_TRUE(std::filesystem::is_empty(output_.path()));
}

TEST_F(Bundle, LinksAreNotPacked) {
    std::filesystem::remove(capture_.path() / "system.xml");
    std::filesystem::create_symlink("/etc/hostname", capture_.path() / "system.xml");
    EXPECT_FALSE(write_bundle(capture_.path(), session_id, output_.path()).ok());
}

TEST_F(Bundle, OnlyPlainFilesArePacked) {
    std::filesystem::remove(capture_.path() / "system.xml");
    ASSERT_EQ(::mkfifo((capture_.path() / "system.xml").c_str(), 0600), 0);
    auto info = write_bundle(capture_.path(), session_id, output_.path());
    ASSERT_FALSE(info.ok());
    EXPECT_THAT(info.error().message, HasSubstr("system.xml: not a plain file"));
    EXPECT_TRUE(std::filesystem::is_empty(output_.path()));
}

TEST_F(Bundle, WithoutSettingsItIsStillABundle) {
    std::filesystem::remove(capture_.path() / "settings.xml");
    auto info = write_bundle(capture_.path(), session_id, output_.path());
    ASSERT_TRUE(info.ok()) << info.error().message;
    auto content = read_bundle(info->path);
    ASSERT_TRUE(content.ok()) << content.error().message;
    EXPECT_EQ(content->settings_xml, "");
}

TEST_F(Bundle, SessionIdsThatAreNoneAreRefused) {
    EXPECT_FALSE(write_bundle(capture_.path(), "../../etc/x", output_.path()).ok());
}

TEST_F(Bundle, CutOrChangedBundlesAreRefused) {
    auto info = write_bundle(capture_.path(), session_id, output_.path());
    const std::string whole = read_file(info->path, 1 << 20).value();
    for (std::size_t length = 0; length < whole.size(); length += 7) {
        ASSERT_TRUE(write_file_durably(forged(), whole.substr(0, length)));
        EXPECT_NE(complaint(), "") << length;
    }
}

TEST_F(Bundle, TooMuchTraceIsRefused) {
    { Forgery(forged()).file("system.xml", "s").file("trace.pftrace", std::string(5000, 'x')); }
    EXPECT_EQ(complaint(5000), "");
    EXPECT_THAT(complaint(4999), HasSubstr("trace.pftrace is larger than 4999 bytes"));
    EXPECT_EQ(read_bundle_system_file(forged()).value(), "s");
}

TEST_F(Bundle, ABombIsRefusedBeforeItIsUnpacked) {
    { Forgery(forged()).entry("system.xml", AE_IFREG, "", std::string(1 << 20, '\0'), 1ULL << 28); }
    EXPECT_LT(std::filesystem::file_size(forged()), 1U << 20);
    EXPECT_THAT(complaint(), HasSubstr("system.xml is larger than"));
    EXPECT_FALSE(read_bundle_system_file(forged()).ok());
}

TEST_F(Bundle, StrangersAreRefused) {
    for (const char* name : {"../system.xml", "/etc/passwd", "dir/system.xml", "./system.xml",
                             "other", "System.xml"}) {
        { Forgery(forged()).file("system.xml", "s").file("trace.pftrace", "t").file(name, "x"); }
        EXPECT_THAT(complaint(), HasSubstr("belong into a bundle")) << name;
    }
}

TEST_F(Bundle, LinksAndFoldersAreRefused) {
    { Forgery(forged()).entry("system.xml", AE_IFLNK, "/etc/passwd", ""); }
    EXPECT_THAT(complaint(), HasSubstr("not a plain file"));
    {
        Forgery(forged())
            .file("system.xml", "s")
            .entry("trace.pftrace", AE_IFREG, "system.xml", "");
    }
    EXPECT_THAT(complaint(), HasSubstr("not a plain file"));
    { Forgery(forged()).entry("system.xml", AE_IFDIR, "", ""); }
    EXPECT_NE(complaint(), "");
    { Forgery(forged()).entry("system.xml", AE_IFIFO, "", ""); }
    EXPECT_THAT(complaint(), HasSubstr("not a plain file"));
}

TEST_F(Bundle, DuplicatesAreRefused) {
    {
        Forgery(forged())
            .file("system.xml", "s")
            .file("trace.pftrace", "t")
            .file("system.xml", "other");
    }
    EXPECT_THAT(complaint(), HasSubstr("holds system.xml twice"));
}

TEST_F(Bundle, MissingFilesAreNamed) {
    { Forgery(forged()).file("system.xml", "s"); }
    EXPECT_THAT(complaint(), HasSubstr("holds no trace.pftrace"));
    { Forgery(forged()).file("trace.pftrace", "t"); }
    EXPECT_THAT(complaint(), HasSubstr("holds no system.xml"));
    EXPECT_FALSE(read_bundle_system_file(forged()).ok());
}

TEST_F(Bundle, AMillionEntriesEndAtTheFirstStranger) {
    {
        Forgery forgery(forged());
        for (int i = 0; i < 1'000'000; ++i) forgery.file("f", "");
    }
    EXPECT_THAT(complaint(), HasSubstr("holds \"f\""));
}

TEST_F(Bundle, SparseFilesAreRefusedWithoutTheirMaps) {
    // GNU tar's old format: the map of a sparse file continues in any number of blocks.
    const std::string entry("00000000000\00000001000000", 24);
    const std::string begin =
        tar_header("system.xml", "00000010000", 'S', entry + entry + entry + entry + "\1");
    std::string block(512, '\0');
    for (std::size_t i = 0; i < 21; ++i) block.replace(i * 24, 24, entry);
    block[504] = 1;
    std::string many;
    for (int i = 0; i < 2048; ++i) many += block;
    ASSERT_TRUE(write_file_durably(forged(), packed(begin, many, 300)));
    EXPECT_THAT(complaint(), HasSubstr("not a plain file"));
    EXPECT_LT(peak_bytes_of_reading(forged()), allowed_peak_bytes);
}

TEST_F(Bundle, HeadersThatExtendOthersAreRefused) {
    for (const char kind : {'x', 'g', 'L', 'K', 'V', 'N', 'A', 'D', 'M', '3', '4', '7', 'Z'}) {
        ASSERT_TRUE(write_file_durably(
            forged(),
            packed(tar_header("system.xml", "00004000000", kind), std::string(1 << 20, 'a'), 64)));
        EXPECT_THAT(complaint(), HasSubstr("not a plain file")) << kind;
    }
    EXPECT_LT(peak_bytes_of_reading(forged()), allowed_peak_bytes);
}

TEST_F(Bundle, AbsurdSizesAreRefused) {
    const std::string binary("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12);
    const std::string negative(12, '\xff');
    for (const std::string& size :
         {std::string("77777777777"), binary, negative, std::string("-0000000001"),
          std::string("0x000000010"), std::string(11, ' ')}) {
        ASSERT_TRUE(write_file_durably(forged(), packed(tar_header("system.xml", size))));
        EXPECT_THAT(complaint(), HasSubstr("system.xml is larger than")) << size;
    }
}

TEST_F(Bundle, ZerosThatUnpackToGigabytesAreRefused) {
    const std::string head = tar_header("system.xml") + tar_header("trace.pftrace", "17000000000");
    ASSERT_TRUE(write_file_durably(forged(), packed(head, std::string(1 << 20, '\0'), 1024)));
    EXPECT_THAT(complaint(2ULL << 30), HasSubstr("unpacks to more than 256 times its size"));
    EXPECT_LT(peak_bytes_of_reading(forged()), allowed_peak_bytes);
    // Announced bytes that never arrive cost nothing.
    ASSERT_TRUE(write_file_durably(forged(), packed(head, "x", 1)));
    EXPECT_THAT(complaint(2ULL << 30), HasSubstr("trace.pftrace is cut short"));
}

TEST_F(Bundle, WhatComesAfterTheEndIsRefused) {
    const std::string whole =
        tar_header("system.xml") + tar_header("trace.pftrace") + std::string(1024, '\0');
    const auto complaint_of = [&](const std::string& begin, const std::string& piece,
                                  std::size_t times) {
        EXPECT_TRUE(write_file_durably(forged(), packed(begin, piece, times)));
        return complaint();
    };
    EXPECT_EQ(complaint_of(whole, "", 0), "");
    EXPECT_EQ(complaint_of(whole, std::string(9216, '\0'), 1), "");
    EXPECT_THAT(complaint_of(whole, "x", 1), HasSubstr("goes on after its end"));
    EXPECT_THAT(complaint_of(whole, std::string(1 << 20, '\0'), 4096),
                HasSubstr("goes on after its end"));
    EXPECT_THAT(complaint_of(whole, tar_header("system.xml"), 1),
                HasSubstr("goes on after its end"));
}

TEST_F(Bundle, BundlesWithinBundlesAreRefused) {
    const std::string whole =
        tar_header("system.xml") + tar_header("trace.pftrace") + std::string(1024, '\0');
    ASSERT_TRUE(write_file_durably(forged(), packed(packed(whole))));
    EXPECT_THAT(complaint(), HasSubstr("not a bundle"));
}

TEST_F(Bundle, LargeWindowsAreRefused) {
    // zstd uses as much memory as a file requests, up to 2 GiB.
    ASSERT_TRUE(write_file_durably(
        forged(), packed(tar_header("system.xml"), std::string(1 << 20, 'a'), 300, 27)));
    EXPECT_THAT(complaint(), HasSubstr("too much memory"));
    EXPECT_LT(peak_bytes_of_reading(forged()), allowed_peak_bytes);
}

TEST_F(Bundle, WhatIsNoPlainFileIsRefused) {
    ASSERT_EQ(::mkfifo(forged().c_str(), 0600), 0);
    EXPECT_THAT(complaint(), HasSubstr("not a plain file"));
    for (const char* path : {"/dev/zero", "/dev/null", "/tmp"}) {
        EXPECT_THAT(read_bundle(path).error().message, HasSubstr("not a plain file")) << path;
        EXPECT_THAT(read_bundle_system_file(path).error().message, HasSubstr("not a plain file"))
            << path;
    }
}

TEST_F(Bundle, OtherArchivesAreRefused) {
    ASSERT_TRUE(write_file_durably(forged(), "PK\x03\x04 and so on"));
    EXPECT_NE(complaint(), "");
    ASSERT_TRUE(write_file_durably(forged(), ""));
    EXPECT_NE(complaint(), "");
}

}  // namespace
}  // namespace lagtrap::trace::bundle_test
