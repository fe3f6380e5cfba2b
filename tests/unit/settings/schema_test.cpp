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

// The manual page's text about an attribute or element, without macros and line breaks.
struct PageItem {
    std::string section, name, text;
};

std::vector<PageItem> items_of_page() {
    std::vector<PageItem> items;
    std::istringstream lines(content(source_folder() + "/docs/man/lagtrap-settings.5"));
    std::string section;
    for (std::string one; std::getline(lines, one);) {
        if (one.starts_with(".Ss ") || one.starts_with(".Sh ")) section = one.substr(4);
        if (one.starts_with(".It Ic ")) {
            items.push_back({section, one.substr(7), ""});
            continue;
        }
        if (items.empty() || items.back().section != section) items.push_back({section, "", ""});
        if (one.starts_with(".")) one = one.size() > 4 && one[3] == ' ' ? one.substr(4) : "";
        for (const char* sign : {" ,", " .", " :", " ;"})
            if (one.ends_with(sign)) one.erase(one.size() - 2, 1);
        items.back().text += one + " ";
    }
    return items;
}

// Text that the page must contain about an attribute besides its name.
std::vector<std::string> facts_of(const AttributeSpec& attribute) {
    std::vector<std::string> facts;
    if (!attribute.default_text.empty())
        facts.push_back("default " + std::string(attribute.default_text));
    const std::string values = describe_values(attribute);
    const auto from = values.find(" from ");
    if (from != std::string::npos && attribute.kind != ValueKind::DurationRange)
        facts.push_back(values.substr(from + 6));
    return facts;
}

// Accepts "X default" or "X (default" for "default X".
bool says(const std::string& text, const std::string& fact) {
    constexpr std::string_view word = "default ";
    if (text.find(fact) != std::string::npos) return true;
    if (!fact.starts_with(word)) return false;
    const std::string value = fact.substr(word.size());
    for (const char* form : {" default", " (default"})
        if (text.find(value + form) != std::string::npos) return true;
    return false;
}

void expect_on_page(const ElementSpec& element, const std::vector<PageItem>& items) {
    for (const AttributeSpec& attribute : element.attributes) {
        bool named = false;
        std::vector<std::string> missing;
        for (const PageItem& item : items) {
            if (item.name != attribute.name) continue;
            std::vector<std::string> missing_here;
            for (const std::string& fact : facts_of(attribute))
                if (!says(item.text, fact)) missing_here.push_back(fact);
            if (!named || missing_here.size() < missing.size()) missing = missing_here;
            named = true;
        }
        EXPECT_TRUE(named) << element.name << ": " << attribute.name;
        EXPECT_THAT(missing, testing::IsEmpty()) << element.name << ": " << attribute.name;
    }
    for (const ChildSpec& child : element.children) expect_on_page(*child.element, items);
}

TEST(ManualPage, SaysOfEachAttributeItsRangeAndDefault) {
    const auto items = items_of_page();
    ASSERT_GE(items.size(), 80);
    expect_on_page(root_element(), items);
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
