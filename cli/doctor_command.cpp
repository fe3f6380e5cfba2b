#include <algorithm>

#include <boost/json.hpp>

#include "cli/commands.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/doctor/doctor_findings.hpp"

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

bool lacks_needed(const std::vector<Finding>& findings) {
    return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.needed && finding.health == Health::Missing;
    });
}

std::string as_text(const std::vector<Finding>& findings, const Paint& paint) {
    std::string text;
    for (const Finding& finding : findings) {
        text += pad_right(finding.name, 25) +
                paint(colour_of(finding.health), pad_right(word_of(finding.health), 17)) +
                finding.reason + "\n";
        if (!finding.advice.empty()) text += std::string(42, ' ') + finding.advice + "\n";
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

boost::json::object as_json(const std::vector<Finding>& findings) {
    boost::json::array list;
    for (const Finding& finding : findings)
        list.push_back({{"name", finding.name},
                        {"state", word_of(finding.health)},
                        {"needed", finding.needed},
                        {"reason", finding.reason},
                        {"advice", finding.advice}});
    return {{"ok", !lacks_needed(findings)}, {"findings", std::move(list)}};
}

}  // namespace

int examine_machine(const DoctorOptions& options, Console& console) {
    DoctorPlaces places;
    places.settings = options.settings;
    places.socket = options.socket;
    places.ask_server = options.server;
    auto findings = kernel_findings(bpf::ask_kernel(), bpf::missing_capabilities(), places.root);
    for (Finding& finding : service_findings(places)) findings.push_back(std::move(finding));
    console.out << (options.json ? boost::json::serialize(as_json(findings)) + "\n"
                                 : as_text(findings, console.paint));
    return lacks_needed(findings) ? exit_failed : exit_done;
}

}  // namespace lagtrap::cli
