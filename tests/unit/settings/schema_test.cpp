// The table of the vocabulary against the schema file that is shipped, and xmllint's judgement with it.
#include "settings/schema.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <pugixml.hpp>

#include "tests/unit/settings/files.hpp"

namespace lagtrap::settings {
namespace {

using namespace testing_files;

const std::filesystem::path schema_file = settings_folder / "settings.xsd";

// 0: valid, 3: invalid, as xmllint's exit status has it; -1: it could not be run.
int xmllint(const std::filesystem::path& file) {
    const pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(127);
        execlp("xmllint", "xmllint", "--nonet", "--noout", "--schema", schema_file.c_str(), file.c_str(), nullptr);
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
    for (const std::string& name : xml_files(data_folder / "good")) files.push_back(data_folder / "good" / name);
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

// "name type required default [choices]" of each attribute of an element, sorted.
using Attributes = std::set<std::string>;

std::string line(std::string_view name, bool required, std::string_view default_text, const std::string& choices) {
    std::ostringstream text;
    text << name << (required ? " required" : "") << " default=" << default_text << " choices=" << choices;
    return text.str();
}

void collect_table(const ElementSpec& element, const std::string& path, std::map<std::string, Attributes>& elements) {
    Attributes& attributes = elements[path];
    for (const AttributeSpec& attribute : element.attributes)
        attributes.insert(line(attribute.name, attribute.presence == Presence::Required, attribute.default_text,
                               std::string(attribute.choices)));
    for (const ChildSpec& child : element.children)
        collect_table(*child.element, path + "/" + std::string(child.element->name), elements);
}

// The same of the schema file.
class SchemaReader {
  public:
    explicit SchemaReader(const char* outermost) {
        EXPECT_TRUE(document_.load_file(schema_file.c_str()));
        const pugi::xml_node root = named("xs:element", outermost);
        collect(root.child("xs:complexType"), outermost);
    }
    [[nodiscard]] const std::map<std::string, Attributes>& elements() const { return elements_; }

  private:
    pugi::xml_node named(const char* kind, const std::string& name) {
        return document_.document_element().find_child_by_attribute(kind, "name", name.c_str());
    }

    std::string choices_of(const std::string& type) {
        std::string choices;
        const char* const item = named("xs:simpleType", type).child("xs:list").attribute("itemType").value();
        if (*item != '\0') return choices_of(item);
        for (const auto& value : named("xs:simpleType", type).child("xs:restriction").children("xs:enumeration"))
            choices += (choices.empty() ? "" : "|") + std::string(value.attribute("value").value());
        return choices;
    }

    void collect_attributes(const pugi::xml_node& owner, Attributes& attributes) {
        for (const auto& attribute : owner.children("xs:attribute"))
            attributes.insert(line(
                attribute.attribute("name").value(), std::string_view(attribute.attribute("use").value()) == "required",
                attribute.attribute("default").value(), choices_of(attribute.attribute("type").value())));
        for (const auto& group : owner.children("xs:attributeGroup"))
            collect_attributes(named("xs:attributeGroup", group.attribute("ref").value()), attributes);
    }

    void collect(const pugi::xml_node& type, const std::string& path) {
        collect_attributes(type, elements_[path]);
        for (const char* order : {"xs:choice", "xs:sequence"})
            for (const auto& child : type.child(order).children("xs:element"))
                collect(named("xs:complexType", child.attribute("type").value()),
                        path + "/" + child.attribute("name").value());
    }

    pugi::xml_document document_;
    std::map<std::string, Attributes> elements_;
};

TEST(Schema, TheShippedFileSaysWhatTheTableSays) {
    std::map<std::string, Attributes> table;
    collect_table(root_element(), "lagtrap", table);
    EXPECT_EQ(SchemaReader("lagtrap").elements(), table);
    EXPECT_GE(table.size(), 15);
    std::map<std::string, Attributes> of_presets;
    collect_table(preset_element(), "preset", of_presets);
    EXPECT_EQ(SchemaReader("preset").elements(), of_presets);
    EXPECT_TRUE(of_presets.contains("preset/event/begin"));
}

TEST(Reference, NamesEverythingAndFitsTheTerminal) {
    const std::string reference = settings_reference();
    for (const char* part :
         {"<event> in <lagtrap>, up to 256 times", "<stage> in <library>, up to 16 times",
          "threshold: a duration from 1us to 1h; required", "sample-interval: a duration from 100us to 1s; default 1ms",
          "breach: one of deadline, end; default deadline"})
        EXPECT_THAT(reference, testing::HasSubstr(part));
    std::istringstream lines(reference);
    for (std::string one; std::getline(lines, one);) EXPECT_LE(one.size(), 80) << one;
}

}  // namespace
}  // namespace lagtrap::settings
