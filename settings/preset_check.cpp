#include "settings/preset_check.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "settings/machine_check.hpp"
#include "settings/preset.hpp"
#include "settings/program_name.hpp"

namespace lagtrap::settings {
namespace {

class PresetCheck {
  public:
    PresetCheck(const PresetSource& preset, Diagnostics& diagnostics,
                const OpenTraceFs& open_tracefs)
        : preset_(preset),
          diagnostics_(diagnostics),
          open_tracefs_(open_tracefs),
          installed_(installed_programs(preset.programs)) {}

    void run() {
        // key "" holds those of the kernel
        std::map<std::string, std::vector<std::size_t>> markers_of_file;
        bool any_wanted = false;
        for (std::size_t marker = 0; marker < preset_.markers.size(); ++marker) {
            any_wanted = any_wanted || !preset_.markers[marker].marker.binary.empty();
            for (const std::string& file : files_of(preset_.markers[marker].marker.binary))
                markers_of_file[file].push_back(marker);
        }
        for (const auto& [file, markers] : markers_of_file) check(file, markers);
        for (const Problem& problem : problems_)
            report(problem.error, sound_.contains(problem.marker));
        const bool only_kernel = markers_of_file.size() == markers_of_file.count("");
        if (any_wanted && only_kernel) note_absence();
    }

  private:
    struct Problem {
        std::size_t marker = 0;
        Diagnostic error;
    };

    [[nodiscard]] std::vector<std::string> files_of(const std::string& name) const {
        if (name.empty() || kind_of_program(name) == ProgramName::Path) return {name};
        std::vector<std::string> files;
        for (const std::string& path : installed_)
            if (means_file(name, path, {})) files.push_back(path);
        return files;
    }

    // Checks all markers of a file together, because reading it takes long. The line number of a
    // marker's place is its index plus one, so that a diagnostic identifies its marker.
    void check(const std::string& file, const std::vector<std::size_t>& markers) {
        MachineSources sources;
        for (const std::size_t marker : markers) {
            MarkerSource source = preset_.markers[marker];
            source.marker.binary = file;
            const Place place{static_cast<std::uint32_t>(marker + 1), 1};
            source.name_place = source.binary_place = source.key_place = source.begin_time_place =
                source.trace_id_place = place;
            sources.markers.push_back(std::move(source));
        }
        Diagnostics own;
        check_machine(sources, own, open_tracefs_);
        for (const Note& note : own.take_notes())
            diagnostics_.note(preset_.place, about(note.text));
        for (const Note& warning : own.take_warnings())
            diagnostics_.warn(preset_.place, warning.text);
        std::set<std::size_t> wrong;
        for (Diagnostic& error : own.take()) {
            wrong.insert(error.line - 1);
            problems_.push_back({error.line - 1, std::move(error)});
        }
        for (const std::size_t marker : markers)
            if (!wrong.contains(marker)) sound_.insert(marker);
    }

    void report(const Diagnostic& error, bool found_elsewhere) {
        if (!said_.insert(error.found).second) return;
        const std::string tried = fmt::format("the preset was tested with {}", preset_.tried_with);
        if (found_elsewhere)
            return diagnostics_.warn(
                preset_.place,
                about(error.found) + "; other programs of this preset have it; " + tried);
        diagnostics_.add(preset_.place, about(error.found), error.allowed,
                         tried + (error.hint.empty() ? "" : "; " + error.hint));
    }

    void note_absence() {
        std::string list;
        for (const std::string& program : preset_.programs)
            list += (list.empty() ? "" : ", ") + program;
        diagnostics_.note(
            preset_.place,
            about(fmt::format("none of its programs is installed ({}); it will be watched once a "
                              "process runs one, including in a container",
                              list)));
    }

    [[nodiscard]] std::string about(const std::string& text) const {
        return fmt::format("preset {}: {}", preset_.preset, text);
    }

    const PresetSource& preset_;
    Diagnostics& diagnostics_;
    const OpenTraceFs& open_tracefs_;
    std::vector<std::string> installed_;
    std::vector<Problem> problems_;
    std::set<std::size_t> sound_;  // markers found in at least one program
    std::set<std::string> said_;
};

}  // namespace

void check_preset(const PresetSource& preset, Diagnostics& diagnostics,
                  const OpenTraceFs& open_tracefs) {
    PresetCheck(preset, diagnostics, open_tracefs).run();
}

}  // namespace lagtrap::settings
