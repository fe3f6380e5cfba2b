// What `lagtrap status` and `lagtrap explain` say of every trouble that the daemon reports.
#include "cli/status/status_text.hpp"

#include <filesystem>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "cli/control/status_fields.hpp"
#include "cli/reports/explanation.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::cli::status_text_test {
namespace {

namespace json = boost::json;

json::array cases_of(const std::string& name) {
    const auto file = std::filesystem::path(test_data_folder()) / "cli" / name;
    return json::parse(test::text_of_file(file.string())).as_array();
}

TEST(StatusText, SaysEveryTrouble) {
    std::string shown;
    for (const json::value& one : cases_of("status_troubles.json"))
        shown += "# " + text(one.as_object(), "about") + "\n" +
                 status_text(one.at("status").as_object(), Paint(false)) + "\n";
    test::expect_text(shown, "status_troubles.txt");
}

TEST(Explanations, SayEveryTroubleAndWhatToDo) {
    std::string shown;
    for (const json::value& one : cases_of("explain_events.json")) {
        ProgramProcesses processes;
        for (const json::value& value : one.at("processes").as_array()) {
            const json::object& known = value.as_object();
            ProgramProcess process;
            process.pid = static_cast<int>(number(known, "pid"));
            process.path = text(known, "path");
            process.same_file = truth(known, "same_file");
            process.deleted = truth(known, "deleted");
            process.elsewhere = truth(known, "elsewhere");
            process.control_group = text(known, "control_group");
            processes.found.push_back(process);
        }
        const Explanation explanation = explain(
            one.at("answer").as_object(), one.at("event").as_object(), {{"/opt/app", processes}});
        shown += "# " + text(one.as_object(), "about") + "\n" + explanation.event + "\n";
        for (const auto& [kind, sentence, next] : explanation.findings)
            shown += "  " + kind + ": " + sentence + (next.empty() ? "" : "\n    " + next) + "\n";
    }
    test::expect_text(shown, "explain_events.txt");
}

}  // namespace
}  // namespace lagtrap::cli::status_text_test
