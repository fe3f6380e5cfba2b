// Bundles that only differ from a good one in a few bytes, and reading them piece by piece.
#include <fcntl.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.hpp"
#include "tests/unit/trace/forged_bundle.hpp"
#include "tests/unit/trace/temporary_directory.hpp"
#include "trace/bundle/bundle.hpp"

namespace lagtrap::trace::bundle_reader_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string octal(std::size_t size) {
    std::array<char, 16> digits{};
    std::snprintf(digits.data(), digits.size(), "%011zo", size);
    return digits.data();
}

// A file of a bundle: header, content, zeros up to the next block.
std::string member(const std::string& name, const std::string& content) {
    const std::string padding((512 - content.size() % 512) % 512, '\0');
    return tar_header(name, octal(content.size())) + content + padding;
}

const std::string end_of_tar(1024, '\0');
const std::string good = member("system.xml", "<system/>") + member("settings.xml", "<lagtrap/>") +
                         member("trace.pftrace", "trace") + end_of_tar;

class BundleReaderTest : public testing::Test {
  protected:
    [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "bundle"; }
    void write(const std::string& tar) const {
        ASSERT_TRUE(write_file_durably(path(), packed(tar)));
    }
    // "kind: message", without the path; empty if it was read.
    [[nodiscard]] std::string problem(const std::string& tar, std::uint64_t limit = 1 << 20) const {
        write(tar);
        const auto content = read_bundle(path(), limit);
        return content ? "" : text_of(content.error());
    }
    [[nodiscard]] std::string system_problem(const std::string& tar) const {
        write(tar);
        const auto text = read_bundle_system_file(path());
        return text ? "" : text_of(text.error());
    }
    [[nodiscard]] std::string text_of(const Error& error) const {
        EXPECT_THAT(error.message, StartsWith(path().string() + ": "));
        return error.message.substr(path().string().size() + 2);
    }
    // With a change to the header of the first file, whose checksum is then right again.
    [[nodiscard]] std::string problem_with(std::size_t at, const std::string& bytes) const {
        std::string tar = good;
        tar.replace(at, bytes.size(), bytes);
        tar.replace(148, 8, "        ");
        unsigned sum = 0;
        for (std::size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(tar[i]);
        std::array<char, 8> digits{};
        std::snprintf(digits.data(), digits.size(), "%06o", sum);
        tar.replace(148, 7, digits.data(), 7);
        return problem(tar);
    }

    TemporaryDirectory folder_;
};

TEST_F(BundleReaderTest, ReadsEachFileInAnyOrder) {
    write(member("trace.pftrace", "t") + member("settings.xml", "") + member("system.xml", "s") +
          end_of_tar);
    const auto content = read_bundle(path());
    ASSERT_TRUE(content.ok()) << content.error().message;
    EXPECT_EQ(content->trace, "t");
    EXPECT_EQ(content->settings_xml, "");
    EXPECT_EQ(content->system_xml, "s");
    EXPECT_EQ(system_problem(member("trace.pftrace", "") + member("system.xml", "s")),
              "it holds no system.xml as its first file");
}

TEST_F(BundleReaderTest, FilesOfWholeBlocksHaveNoPadding) {
    for (const std::size_t size : {1U, 511U, 512U, 513U, 65536U, 65537U, 131072U}) {
        const std::string trace(size, 'x');
        write(member("system.xml", "s") + member("trace.pftrace", trace) + end_of_tar);
        const auto content = read_bundle(path());
        ASSERT_TRUE(content.ok()) << size << content.error().message;
        EXPECT_EQ(content->trace, trace) << size;
    }
}

TEST_F(BundleReaderTest, HeadersAreThoseOfPlainFilesOfTar) {
    EXPECT_EQ(problem(good), "");
    EXPECT_EQ(problem_with(156, "0"), "");
    EXPECT_EQ(problem_with(156, std::string(1, '\0')), "") << "as old programs wrote them";
    const std::string strange = "it holds something that is not a plain file";
    EXPECT_EQ(problem_with(156, "5"), strange);
    EXPECT_EQ(problem_with(157, "x"), strange) << "a link";
    EXPECT_EQ(problem_with(257, "USTAR"), "not a bundle: no tar file is packed in it");
    EXPECT_EQ(
        problem_with(345, "folder"),
        "it holds \"system.xml\"; only system.xml, settings.xml and trace.pftrace belong into a "
        "bundle");
    EXPECT_EQ(problem_with(257, "ustar  "), "") << "as GNU tar writes it";
    EXPECT_EQ(problem_with(124, "       11  "), "") << "spaces around the size";
}

TEST_F(BundleReaderTest, ChecksumsAreRight) {
    std::string tar = good;
    tar[0] = 'S';
    EXPECT_EQ(problem(tar), "not a bundle: no tar file is packed in it");
    tar = good;
    tar[1024] = 'S';  // the second header
    EXPECT_EQ(problem(tar), "it is damaged: a header is malformed");
}

TEST_F(BundleReaderTest, SaysWhereItIsCutShort) {
    EXPECT_EQ(problem(""), "not a bundle: it is empty");
    EXPECT_EQ(problem(good.substr(0, 511)), "not a bundle");
    EXPECT_EQ(problem(good.substr(0, 512)), "system.xml is cut short");
    EXPECT_EQ(problem(good.substr(0, 520)), "system.xml is cut short");
    EXPECT_EQ(problem(good.substr(0, 521)), "system.xml is cut short") << "within its padding";
    EXPECT_EQ(problem(good.substr(0, 1023)), "system.xml is cut short");
    EXPECT_EQ(problem(good.substr(0, 1024)), "it is cut short") << "without the blocks at the end";
    EXPECT_EQ(problem(good.substr(0, 1100)), "it is cut short");
}

TEST_F(BundleReaderTest, TextsAreUpTo16MiB) {
    const std::string most(16 << 20, 'x');
    const auto with = [](const std::string& system, const std::string& settings) {
        return member("system.xml", system) + member("settings.xml", settings) +
               member("trace.pftrace", "") + end_of_tar;
    };
    // Compressed well enough to be refused for that, unless it is read in part.
    EXPECT_EQ(problem(with("", most + "x")), "settings.xml is larger than 16777216 bytes");
    EXPECT_EQ(problem(with(most + "x", "")), "system.xml is larger than 16777216 bytes");
    EXPECT_EQ(system_problem(with(most + "x", "")), "system.xml is larger than 16777216 bytes");
    write(with("", most + "x"));
    EXPECT_EQ(read_bundle(path()).error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(problem(good), "");
}

TEST_F(BundleReaderTest, ZerosMayFollowUpToAMebibyte) {
    const auto with = [&](std::size_t zeros) { return problem(good + std::string(zeros, '\0')); };
    EXPECT_EQ(with(9216), "");
    EXPECT_EQ(problem(good + std::string(100, '\0') + "x"), "it goes on after its end");
    // The last block of zeros that is read may reach beyond the limit.
    EXPECT_EQ(with(3 << 20), "it goes on after its end");
}

TEST_F(BundleReaderTest, ReadsFromTheCurrentPosition) {
    const std::string bytes = packed(good);
    ASSERT_TRUE(write_file_durably(path(), "before" + bytes));
    const auto fd = open_file(path(), O_RDONLY);
    ASSERT_TRUE(fd.ok());
    ASSERT_EQ(::lseek(fd->get(), 6, SEEK_SET), 6);
    EXPECT_EQ(read_open_bundle(fd->get(), 100).value().settings_xml, "<lagtrap/>");
    ASSERT_EQ(::lseek(fd->get(), 6, SEEK_SET), 6);
    EXPECT_EQ(read_open_bundle_system_file(fd->get()).value(), "<system/>");
    ASSERT_EQ(::lseek(fd->get(), 0, SEEK_SET), 0);
    const auto wrong = read_open_bundle(fd->get(), 100);
    ASSERT_FALSE(wrong.ok());
    EXPECT_THAT(wrong.error().message, testing::Not(HasSubstr(path().string())));
}

class BundleTrace : public BundleReaderTest {
  protected:
    // The sizes of the pieces, and the error.
    std::string pieces(const std::string& tar, std::uint64_t limit, std::size_t stop_after = 100) {
        write(tar);
        const auto fd = open_file(path(), O_RDONLY);
        std::string sizes;
        std::size_t taken = 0;
        const Status read =
            read_open_bundle_trace(fd->get(), limit, [&](std::string_view piece) -> Status {
                if (taken++ == stop_after) return make_error(ErrorKind::System, "no room");
                sizes += std::to_string(piece.size()) + " ";
                return success();
            });
        return read ? sizes : sizes + read.error().message;
    }
};

TEST_F(BundleTrace, IsPassedOnInPieces) {
    const std::string tar = member("system.xml", "s") +
                            member("trace.pftrace", std::string(150'000, 't')) +
                            member("settings.xml", "x") + end_of_tar;
    EXPECT_EQ(pieces(tar, 150'000), "65536 65536 18928 ");
    EXPECT_EQ(pieces(tar, 149'999), "trace.pftrace is larger than 149999 bytes");
    EXPECT_EQ(pieces(tar, 150'000, 1), "65536 no room");
    EXPECT_EQ(pieces(member("system.xml", "s") + end_of_tar, 10), "it holds no trace.pftrace");
    EXPECT_EQ(pieces(member("trace.pftrace", "s") + end_of_tar, 10), "1 it holds no system.xml");
}

}  // namespace
}  // namespace lagtrap::trace::bundle_reader_test
