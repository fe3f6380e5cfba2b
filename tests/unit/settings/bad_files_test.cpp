// Compares each file of tests/data/settings/bad and bad_on_machine with the exact text that a
// person gets for it. LAGTRAP_UPDATE_EXPECTED=1 rewrites the texts (and fails); read them before
// committing.
#include <gmock/gmock.h>

#include "tests/unit/expected_file.hpp"
#include "tests/unit/settings/files.hpp"

namespace lagtrap::settings::bad_files_test {
namespace {

using namespace testing_files;

class BadFile : public testing::TestWithParam<std::string> {
  protected:
    void compare(const std::filesystem::path& folder, BinaryCheck check) {
        const std::filesystem::path path = folder / GetParam();
        const ParseOutcome outcome = load_settings(path, check);
        EXPECT_FALSE(outcome.ok());
        const std::string found =
            format_diagnostics(path.filename(), outcome.settings.source_text, outcome.diagnostics);
        expect_text_of_file(std::filesystem::path(path).replace_extension(".expected"), found);
    }
};

class BadAlone : public BadFile {};
TEST_P(BadAlone, IsExplained) { compare(data_folder / "bad", BinaryCheck::Skip); }

class BadOnThisMachine : public BadFile {};
TEST_P(BadOnThisMachine, IsExplained) {
    compare(data_folder / "bad_on_machine", BinaryCheck::Look);
}
TEST_P(BadOnThisMachine, IsGoodWhereTheMachineIsNotLookedAt) {
    EXPECT_TRUE(load_settings(data_folder / "bad_on_machine" / GetParam(), BinaryCheck::Skip).ok());
}

std::string case_name(const testing::TestParamInfo<std::string>& info) {
    return std::filesystem::path(info.param).stem().string();
}
INSTANTIATE_TEST_SUITE_P(Settings, BadAlone, testing::ValuesIn(xml_files(data_folder / "bad")),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Settings, BadOnThisMachine,
                         testing::ValuesIn(xml_files(data_folder / "bad_on_machine")), case_name);

}  // namespace
}  // namespace lagtrap::settings::bad_files_test
