#include "trace/processes/address_spaces.hpp"

#include <gtest/gtest.h>

#include "tests/unit/trace/synthetic_capture.hpp"
#include "tests/unit/trace/temporary_directory.hpp"
#include "trace/logs/record_stream.hpp"

namespace lagtrap::trace::address_spaces_test {
namespace {

class AddressSpacesTest : public testing::Test {
  protected:
    AddressSpacesTest() { capture_.emplace(folder_.path(), synthetic_session()); }
    AddressSpaces& load() {
        capture_->flush();
        auto stream = RecordStream::open(folder_.path() / "rundown.log", 100);
        EXPECT_TRUE(stream.ok());
        EXPECT_TRUE(spaces_.load(*stream).ok());
        return spaces_;
    }
    // "path+offset" of the code there; "path pid@address" without a file.
    [[nodiscard]] std::string at(std::uint32_t pid, std::uint64_t address, double ms) const {
        const CodePlace place = spaces_.find(pid, address, at_ms(ms));
        std::string text = modules_.at(place.module).path;
        if (place.pid != 0)
            return text + " " + std::to_string(place.pid) + "@" + std::to_string(place.offset);
        return text + "+" + std::to_string(place.offset);
    }
    // "program|started|command line|group|parent|user", and how it began.
    [[nodiscard]] std::string image(std::uint32_t pid, double ms) const {
        const ProcessImage* const found = spaces_.image_of(pid, at_ms(ms));
        if (found == nullptr) return "none";
        return found->program + "|" + found->started_path + "|" + found->command_line + "|" +
               found->control_group + "|" + std::to_string(found->parent_pid) + "|" +
               std::to_string(found->uid) + (found->by_exec ? " exec" : "") +
               (found->forked ? " fork" : "");
    }
    void process(std::uint32_t pid, std::uint32_t parent, const std::string& texts, double ms = 0) {
        const std::size_t end = texts.find('|');
        std::string rest = texts.substr(end + 1);
        for (char& letter : rest)
            if (letter == '|') letter = '\0';
        capture_->process(pid, parent, texts.substr(0, end), rest, ms);
    }

