// The files generated from the table of attributes and elements, and the manual page; xmllint
// checks the schema.
#include "settings/schema.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "settings/schema_file.hpp"
#include "settings/schema_text.hpp"
#include "tests/unit/expected_file.hpp"
#include "tests/unit/settings/files.hpp"
#include "tests/unit/test_paths.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::settings::schema_test {
namespace {

using namespace testing_files;

// The schema in a file, as installed.
struct SchemaFile {
    SchemaFile() { std::ofstream(path) << settings_schema_file(); }
    trace::TemporaryDirectory folder;
    std::filesystem::path path = folder.path() / "settings.xsd";
};

// xmllint's exit status: 0 valid, 3 invalid; -1 if it could not be run.
int xmllint(const std::filesystem::path& file) {
    static const SchemaFile schema;
    const pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(127);
        execlp("xmllint", "xmllint", "--nonet", "--noout", "--schema", schema.path.c_str(),
               file.c_str(), nullptr);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) != 127 ? WEXITSTATUS(status) : -1;
}

TEST(Xmllint, AcceptsEveryGoodFile) {
    std::vector<std::filesystem::path> files{settings_folder / "settings.xml"};
    for (const std::string& name : xml_files(settings_folder / "presets"))
        files.push_back(settings_folder / "presets" / name);
    for (const std::string& name : xml_files(data_folder / "good"))
        files.push_back(data_folder / "good" / name);
    for (const std::string& name : xml_files(data_folder / "bad_on_machine"))
        files.push_back(data_folder / "bad_on_machine" / name);
    ASSERT_GE(files.size(), 8);
    for (const auto& file : files) EXPECT_EQ(xmllint(file), 0) << file;
}

TEST(Xmllint, RejectsWhatASchemaCanReject) {
    for (const char* name : {"unknown_elements",
                             "unknown_attributes",
                             "missing_attributes",
                             "choices",
                             "counts",
                             "durations",
                             "names",
                             "marker_names",
                             "paths",
                             "recording_values",
                             "text_in_elements",
                             "version_attribute",
                             "other_root",
                             "duplicate_names",
                             "runs_values",
                             "budget_values",
                             "budget_order",
                             "url_scheme",
                             "url_password",
                             "no_markers"})
        EXPECT_EQ(xmllint(data_folder / "bad" / (std::string(name) + ".xml")), 3) << name;
}

void expect_on_page(const ElementSpec& element, const std::string& page) {
    for (const AttributeSpec& attribute : element.attributes)
        EXPECT_THAT(page, testing::HasSubstr("\n.It Ic " + std::string(attribute.name) + "\n"))
            << element.name;
    for (const ChildSpec& child : element.children) expect_on_page(*child.element, page);
}

// tests/structure/settings_page.py checks what the page says of them.
TEST(ManualPage, NamesEachAttribute) {
    expect_on_page(root_element(), content(source_folder() + "/docs/man/lagtrap-settings.5"));
}

// Each name, type, range, default, count and meaning.
TEST(Reference, DescribesTheWholeTable) {
    expect_text_of_file(data_folder / "reference.expected", settings_reference());
}

TEST(Reference, ParentsAreNamed) {
    EXPECT_EQ(parents_of("event"), "<lagtrap>");
    EXPECT_EQ(parents_of("stage"), "<event> or <header> or <library>");
    EXPECT_EQ(parents_of("scope"), "<event> or <use>");
    EXPECT_EQ(parents_of("lagtrap"), "");
    EXPECT_EQ(parents_of("event "), "");
}

TEST(Reference, NamesEverythingAndFitsTheTerminal) {
    const std::string reference = settings_reference();
    for (const char* part :
         {"<event> in <lagtrap>, up to 256 times", "<stage> in <library>, up to 16 times",
          "threshold-floor: a duration from 1us to 1h",
          "sample-interval: a duration from 100us to 1s; default 1ms",
          "breach: one of deadline, end; default deadline"})
        EXPECT_THAT(reference, testing::HasSubstr(part));
    std::istringstream lines(reference);
    for (std::string one; std::getline(lines, one);) EXPECT_LE(one.size(), 80) << one;
}

}  // namespace
}  // namespace lagtrap::settings::schema_test
