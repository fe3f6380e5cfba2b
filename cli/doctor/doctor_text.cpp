#include "cli/doctor/doctor_text.hpp"

#include <algorithm>

#include <boost/json.hpp>

#include "cli/console/text_layout.hpp"

namespace lagtrap::cli {
namespace {

const char* word_of(Health health) {
    switch (health) {
        case Health::Works: return "ok";
        case Health::Otherwise: return "works with a fallback";
        case Health::Missing: return "missing";
        case Health::Unknown: return "not asked";
    }
    return "missing";
}

Colour colour_of(Health health) {
    switch (health) {
        case Health::Works: return Colour::Green;
        case Health::Otherwise: return Colour::Yellow;
        case Health::Missing: return Colour::Red;
        case Health::Unknown: return Colour::Yellow;
    }
    return Colour::Red;
}

}  // namespace

bool lacks_needed(const std::vector<Finding>& findings) {
    return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.needed && finding.health == Health::Missing;
    });
}

std::string doctor_text(const std::vector<Finding>& findings, const Paint& paint) {
    constexpr std::size_t name_columns = 25, state_columns = 22;
    std::string text;
    for (const Finding& finding : findings) {
        text +=
            pad_right(finding.name, name_columns) +
            paint(colour_of(finding.health), pad_right(word_of(finding.health), state_columns)) +
            finding.reason + "\n";
        if (!finding.advice.empty())
            text += std::string(name_columns + state_columns, ' ') + finding.advice + "\n";
    }
    const auto unknown =
        std::count_if(findings.begin(), findings.end(),
                      [](const Finding& finding) { return finding.health == Health::Unknown; });
    text += lacks_needed(findings) ? "\nSomething that lagtrap needs is missing.\n"
            : unknown > 0
                ? "\nNothing that lagtrap needs was found missing; only root can check the rest.\n"
                : "\nEverything that lagtrap needs is available.\n";
    return text;
}

boost::json::object doctor_json(const std::vector<Finding>& findings) {
    boost::json::array list;
    for (const Finding& finding : findings)
        list.push_back({{"name", finding.name},
                        {"state", word_of(finding.health)},
                        {"needed", finding.needed},
                        {"reason", finding.reason},
                        {"advice", finding.advice}});
    return {{"ok", !lacks_needed(findings)}, {"findings", std::move(list)}};
}

}  // namespace lagtrap::cli
