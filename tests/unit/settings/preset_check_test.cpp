#include "settings/preset_check.hpp"

#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/unit/settings/marker_sources.hpp"

namespace lagtrap::settings::preset_check_test {
namespace {

namespace fs = std::filesystem;
using namespace testing_sources;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Programs "shop" in two folders: of one version with all functions, and of another without any.
class PresetCheckTest : public testing::Test {
  protected:
    PresetCheckTest() {
        std::array<char, 32> name{"/dev/shm/preset-check-XXXXXX"};
        if (::mkdtemp(name.data()) == nullptr) std::abort();
        folder_ = name.data();
        ::chmod(folder_.c_str(), 0755);
        preset_.preset = "shop";
        preset_.tried_with = "shop 1.0";
        preset_.place = {9, 3};
    }
    ~PresetCheckTest() override { fs::remove_all(folder_); }

    void install(const std::string& version, const fs::path& content) {
        fs::create_directory(folder_ / version);
        fs::copy_file(content, folder_ / version / "shop");
        ::chmod((folder_ / version / "shop").c_str(), 0755);
    }
    void add(MarkerKind kind, const std::string& name, const std::string& binary = "*/shop") {
        preset_.markers.push_back(source_of(kind, name, binary));
    }
    // All at the place of the <use>.
    std::vector<std::string> problems() {
        preset_.programs = {(folder_ / "*/shop").string()};
        check_preset(preset_, diagnostics_, [this] { return TraceFs::below(folder_); });
        return problems_in(diagnostics_);
    }

    fs::path folder_;
    PresetSource preset_;
    Diagnostics diagnostics_;
};

TEST_F(PresetCheckTest, AProgramThatHasAllMarkersIsGood) {
    install("1", marked_library);
    add(MarkerKind::Function, "serve");
    add(MarkerKind::Usdt, "shop:sold");
    EXPECT_THAT(problems(), IsEmpty());
    EXPECT_THAT(diagnostics_.take_warnings(), IsEmpty());
    EXPECT_THAT(diagnostics_.take_notes(), IsEmpty());
}

TEST_F(PresetCheckTest, AMarkerThatNoProgramHasIsAnError) {
    install("1", marked_library);
    add(MarkerKind::Function, "serve");
    add(MarkerKind::Function, "no_such_function_at_all");
    const std::string shop = (folder_ / "1/shop").string();
    EXPECT_THAT(problems(),
                ElementsAre("9: preset shop: " + shop +
                            " has no function \"no_such_function_at_all\"; expected one of its "
                            "functions (the preset was tested with shop 1.0; lagtrap list-markers "
                            "--functions " +
                            shop + " lists all)"));
    EXPECT_THAT(diagnostics_.take_warnings(), IsEmpty());
}

TEST_F(PresetCheckTest, AMarkerThatOnlySomeProgramsHaveIsAWarning) {
    install("1", marked_library);
    install("2", "/bin/true");
    add(MarkerKind::Usdt, "shop:sold");
    EXPECT_THAT(problems(), IsEmpty());
    EXPECT_THAT(texts_of(diagnostics_.take_warnings()),
                ElementsAre("9: preset shop: " + (folder_ / "2/shop").string() +
                            " has no probe shop:sold; other programs of this preset have it; the "
                            "preset was tested with shop 1.0"));
}

TEST_F(PresetCheckTest, EachMarkerIsJudgedByItself) {
    install("1", marked_library);
    install("2", "/bin/true");
    add(MarkerKind::Usdt, "shop:stolen");
    add(MarkerKind::Usdt, "shop:sold");
    EXPECT_THAT(problems(), ElementsAre(HasSubstr("1/shop has no probe shop:stolen"),
                                        HasSubstr("2/shop has no probe shop:stolen")));
    EXPECT_EQ(diagnostics_.take_warnings().size(), 1U);
}

TEST_F(PresetCheckTest, TheSameProblemIsSaidOnce) {
    install("1", marked_library);
    add(MarkerKind::Usdt, "shop:stolen");
    add(MarkerKind::Usdt, "shop:stolen");
    EXPECT_THAT(problems(), ElementsAre(HasSubstr("shop:stolen")));
}

TEST_F(PresetCheckTest, WithoutAProgramItIsNoted) {
    add(MarkerKind::Function, "serve");
    add(MarkerKind::Function, "draw", "*/other");
    EXPECT_THAT(problems(), IsEmpty());
    EXPECT_THAT(texts_of(diagnostics_.take_notes()),
                ElementsAre("9: preset shop: none of its programs is installed (" +
                            (folder_ / "*/shop").string() +
                            "); it will be watched once a process runs one, including in a "
                            "container"));
}

TEST_F(PresetCheckTest, MarkersOfTheKernelNeedNoProgram) {
    fs::create_directories(folder_ / "events/block/issue");
    std::ofstream(folder_ / "events/block/issue/id") << "7\n";
    add(MarkerKind::Tracepoint, "block:issue", "");
    EXPECT_THAT(problems(), IsEmpty());
    EXPECT_THAT(diagnostics_.take_notes(), IsEmpty());
    add(MarkerKind::Tracepoint, "block:isue", "");
    EXPECT_THAT(problems(),
                ElementsAre(StartsWith("9: preset shop: the kernel has no tracepoint block:isue")));
    // Its programs are missing all the same, if it names any.
    preset_.markers.pop_back();
    add(MarkerKind::Function, "serve");
    EXPECT_THAT(problems(), IsEmpty());
    EXPECT_EQ(diagnostics_.take_notes().size(), 1U);
}

TEST_F(PresetCheckTest, ABinaryGivenByItsPathIsTheOneThatIsLookedAt) {
    install("2", "/bin/true");
    add(MarkerKind::Usdt, "shop:sold", marked_library);
    EXPECT_THAT(problems(), IsEmpty());
    EXPECT_THAT(diagnostics_.take_notes(), IsEmpty());
    static_cast<void>(diagnostics_.take_warnings());  // about the folders above the library
    preset_.markers.clear();
    add(MarkerKind::Function, "f", (folder_ / "later").string());
    EXPECT_THAT(problems(), IsEmpty());
    const auto warnings = texts_of(diagnostics_.take_warnings());
    EXPECT_THAT(warnings, ElementsAre(StartsWith("9: \"" + (folder_ / "later").string() +
                                                 "\" does not exist yet")));
}

}  // namespace
}  // namespace lagtrap::settings::preset_check_test