    TemporaryDirectory folder_;
    std::optional<SyntheticCapture> capture_;
    ModuleTable modules_;
    AddressSpaces spaces_{modules_};
};

TEST_F(AddressSpacesTest, CodeIsThatOfTheMappingAtThatTime) {
    capture_->mapping(10, 5, 0x1000, 0x1000, 0x200, "/bin/a", "A");
    capture_->mapping(10, 20, 0x1000, 0x1000, 0, "/bin/b", "B");
    capture_->mapping(10, 30, 0x1800, 0x100, 0, "/bin/c", "C");
    load();
    EXPECT_EQ(at(10, 0x1010, 5), "/bin/a+528") << "from the file's begin";
    EXPECT_EQ(at(10, 0x1010, 19), "/bin/a+528");
    EXPECT_EQ(at(10, 0x1010, 20), "/bin/b+16");
    EXPECT_EQ(at(10, 0x1810, 29), "/bin/b+2064");
    EXPECT_EQ(at(10, 0x1810, 30), "/bin/c+16") << "covers part of the other";
    EXPECT_EQ(at(10, 0x1910, 30), "/bin/b+2320") << "behind it";
    EXPECT_EQ(at(10, 0x1010, 1), "/bin/a+528") << "what was mapped there next";
    EXPECT_EQ(at(10, 0x1fff, 50), "/bin/b+4095");
    EXPECT_EQ(at(10, 0x2000, 50), "[unknown] 10@8192") << "the end is outside";
    EXPECT_EQ(at(10, 0xfff, 50), "[unknown] 10@4095");
    EXPECT_EQ(at(11, 0x1010, 50), "[unknown] 11@4112") << "an unknown process";
}

TEST_F(AddressSpacesTest, MappingsOfNoLengthAreNone) {
    capture_->mapping(10, 5, 0x1000, 0, 0, "/bin/a", "");
    capture_->mapping(10, 5, ~0ULL - 10, 100, 0, "/bin/b", "");
    load();
    EXPECT_EQ(at(10, 0x1000, 9), "[unknown] 10@4096");
    EXPECT_EQ(image(10, 9), "none");
}

TEST_F(AddressSpacesTest, MemoryWithoutAFileIsCodeOfItsProcess) {
    capture_->mapping(10, 5, 0x1000, 0x1000, 0, "//anon", "");
    load();
    EXPECT_EQ(at(10, 0x1010, 9), "[jit] 10@4112");
}

TEST_F(AddressSpacesTest, AChildHasItsParentsCodeUntilItExecutesAnother) {
    capture_->mapping(10, 1, 0x1000, 0x1000, 0, "/bin/a", "A");
    capture_->fork(10, 20, 20, 10, 10);
    capture_->mapping(10, 15, 0x5000, 0x1000, 0, "/bin/later", "");
    capture_->name(30, 20, 20, "b", true);
    capture_->mapping(20, 31, 0x1000, 0x1000, 0, "/bin/b", "B");
    capture_->name(40, 20, 20, "renamed", false);
    load();
    EXPECT_EQ(at(20, 0x1010, 12), "/bin/a+16");
    EXPECT_EQ(at(20, 0x1010, 35), "/bin/b+16");
    EXPECT_EQ(at(20, 0x1010, 50), "/bin/b+16") << "a new name alone changes nothing";
    EXPECT_EQ(at(10, 0x1010, 50), "/bin/a+16");
    EXPECT_EQ(spaces_.program_build_id(*spaces_.image_of(20, at_ms(12))), "A");
    EXPECT_EQ(spaces_.program_build_id(*spaces_.image_of(20, at_ms(50))), "B");
}

TEST_F(AddressSpacesTest, ImagesHaveTheTextsOfTheirProcess) {
    process(10, 1, "/bin/a|a -x|/system.slice/a.service|/usr/bin/a");
    process(11, 1, "/bin/b|b");
    process(12, 1, "/bin/c|");
    process(13, 1, "|only words");
    load();
    EXPECT_EQ(image(10, 5), "/bin/a|/usr/bin/a|a -x|/system.slice/a.service|1|1000");
    EXPECT_EQ(image(11, 5), "/bin/b||b||1|1000");
    EXPECT_EQ(image(12, 5), "/bin/c||||1|1000");
    EXPECT_EQ(image(13, 5), "||only words||1|1000");
    EXPECT_EQ(image(14, 5), "none");
}

TEST_F(AddressSpacesTest, AChildIsWhatItsParentIs) {
    process(10, 1, "/bin/a|a -x|/group|/usr/bin/a");
    capture_->fork(10, 20, 20, 10, 10);
    capture_->fork(11, 10, 21, 10, 10);
    capture_->name(30, 20, 20, "b", true);
    capture_->mapping(20, 31, 0x1000, 0x1000, 0, "/bin/b", "");
    capture_->mapping(20, 32, 0x9000, 0x1000, 0, "/lib/c", "");
    load();
    EXPECT_EQ(image(20, 15), "/bin/a|/usr/bin/a|a -x|/group|10|1000 fork");
    EXPECT_EQ(image(20, 5), image(20, 15)) << "the first one";
    EXPECT_EQ(image(20, 40), "/bin/b|||/group|10|1000 exec fork") << "the first file mapped";
    EXPECT_EQ(image(21, 40), "none") << "a thread";
    EXPECT_EQ(image(10, 40), "/bin/a|/usr/bin/a|a -x|/group|1|1000");
}

TEST_F(AddressSpacesTest, ANumberThatIsUsedAgainIsAnotherProcess) {
    process(10, 1, "/bin/a|a");
    process(11, 1, "/bin/b|b");
    capture_->fork(10, 20, 20, 10, 10);
    capture_->exit(15, 20, 22);  // a thread of it
    capture_->exit(20, 20, 20);
    capture_->fork(30, 20, 20, 11, 11);
    load();
    EXPECT_EQ(image(20, 12), "/bin/a||a||10|1000 fork");
    EXPECT_EQ(image(20, 25), "/bin/a||a||10|1000 fork") << "until the next one";
    EXPECT_EQ(image(20, 30), "/bin/b||b||11|1000 fork");
}

TEST_F(AddressSpacesTest, AForkThatComesLateIsThatOfTheKnownProcess) {
    process(10, 1, "/bin/a|a");
    process(20, 10, "/bin/own|own", 12);
    capture_->fork(15, 20, 20, 10, 10);
    load();
    EXPECT_EQ(image(20, 13), "/bin/own||own||10|1000 fork");
    EXPECT_EQ(image(20, 16), image(20, 13));
}

TEST(ModuleTableTest, FilesAreToldApartByPathAndBuildId) {
    ModuleTable modules;
    EXPECT_EQ(modules.size(), first_file_module);
    EXPECT_EQ(modules.at(unknown_module).path, "[unknown]");
    EXPECT_EQ(modules.at(kernel_module).path, "[kernel.kallsyms]");
    EXPECT_EQ(modules.at(jit_module).path, "[jit]");
    const ModuleId a = modules.intern("/a", "1", 0, 0, {10, 1, 2});
    EXPECT_EQ(modules.intern("/a", "1", 7, 8, {11, 3, 4}), a);
    EXPECT_EQ(modules.intern("/a", "1", 9, 9, {12, 5, 6}), a);
    EXPECT_NE(modules.intern("/a", "2", 0, 0, {}), a);
    EXPECT_NE(modules.intern("/b", "1", 0, 0, {}), a);
    EXPECT_EQ(modules.at(a).path, "/a");
    EXPECT_EQ(modules.at(a).build_id, "1");
    EXPECT_EQ(modules.at(a).device, 7U) << "the first that is known";
    EXPECT_EQ(modules.at(a).inode, 8U);
    for (std::uint32_t pid = 13; pid < 20; ++pid) modules.intern("/a", "1", 0, 0, {pid, 0, 0});
    ASSERT_EQ(modules.at(a).users.size(), 4U);
    EXPECT_EQ(modules.at(a).users[0].pid, 10U);
    EXPECT_EQ(modules.at(a).users[1].start, 3U);
    EXPECT_EQ(modules.at(a).users[1].end, 4U);
    EXPECT_EQ(modules.at(a).users[3].pid, 13U);
}

TEST(ModuleTableTest, FilesBeyondTheLimitAreUnknown) {
    ModuleTable modules;
    for (std::size_t i = first_file_module; i < 100'000; ++i)
        EXPECT_EQ(modules.intern(std::to_string(i), "", 0, 0, {1, 0, 0}), i);
    EXPECT_EQ(modules.intern("more", "", 5, 6, {1, 0, 0}), unknown_module);
    EXPECT_EQ(modules.intern("more", "", 5, 6, {1, 0, 0}), unknown_module);
    EXPECT_EQ(modules.intern("7", "", 0, 0, {1, 0, 0}), 7U);
    EXPECT_TRUE(modules.at(unknown_module).users.empty());
    EXPECT_EQ(modules.size(), 100'000U);
}

}  // namespace
}  // namespace lagtrap::trace::address_spaces_test
