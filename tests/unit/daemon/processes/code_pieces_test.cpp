#include "daemon/processes/code_pieces.hpp"

#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "daemon/processes/mapping_build_id.hpp"

namespace lagtrap::daemon::code_pieces_test {
namespace {

std::shared_ptr<const ReportedFile> file_of(const std::string& path) {
    return std::make_shared<const ReportedFile>(ReportedFile{8, 42, "0a1b", path});
}

CodePiece piece(std::uint64_t start, std::uint64_t end, const char* path = nullptr,
                std::uint64_t file_offset = 0) {
    CodePiece made;
    made.start = start;
    made.end = end;
    made.file_offset = file_offset;
    made.kind = path != nullptr ? PieceKind::File : PieceKind::RuntimeCode;
    if (path != nullptr) made.file = file_of(path);
    return made;
}

// As "10-20@5:path", with the offset in the file.
std::string text_of(const CodePieces& pieces) {
    std::string text;
    std::uint64_t bytes = 0;
    for (const auto& [start, one] : pieces.all()) {
        EXPECT_EQ(start, one.start);
        if (!text.empty()) text += ' ';
        text += std::to_string(one.start) + '-' + std::to_string(one.end);
        if (one.file) text += '@' + std::to_string(one.file_offset) + ':' + one.file->path;
        bytes += 256 + (one.file ? one.file->path.size() : 0);
    }
    EXPECT_EQ(pieces.cost_bytes(), bytes) << text;
    return text;
}

CodePieces with(std::initializer_list<CodePiece> all) {
    CodePieces pieces;
    for (const CodePiece& one : all) pieces.put(one);
    return pieces;
}

TEST(CodePieces, LaterOnesReplaceWhatTheyOverlap) {
    EXPECT_EQ(text_of(with({piece(10, 20), piece(20, 30)})), "10-20 20-30");
    EXPECT_EQ(text_of(with({piece(20, 30), piece(10, 20)})), "10-20 20-30");
    EXPECT_EQ(text_of(with({piece(10, 20, "a", 5), piece(10, 20)})), "10-20");
    EXPECT_EQ(text_of(with({piece(10, 20, "a", 5), piece(15, 25)})), "10-15@5:a 15-25");
    EXPECT_EQ(text_of(with({piece(10, 20, "a", 5), piece(5, 15)})), "5-15 15-20@10:a");
    EXPECT_EQ(text_of(with({piece(10, 20, "a", 5), piece(12, 16)})), "10-12@5:a 12-16 16-20@11:a");
    EXPECT_EQ(text_of(with({piece(10, 20, "a", 5), piece(19, 20)})), "10-19@5:a 19-20");
    EXPECT_EQ(text_of(with({piece(10, 12), piece(14, 16), piece(18, 20), piece(11, 19)})),
              "10-11 11-19 19-20");
    EXPECT_EQ(text_of(with({piece(10, 12), piece(14, 16), piece(10, 20, "long", 1)})),
              "10-20@1:long");
}

TEST(CodePieces, RuntimeCodeWithinRuntimeCodeChangesNothing) {
    CodePieces pieces = with({piece(10, 20), piece(30, 40, "a")});
    EXPECT_TRUE(pieces.covers(piece(10, 20)));
    EXPECT_TRUE(pieces.covers(piece(11, 19)));
    EXPECT_FALSE(pieces.covers(piece(10, 21)));
    EXPECT_FALSE(pieces.covers(piece(9, 20)));
    EXPECT_FALSE(pieces.covers(piece(20, 21)));
    EXPECT_FALSE(pieces.covers(piece(31, 32))) << "it is a file";
    EXPECT_FALSE(pieces.covers(piece(11, 19, "a"))) << "files are looked at";
    EXPECT_FALSE(CodePieces().covers(piece(1, 2)));
}

TEST(CodePiece, IsRecordedAsAMapping) {
    const lagtrap_mapping mapping = piece(100, 130, "/bin/a", 7).mapping_in(9);
    EXPECT_EQ(mapping.header.type, LAGTRAP_RECORD_MAPPING);
    EXPECT_EQ(mapping.pid, 9U);
    EXPECT_EQ(mapping.start, 100U);
    EXPECT_EQ(mapping.length, 30U);
    EXPECT_EQ(mapping.file_offset, 7U);
    EXPECT_EQ(mapping.device, 8U);
    EXPECT_EQ(mapping.inode, 42U);
    EXPECT_EQ(build_id_of(mapping), "0a1b");
    const lagtrap_mapping runtime_code = piece(100, 130).mapping_in(9);
    EXPECT_EQ(runtime_code.length, 30U);
    EXPECT_EQ(runtime_code.inode, 0U);
    EXPECT_EQ(build_id_of(runtime_code), "");
}

TEST(ReportedFile, IsIdentifiedOnlyWithABuildId) {
    EXPECT_EQ(file_of("/bin/a b")->key(), "0a1b 8 42 /bin/a b");
    EXPECT_EQ((ReportedFile{8, 42, "", "/bin/a"}.key()), "");
}

TEST(MappingBuildId, HasTwentyBytesAtMost) {
    lagtrap_mapping mapping{};
    const std::string twenty = "000102030405060708090a0b0c0d0e0ffff1f2f3";
    set_build_id(mapping, twenty);
    EXPECT_EQ(mapping.build_id_bytes, 20U);
    EXPECT_EQ(mapping.build_id[16], 0xffU);
    EXPECT_EQ(build_id_of(mapping), twenty);
    set_build_id(mapping, twenty + "aa");
    EXPECT_EQ(mapping.build_id_bytes, 20U);
    EXPECT_EQ(build_id_of(mapping), twenty);
    set_build_id(mapping, "ab");
    EXPECT_EQ(build_id_of(mapping), "ab");
    set_build_id(mapping, "abc");
    EXPECT_EQ(build_id_of(mapping), "ab") << "whole bytes";
    for (const char* wrong : {"zz", "AB", "ab cd", ""}) {
        set_build_id(mapping, "abcd");
        set_build_id(mapping, wrong);
        EXPECT_EQ(build_id_of(mapping), "") << wrong;
    }
    mapping.build_id_bytes = 24;
    EXPECT_EQ(build_id_of(mapping).size(), 40U) << "not what follows it";
}

}  // namespace
}  // namespace lagtrap::daemon::code_pieces_test
