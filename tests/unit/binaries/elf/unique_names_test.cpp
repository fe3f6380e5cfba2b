// The names that identify a function uniquely.
#include "binaries/elf/unique_names.hpp"

#include <gmock/gmock.h>

namespace lagtrap::binaries::unique_names_test {
namespace {

using testing::Eq;
using testing::Optional;

Function at(std::uint64_t address, const std::string& name) {
    return {name, address, 16, address, false};
}

TEST(UniqueNames, AreDemangledWhereNoOtherFunctionHasThem) {
    const std::vector<Function> functions{at(1, "serve"), at(2, "_ZN5store3getEi"),
                                          at(3, "_ZN5store3getEl")};
    const UniqueNames names(functions);
    EXPECT_THAT(names.name_of(functions[0]), Optional(Eq("serve")));
    EXPECT_THAT(names.name_of(functions[1]), Optional(Eq("store::get(int)")));
    EXPECT_THAT(names.name_of(functions[2]), Optional(Eq("store::get(long)")));
}

TEST(UniqueNames, AreSymbolsWhereTheDemangledNameIsShared) {
    const std::vector<Function> functions{at(1, "_ZN1aC1Ev"), at(2, "_ZN1aC2Ev"),
                                          at(3, "_ZN1bC1Ev"), at(3, "_ZN1bC2Ev")};
    const UniqueNames names(functions);
    EXPECT_THAT(names.name_of(functions[0]), Optional(Eq("_ZN1aC1Ev")));
    EXPECT_THAT(names.name_of(functions[1]), Optional(Eq("_ZN1aC2Ev")));
    EXPECT_THAT(names.name_of(functions[2]), Optional(Eq("b::b()")));  // two names of one function
}

TEST(UniqueNames, AreNoneWhereEachIsShared) {
    const std::vector<Function> functions{at(1, "work"), at(2, "work"), at(3, "f"), at(4, "_Z1fi")};
    const UniqueNames names(functions);
    EXPECT_EQ(names.name_of(functions[0]), std::nullopt);
    EXPECT_EQ(names.name_of(functions[2]), std::nullopt);  // "f" also matches f(int)
    EXPECT_THAT(names.name_of(functions[3]), Optional(Eq("f(int)")));
}

TEST(UniqueNames, LeaveOutVersions) {
    const std::vector<Function> functions{at(1, "copy@@V_2"), at(2, "move@V_1"),
                                          at(3, "move@@V_2")};
    const UniqueNames names(functions);
    EXPECT_THAT(names.name_of(functions[0]), Optional(Eq("copy")));
    EXPECT_THAT(names.name_of(functions[1]), Optional(Eq("move@V_1")));
}

}  // namespace
}  // namespace lagtrap::binaries::unique_names_test
