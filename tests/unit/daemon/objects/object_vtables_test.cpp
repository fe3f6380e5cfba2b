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

std::vector<VirtualFunction> functions_in(Memory& memory, const AddressRange& range) {
    auto found = find_virtual_functions(
        memory, 1, {range},
        [](std::uint64_t address) { return address >= 0x1000 && address < 0x2000; },
        [](const std::string&) { return true; });
    return found ? *found : std::vector<VirtualFunction>();
}

TEST(ObjectVtablesTest, ATableMayEndWithTheData) {
    Memory memory = shop();
    EXPECT_EQ(functions_in(memory, {0x8020, 0x8038}).size(), 1U);
    EXPECT_EQ(functions_in(memory, {0x8020, 0x8037}).size(), 0U);
    EXPECT_EQ(functions_in(memory, {0x8028, 0x8100}).size(), 0U) << "without its first word";
}

TEST(ObjectVtablesTest, ATableHasATypeThatIsDataAndFunctions) {
    struct Case {
        std::vector<std::uint64_t> words;
        std::size_t functions;
    };
    const std::vector<Case> cases{
        {{0, 0x80a0, 0x1010}, 1}, {{8, 0x80a0, 0x1010}, 0}, {{0, 0, 0x1010}, 0},
        {{0, 0x80a4, 0x1010}, 0}, {{0, 0x1100, 0x1010}, 0}, {{0, 0x80a0, 0x2000}, 0},
        {{0, 0x80a0, 0x1000}, 1}, {{0, 0x80a0, 0xfff}, 0},  {{0, 0x80a0, 0x1fff, 0, 5}, 1}};
    for (const Case& one : cases) {
        Memory memory;
        memory.put_text(0x4100, "N4shop4ItemE");
        memory.put(0x80a0, {0x9000, 0x4100});
        memory.put(0x1100, {0x9000, 0x4100});
        memory.put(0, {0x9000, 0x4100});
        memory.put(0x80a4, {0x9000, 0x4100});
        memory.put(0x8000, one.words);
        EXPECT_EQ(functions_in(memory, {0x8000, 0x8080}).size(), one.functions)
            << std::hex << one.words[0] << " " << one.words[1] << " " << one.words[2];
    }
}

TEST(ObjectVtablesTest, AClassOfOneFileHasItsName) {
    Memory memory = shop();
    memory.put_text(0x4100, "*N12_GLOBAL__N_14ItemE");
    const auto found = functions_in(memory, {0x8020, 0x8040});
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].class_name, "(anonymous namespace)::Item");
    memory.put_text(0x4100, "N" + std::string("251") + std::string(251, 'a') + "E");
    EXPECT_TRUE(functions_in(memory, {0x8020, 0x8040}).empty()) << "its end is too far";
}

TEST(ObjectVtablesTest, ATableHasAtMost1024Functions) {
    Memory memory = shop();
    memory.put(0x20000, {0, 0x80a0});
    memory.put(0x20010, std::vector<std::uint64_t>(1100, 0x1010));
    const auto found = functions_in(memory, {0x20000, 0x24000});
    ASSERT_EQ(found.size(), 1024U);
    EXPECT_EQ(found.back().slot, 1023U);
}

TEST(ObjectVtablesTest, DataWithoutAWritablePartIsRead) {
    const std::string code = "2000-3000 r-xp 00001000 fd:00 7 /shop\n";
    const auto only_read = relocated_data(code + "3000-4000 r--p 00002000 fd:00 7 /shop\n", 7);
    ASSERT_EQ(only_read.size(), 1U);
    EXPECT_EQ(only_read[0].begin, 0x3000U);
    EXPECT_EQ(only_read[0].end, 0x4000U);
    const auto apart = relocated_data(code +
                                          "3000-4000 r--p 00002000 fd:00 7 /shop\n"
                                          "5000-6000 rw-p 00003000 fd:00 7 /shop\n",
                                      7);
    ASSERT_EQ(apart.size(), 1U) << "what is not next to it is not relocated";
    EXPECT_EQ(apart[0].begin, 0x5000U);
    EXPECT_TRUE(relocated_data("3000-4000 rw-p 00002000 fd:00 7 /shop\n" + code, 7).empty())
        << "it is before the code";
}

}  // namespace
}  // namespace lagtrap::daemon::object_vtables_test
