#include "daemon/objects/object_vtables.hpp"

#include <cstring>
#include <map>

#include <gtest/gtest.h>

namespace lagtrap::daemon::object_vtables_test {
namespace {

// Memory of a fictitious process.
class Memory : public ProcessInspector {
  public:
    Result<InspectedProcess> read(std::uint32_t, Code, const InspectionLimits&) override {
        return none();
    }
    std::vector<Result<CodeFileIdentity>> identify(const std::vector<NamedMapping>&) override {
        return {};
    }
    Result<OpenedFile> open(const NamedMapping&) override { return none(); }
    Result<OpenedFile> open_program(std::uint32_t) override { return none(); }
    Result<UniqueFd> open_root(std::uint32_t) override { return none(); }
    Result<std::string> read_memory(std::uint32_t, std::uint64_t, std::uint64_t) override {
        return make_error(ErrorKind::Unsupported, "not read");
    }
    Result<ProcessContext> process_context(std::uint32_t) override { return none(); }
    Result<std::vector<std::uint64_t>> read_words(
        std::uint32_t, const std::vector<std::uint64_t>& addresses) override {
        std::vector<std::uint64_t> words;
        for (const std::uint64_t address : addresses)
            words.push_back(content.contains(address) ? content.at(address) : 0);
        return words;
    }
    void put_text(std::uint64_t address, std::string text) {
        text.resize((text.size() / 8 + 1) * 8);
        for (std::size_t at = 0; at < text.size(); at += 8)
            std::memcpy(&content[address + at], text.data() + at, 8);
    }
    void put(std::uint64_t address, const std::vector<std::uint64_t>& words) {
        for (std::size_t at = 0; at < words.size(); ++at) content[address + 8 * at] = words[at];
    }

    std::map<std::uint64_t, std::uint64_t> content;

  private:
    static Error none() { return make_error(ErrorKind::Vanished, "there is no process"); }
};

std::vector<VirtualFunction> functions_of(Memory& memory, const std::string& wanted) {
    auto found = find_virtual_functions(
        memory, 1, {{0x8000, 0x8100}},
        [](std::uint64_t address) { return address >= 0x1000 && address < 0x2000; },
        [&](const std::string& name) { return wanted.empty() || name == wanted; });
    return found ? *found : std::vector<VirtualFunction>();
}

Memory shop() {
    Memory memory;
    memory.put_text(0x4000, "N4shop6GadgetE");
    memory.put_text(0x4100, "N4shop4ItemE");
    memory.put_text(0x4200, "no name of a type");
    memory.put(0x8080, {0x9000, 0x4000, 0x80a0});  // of Gadget, whose base is Item
    memory.put(0x80a0, {0x9000, 0x4100});          // of Item
    memory.put(0x80c0, {0x9000, 0x4200});
    memory.put(0x8000, {0, 0x8080, 0x1010, 0x1020});  // Gadget's table comes first
    memory.put(0x8020, {0, 0x80a0, 0x1010, 0x1030, 0x1040});
    memory.put(0x8050, {0, 0x80c0, 0x1050});
    return memory;
}

TEST(ObjectVtablesTest, TablesOfBasesComeFirst) {
    Memory memory = shop();
    const auto found = functions_of(memory, "");
    ASSERT_EQ(found.size(), 5U);
    EXPECT_EQ(found[0].class_name, "shop::Item");
    EXPECT_EQ(found[0].slot, 0U);
    EXPECT_EQ(found[0].address, 0x1010U);
    EXPECT_EQ(found[2].slot, 2U);
    EXPECT_EQ(found[3].class_name, "shop::Gadget");
    EXPECT_EQ(found[4].address, 0x1020U);
}

TEST(ObjectVtablesTest, OthersAreLeftOut) {
    Memory memory = shop();
    EXPECT_EQ(functions_of(memory, "shop::Gadget").size(), 2U);
    EXPECT_TRUE(functions_of(memory, "shop::Cart").empty());
}

TEST(ObjectVtablesTest, BasesInACircleEnd) {
    Memory memory = shop();
    memory.put(0x80b0, {0x8080});
    EXPECT_EQ(functions_of(memory, "").size(), 5U);
}

TEST(ObjectVtablesTest, DataIsWhatFollowsTheCode) {
    const std::string maps =
        "1000-2000 r--p 00000000 fd:00 7 /shop\n"
        "2000-3000 r-xp 00001000 fd:00 7 /shop\n"
        "3000-4000 r--p 00002000 fd:00 7 /shop\n"
        "4000-5000 r--p 00002000 fd:00 7 /shop\n"
        "5000-6000 rw-p 00003000 fd:00 7 /shop\n"
        "6000-7000 rw-p 00000000 00:00 0 [heap]\n"
        "7000-8000 r-xp 00001000 fd:00 8 /other\n"
        "8000-9000 rw-p 00003000 fd:00 8 /other\n";
    const auto ranges = relocated_data(maps, 7);
    ASSERT_EQ(ranges.size(), 2U);
    EXPECT_EQ(ranges[0].begin, 0x4000U);
    EXPECT_EQ(ranges[0].end, 0x5000U);
    EXPECT_EQ(ranges[1].end, 0x6000U);
    EXPECT_TRUE(relocated_data(maps, 9).empty());
    EXPECT_TRUE(relocated_data("nonsense\n\n", 7).empty());
}

}  // namespace
}  // namespace lagtrap::daemon::object_vtables_test
