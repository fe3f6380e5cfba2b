#include <filesystem>

#include <gmock/gmock.h>

#include "settings/parser.hpp"

namespace lagtrap::settings {
namespace {

const std::filesystem::path folder = LAGTRAP_SOURCE_DIR "/settings";

TEST(GoodFiles, TheSampleIsGoodAndArmsNothing) {
    const ParseOutcome outcome = load_settings(folder / "settings.xml", BinaryCheck::Look);
    EXPECT_EQ(format_diagnostics("settings.xml", outcome.settings.source_text, outcome.diagnostics), "");
    EXPECT_THAT(outcome.settings.events, testing::IsEmpty());
}

}  // namespace
}  // namespace lagtrap::settings
