#include "trace/names/module_symbols.hpp"

#include <gmock/gmock.h>

#include "tests/unit/trace/merge_fixture.hpp"

namespace lagtrap::trace::module_symbols_test {
namespace {

using testing::EndsWith;

// The packets with the names, as tests/data/trace/print_packets.py prints them.
std::vector<std::string> packets_of(const ModuleNames& names) {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "trace";
    std::string trace;
    append_module_symbols(trace, names, 1234);
    EXPECT_TRUE(write_file(path, trace));
    const Output printed = output_of(test_python() + " " + test_data_folder() +
                                     "/trace/print_packets.py '" + path.string() + "' 2>&1");
    EXPECT_EQ(printed.exit_code, 0) << printed.text;
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < printed.text.size();) {
        const std::size_t end = printed.text.find('\n', at);
        lines.push_back(printed.text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

TEST(ModuleSymbols, HaveTheFunctionsOfEachPlaceInnermostFirst) {
    const ModuleNames names{"/bin/app",
                            "00a9ff",
                            {{0x10, {{"inner\n", "/src/a\x1b.c", 12}, {"outer", "/src/b.c", 0}}},
                             {0x20, {{"alone", "", 7}}}}};
    const auto found = packets_of(names);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0],
              "1 1234 symbols{path='/bin/app' build_id=00a9ff addresses{address=16 "
              "lines{function='inner\\\\x0a' source='/src/a\\\\x1b.c' line=12} "
              "lines{function='outer' source='/src/b.c'}} "
              "addresses{address=32 lines{function='alone'}}}");
}

TEST(ModuleSymbols, LongTextsAreCut) {
    const std::string longest(4096, 'x');
    const auto found = packets_of({"/bin/app", "ab", {{1, {{longest + "y", longest + "z", 1}}}}});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_THAT(found[0],
                EndsWith("lines{function='" + longest + "' source='" + longest + "' line=1}}}"));
}

TEST(ModuleSymbols, ManyPlacesAreInSeveralPackets) {
    ModuleNames names{"/bin/app", "ab", {}};
    EXPECT_TRUE(packets_of(names).empty());
    for (std::uint64_t address = 0; address < 20'001; ++address)
        names.places.push_back({address, {{"f", "", 0}}});
    const auto found = packets_of(names);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_THAT(found[0], EndsWith("addresses{address=9999 lines{function='f'}}}"));
    EXPECT_THAT(found[1], EndsWith("addresses{address=19999 lines{function='f'}}}"));
    EXPECT_EQ(found[2],
              "1 1234 symbols{path='/bin/app' build_id=ab addresses{address=20000 "
              "lines{function='f'}}}");
}

}  // namespace
}  // namespace lagtrap::trace::module_symbols_test
