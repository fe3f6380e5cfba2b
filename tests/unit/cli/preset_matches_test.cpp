#include "cli/programs/preset_matches.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::cli::preset_matches_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

MappedProcess process(std::vector<std::string> files, std::string link = {}) {
    return {7, "shop", std::move(files), std::move(link)};
}

TEST(PresetMatches, LibrariesAreFoundInAnyProgram) {
    const MappedProcess shop = process({"/usr/bin/shop", "/usr/lib/libssl.so.3"});
    EXPECT_TRUE(uses_one_of(shop, {"/usr/lib/libssl.so.3"}));
    EXPECT_TRUE(uses_one_of(shop, {"/usr/bin/other", "/usr/lib/libssl.so.*"}));
    EXPECT_FALSE(uses_one_of(shop, {"/usr/lib/libcrypto.so.3"}));
    EXPECT_FALSE(uses_one_of(process({}), {"/usr/bin/shop"}));
}

TEST(PresetMatches, ProgramsAreFoundByTheirFirstFileOrTheirLink) {
    const MappedProcess shop = process({"/usr/bin/shop", "/usr/bin/node"});
    EXPECT_TRUE(uses_one_of(shop, {"/usr/bin/shop"}, true));
    EXPECT_FALSE(uses_one_of(shop, {"/usr/bin/node"}, true));
    EXPECT_TRUE(uses_one_of(shop, {"/usr/bin/node"}));
    const MappedProcess redis = process({"/usr/bin/redis-check-rdb"}, "/usr/bin/redis-server");
    EXPECT_TRUE(uses_one_of(redis, {"/usr/bin/redis-server"}, true));
}

TEST(PresetMatches, ProcessesHaveTheLinkThatTheyWereStartedBy) {
    const test::TemporaryFolder folder;
    const fs::path program = folder.path() / "checker", link = folder.path() / "server";
    std::ofstream(program) << "program";
    fs::create_symlink("checker", link);
    const auto add = [&](const char* pid, const std::string& command) {
        const fs::path place = folder.path() / "proc" / pid;
        fs::create_directories(place);
        fs::create_symlink(program, place / "exe");
        std::ofstream(place / "comm") << "shop\n";
        std::ofstream(place / "cmdline") << command;
        std::ofstream(place / "maps")
            << "1000-2000 r-xp 00000000 08:01 17 " << program.string() << "\n";
    };
    add("20", std::string("/anywhere/server\0--fast", 23));
    add("3", "server: one client");
    add("4", std::string("checker\0", 8));
    fs::create_directories(folder.path() / "proc" / "self");
    const auto found = mapped_processes(folder.path() / "proc");
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].pid, 3U);
    EXPECT_EQ(found[0].name, "shop");
    EXPECT_THAT(found[0].files, ElementsAre(program.string()));
    EXPECT_EQ(found[0].link, "") << "its title is \"server: ...\"";
    EXPECT_EQ(found[1].link, "");
    EXPECT_EQ(found[2].pid, 20U);
    EXPECT_EQ(found[2].link, link.string());
}

TEST(PresetMatches, BinariesAreThoseOfEventsAndTheirMarkers) {
    const test::TemporaryFolder folder;
    std::ofstream(folder.string("shop.xml"))
        << R"(<preset version="1" about="a shop" tried-with="shop 1">
  <program path="/usr/bin/shop"/>
  <event name="buy" threshold="1s" binary="/usr/bin/shop">
    <scope binary="/usr/bin/scope"/>
    <begin usdt="shop:buy"/><end usdt="shop:bought" binary="/usr/lib/libshop.so"/>
  </event>
  <event name="pay" threshold="1s" binary="/usr/bin/shop">
    <begin usdt="shop:pay"/><end usdt="shop:paid"/>
  </event>
</preset>)";
    const auto outcome = settings::load_preset(folder.string("shop.xml"));
    ASSERT_TRUE(outcome.preset) << outcome.diagnostics.size();
    EXPECT_THAT(binaries_of(*outcome.preset), ElementsAre("/usr/bin/shop", "/usr/lib/libshop.so"));
}

}  // namespace
}  // namespace lagtrap::cli::preset_matches_test
