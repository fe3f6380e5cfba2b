#include "binaries/unwind/call_frame_entries.hpp"

#include <gtest/gtest.h>

#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test::call_frame_entries_test {
namespace {

CallFrameEntries read(const std::string& bytes, bool debug_frame = false,
                      bool ends_at_zero = false) {
    CallFrameSection section;
    section.bytes = bytes;
    section.address = frames_address;
    section.is_debug_frame = debug_frame;
    section.ends_at_zero = ends_at_zero;
    CallFrameEntries entries;
    read_call_frame_entries(section, 3, entries);
    return entries;
}

TEST(CallFrameEntriesTest, AFunctionHasItsBoundsAndInstructions) {
    Frames frames;
    const auto cie = frames.usual_cie();
    frames.function(cie, code_at + 0x20, 0x10, "\x41\x42");
    frames.function(cie, code_at, 0x30, "");
    const auto entries = read(frames.text());
    EXPECT_FALSE(entries.damaged);
    ASSERT_EQ(entries.cies.size(), 1U);
    EXPECT_EQ(entries.cies[0].offset, 0U);
    EXPECT_EQ(entries.cies[0].section, 3U);
    EXPECT_EQ(entries.cies[0].code_alignment, 1U);
    EXPECT_EQ(entries.cies[0].data_alignment, -8);
    EXPECT_EQ(entries.cies[0].address_encoding, 0x1b);
    EXPECT_TRUE(entries.cies[0].has_augmentation_data);
    ASSERT_EQ(entries.functions.size(), 2U);
    const CallFrameFunction& first = entries.functions[0];
    EXPECT_EQ(first.begin, code_at + 0x20);
    EXPECT_EQ(first.size, 0x10U);
    EXPECT_EQ(first.cie, 0U);
    EXPECT_EQ(frames.text().substr(first.code_begin, first.code_end - first.code_begin),
              "\x41\x42");
    EXPECT_EQ(entries.functions[1].begin, code_at) << "in the order of the section";
}

TEST(CallFrameEntriesTest, EntriesOfAnotherSectionAreAdded) {
    Frames frames;
    frames.function(frames.usual_cie(), code_at, 0x10, "");
    CallFrameSection section;
    section.bytes = frames.text();
    section.address = frames_address;
    CallFrameEntries entries;
    read_call_frame_entries(section, 0, entries);
    read_call_frame_entries(section, 1, entries);
    ASSERT_EQ(entries.functions.size(), 2U);
    EXPECT_EQ(entries.functions[0].cie, 0U);
    EXPECT_EQ(entries.functions[1].cie, 1U);
    EXPECT_EQ(entries.cies[1].section, 1U);
}

TEST(CallFrameEntriesTest, AnEmptyFunctionIsNone) {
    Frames frames;
    frames.function(frames.usual_cie(), code_at, 0, "");
    const auto entries = read(frames.text());
    EXPECT_TRUE(entries.functions.empty());
    EXPECT_FALSE(entries.damaged);
}

TEST(CallFrameEntriesTest, AnEmptyEntryEndsASectionOfUnknownSize) {
    Frames frames;
    const auto cie = frames.usual_cie();
    frames.function(cie, code_at, 0x10, "");
    frames.bytes().u32(0);
    frames.function(cie, code_at + 0x10, 0x10, "");
    EXPECT_EQ(read(frames.text()).functions.size(), 2U);
    const auto cut = read(frames.text(), false, true);
    EXPECT_EQ(cut.functions.size(), 1U);
    EXPECT_FALSE(cut.damaged);
}

TEST(CallFrameEntriesTest, InDebugFrameCiesAreMarkedByOnes) {
    Frames frames(true);
    const auto cie = frames.cie("", "", usual_start(), 3);
    frames.function_with(cie, Bytes().u64(code_at).u64(0x10), "");
    const auto entries = read(frames.text(), true);
    EXPECT_EQ(entries.cies.size(), 1U);
    ASSERT_EQ(entries.functions.size(), 1U);
    EXPECT_EQ(entries.functions[0].begin, code_at);
    EXPECT_FALSE(entries.cies[0].has_augmentation_data);
    // As .eh_frame, these are functions without a CIE.
    EXPECT_TRUE(read(frames.text()).cies.empty());
    EXPECT_TRUE(read(frames.text()).damaged);
}

TEST(CallFrameEntriesTest, LongEntriesHaveLongNumbers) {
    Bytes bytes;
    const std::string cie =
        Bytes().u64(~std::uint64_t{0}).u8(3).u8(0).uleb(1).sleb(-8).u8(16).raw(usual_start());
    bytes.u32(0xffffffff).u64(cie.size()).raw(cie);
    const std::string function = Bytes().u64(0).u64(code_at).u64(0x10);
    bytes.u32(0xffffffff).u64(function.size()).raw(function);
    const auto entries = read(bytes, true);
    EXPECT_EQ(entries.cies.size(), 1U);
    EXPECT_EQ(entries.functions.size(), 1U);
    EXPECT_FALSE(entries.damaged);
}

TEST(CallFrameEntriesTest, ALengthBeyondTheEndIsDamage) {
    Frames frames;
    frames.function(frames.usual_cie(), code_at, 0x10, "");
    const std::string whole = frames.text();
    const auto cut = read(whole.substr(0, whole.size() - 1));
    EXPECT_TRUE(cut.functions.empty());
    EXPECT_EQ(cut.cies.size(), 1U);
    EXPECT_TRUE(cut.damaged);
    EXPECT_TRUE(read(whole + std::string(3, '\0')).damaged);
    EXPECT_FALSE(read("").damaged);
}

TEST(CallFrameEntriesTest, VersionsAndRegistersOfX86AreRead) {
    const auto is_read = [](const std::string& content) {
        Frames frames;
        frames.entry(0, content);
        const auto entries = read(frames.text());
        EXPECT_EQ(entries.cies.size() + (entries.damaged ? 1 : 0), 1U);
        return entries.cies.size() == 1;
    };
    const auto cie = [](unsigned version, unsigned return_register, unsigned address_bytes = 8,
                        unsigned segment_bytes = 0) {
        Bytes content;
        content.u8(version).u8(0);
        if (version == 4) content.u8(address_bytes).u8(segment_bytes);
        return content.uleb(1).sleb(-8).u8(return_register).raw(usual_start()).text();
    };
    for (const unsigned version : {1U, 3U, 4U}) EXPECT_TRUE(is_read(cie(version, 16))) << version;
    for (const unsigned version : {0U, 2U, 5U}) EXPECT_FALSE(is_read(cie(version, 16))) << version;
    EXPECT_FALSE(is_read(cie(1, 17)));
    EXPECT_FALSE(is_read(cie(4, 16, 4)));
    EXPECT_FALSE(is_read(cie(4, 16, 8, 1)));
}

// Two encodings of one number.
TEST(CallFrameEntriesTest, TheReturnRegisterIsAByteOrALeb128) {
    const auto is_read = [](unsigned version) {
        Frames frames;
        frames.entry(0,
                     Bytes().u8(version).u8(0).uleb(1).sleb(-8).u8(0x90).u8(0).raw(usual_start()));
        return read(frames.text()).cies.size() == 1;
    };
    EXPECT_TRUE(is_read(3));
    EXPECT_FALSE(is_read(1));
}

TEST(CallFrameEntriesTest, AugmentationsSayWhatFollows) {
    const auto cie_of = [](const std::string& augmentation, const std::string& data) {
        Frames frames;
        frames.cie(augmentation, data, usual_start());
        return read(frames.text());
    };
    const auto signal = cie_of("zRS", Bytes().u8(0x1b));
    ASSERT_EQ(signal.cies.size(), 1U);
    EXPECT_TRUE(signal.cies[0].signal_frame);
    EXPECT_FALSE(signal.cies[0].names_landing_pads);
    const auto pads = cie_of("zLR", Bytes().u8(0x1b).u8(0x03));
    ASSERT_EQ(pads.cies.size(), 1U);
    EXPECT_TRUE(pads.cies[0].names_landing_pads);
    EXPECT_EQ(pads.cies[0].address_encoding, 0x03);
    EXPECT_FALSE(pads.cies[0].signal_frame);
    EXPECT_FALSE(cie_of("zLR", Bytes().u8(0xff).u8(0x1b)).cies.at(0).names_landing_pads);
    EXPECT_EQ(cie_of("eh", "").cies.size(), 1U);
    // A pointer of eight bytes at a multiple of eight: 7 bytes of padding after its encoding.
    const auto aligned = [&](std::size_t padding) {
        return cie_of("zPR", Bytes().u8(0x50).raw(std::string(padding, '\0')).u64(1).u8(0x1b));
    };
    std::size_t accepted = 0;
    for (std::size_t padding = 0; padding < 8; ++padding) {
        const auto entries = aligned(padding);
        if (entries.cies.size() == 1 && entries.cies[0].address_encoding == 0x1b) ++accepted;
    }
    EXPECT_EQ(accepted, 1U);
    for (const auto& [augmentation, data] :
         {std::pair<std::string, std::string>{"zX", "\1"}, {"R", ""}, {"zR", ""}}) {
        EXPECT_TRUE(cie_of(augmentation, data).cies.empty()) << augmentation;
        EXPECT_TRUE(cie_of(augmentation, data).damaged) << augmentation;
    }
}

TEST(CallFrameEntriesTest, LandingPadsNeedAPointer) {
    Frames frames;
    const auto cie = frames.cie("zLR", Bytes().u8(0x1b).u8(0x1b), usual_start());
    for (const std::uint32_t pads : {0U, 0x1234U}) {
        const std::uint64_t place = frames_address + frames.size() + 8;
        frames.function_with(cie, Bytes().u32(code_at - place).u32(0x10).uleb(4).u32(pads), "\x41");
    }
    const auto entries = read(frames.text());
    ASSERT_EQ(entries.functions.size(), 2U);
    EXPECT_FALSE(entries.functions[0].has_landing_pads);
    EXPECT_TRUE(entries.functions[1].has_landing_pads);
    for (const CallFrameFunction& function : entries.functions)
        EXPECT_EQ(function.code_end - function.code_begin, 1U) << "after the pointer";
}

TEST(CallFrameEntriesTest, FunctionsOfFourGibibytesAreDamage) {
    Frames frames(true);
    const auto cie = frames.cie("", "", usual_start(), 3);
    frames.function_with(cie, Bytes().u64(code_at).u64(0xffffffff), "");
    frames.function_with(cie, Bytes().u64(code_at).u64(0x100000000), "");
    const auto entries = read(frames.text(), true);
    ASSERT_EQ(entries.functions.size(), 1U);
    EXPECT_EQ(entries.functions[0].size, 0xffffffffU);
    EXPECT_TRUE(entries.damaged);
}

TEST(CallFrameEntriesTest, EachFunctionHasItsOwnCie) {
    Frames frames;
    const auto first = frames.usual_cie();
    const auto second = frames.cie("zRS", Bytes().u8(0x1b), usual_start());
    frames.function(second, code_at, 0x10, "");
    frames.function(first, code_at + 0x10, 0x10, "");
    frames.function(first + 4, code_at + 0x20, 0x10, "");
    const auto entries = read(frames.text());
    ASSERT_EQ(entries.functions.size(), 2U);
    EXPECT_EQ(entries.functions[0].cie, 1U);
    EXPECT_EQ(entries.functions[1].cie, 0U);
    EXPECT_TRUE(entries.damaged) << "there is no CIE in the middle of one";
}

}  // namespace
}  // namespace lagtrap::binaries::test::call_frame_entries_test
