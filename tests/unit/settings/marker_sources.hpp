// Markers as the settings name them, for tests of the checks of programs. Each place of a marker is
// on a line of its own, so that a problem says which of them it is about.
#pragma once

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "settings/build.hpp"
#include "settings/diagnostics.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::settings::testing_sources {

// A link with a short path, because messages shorten long ones.
class ShortLink {
  public:
    explicit ShortLink(const std::string& target) {
        std::array<char, 32> name{"/dev/shm/settings-XXXXXX"};
        if (::mkdtemp(name.data()) == nullptr) std::abort();
        folder_ = name.data();
        std::filesystem::create_symlink(target, path());
    }
    ShortLink(const ShortLink&) = delete;
    ShortLink& operator=(const ShortLink&) = delete;
    ~ShortLink() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    [[nodiscard]] std::string path() const { return folder_ / "marked.so"; }

  private:
    std::filesystem::path folder_;
};

// A library with functions and markers: tests/data/settings/marked.cpp.
inline const ShortLink marked_link(build_folder() + "/settings/libsettings_test_marked.so");
inline const std::string marked_library = marked_link.path();

inline MarkerSource source_of(MarkerKind kind, const std::string& name,
                              const std::string& binary = marked_library) {
    MarkerSource source;
    source.marker.kind = kind;
    source.marker.binary = binary;
    const std::size_t colon = kind == MarkerKind::Function ? std::string::npos : name.find(':');
    source.marker.name = name;
    if (colon != std::string::npos) {
        source.marker.provider = name.substr(0, colon);
        source.marker.name = name.substr(colon + 1);
    }
    source.name_place = {1, 1};
    source.binary_place = {2, 1};
    source.key_place = {3, 1};
    source.begin_time_place = {4, 1};
    source.trace_id_place = {5, 1};
    return source;
}

// "LINE: found; allowed (hint)", with the library's path shortened to its name.
inline std::vector<std::string> problems_in(Diagnostics& diagnostics) {
    std::vector<std::string> texts;
    for (const Diagnostic& one : diagnostics.take()) {
        std::string text = std::to_string(one.line) + ": " + one.found + "; " + one.allowed;
        if (!one.hint.empty()) text += " (" + one.hint + ")";
        for (std::size_t at = text.find(marked_library); at != std::string::npos;
             at = text.find(marked_library))
            text.replace(at, marked_library.size(), "marked.so");
        texts.push_back(text);
    }
    return texts;
}

// "LINE: text"
inline std::vector<std::string> texts_of(const std::vector<Note>& notes) {
    std::vector<std::string> texts;
    for (const Note& note : notes) texts.push_back(std::to_string(note.line) + ": " + note.text);
    return texts;
}

}  // namespace lagtrap::settings::testing_sources
