// Output of `lagtrap presets`.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "cli/programs/preset_matches.hpp"
#include "settings/preset.hpp"

namespace lagtrap::cli {

// Which of a preset's programs are present.
struct Presence {
    bool kernel = false;  // it uses kernel markers
    std::vector<std::string> installed;
    std::vector<const MappedProcess*> running;
};

// `processes` must outlive the result.
[[nodiscard]] Presence presence_of(const settings::Preset& preset,
                                   const std::vector<MappedProcess>& processes);
// "runs: nginx (3 processes)".
[[nodiscard]] std::string presence_text(const Presence& presence);
[[nodiscard]] boost::json::object presence_json(const Presence& presence);
[[nodiscard]] boost::json::object preset_json(const settings::Preset& preset);
// The parameters of <use>, each with its default.
[[nodiscard]] std::string preset_parameters_text(const settings::Preset& preset,
                                                 std::size_t columns);

}  // namespace lagtrap::cli
