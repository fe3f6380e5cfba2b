#include <boost/json.hpp>

#include "cli/commands.hpp"
#include "cli/doctor/doctor_findings.hpp"
#include "cli/doctor/doctor_text.hpp"

namespace lagtrap::cli {
int examine_machine(const DoctorOptions& options, Console& console) {
    DoctorPlaces places;
    places.settings = options.settings;
    places.socket = options.socket;
    places.ask_server = options.server;
    auto findings = kernel_findings(bpf::ask_kernel(), bpf::missing_capabilities(), places.root);
    for (Finding& finding : service_findings(places)) findings.push_back(std::move(finding));
    console.out << (options.json ? boost::json::serialize(doctor_json(findings)) + "\n"
                                 : doctor_text(findings, console.paint));
    return lacks_needed(findings) ? exit_failed : exit_done;
}

}  // namespace lagtrap::cli
