// Shared by tests of the settings: the files of a folder, and the output of a check.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "settings/parser.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::settings::testing_files {

inline const std::filesystem::path data_folder = test_data_folder() + "/settings";
inline const std::filesystem::path settings_folder = source_folder() + "/settings";

// The names of the .xml files in `folder`, sorted.
inline std::vector<std::string> xml_files(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == ".xml") names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

inline std::string content(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// The error shown for this text in a file settings.xml.
inline std::string check(std::string_view text, BinaryCheck check) {
    const ParseOutcome outcome = parse_settings(text, check);
    return format_diagnostics("settings.xml", text, outcome.diagnostics);
}

// An event with `body` inside.
inline std::string event(const std::string& body, const std::string& attributes = "") {
    return "<lagtrap version=\"1\">\n<event name=\"a\" threshold=\"50ms\" trace-length=\"4s\" " +
           attributes + ">\n" + body + "\n</event>\n</lagtrap>\n";
}

}  // namespace lagtrap::settings::testing_files
