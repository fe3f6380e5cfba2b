#include "cli/why/repeated_reports.hpp"

#include "cli/console/interrupt.hpp"
#include "cli/why/why_report.hpp"

namespace lagtrap::cli {

int repeat_reports(const ReportRounds& rounds, Console& console) {
    for (bool first = true; interrupted == 0; first = false) {
        const Status found = first ? success() : rounds.find_again();
        const auto text = found ? rounds.once() : Result<std::string>(found.error());
        if (interrupted != 0) break;
        if (!text) return console.fail(text.error().message);
        console.out << (console.terminal ? round_on_screen(*text, screen_rows())
                                         : round_in_file(*text))
                    << std::flush;
    }
    return exit_done;
}

}  // namespace lagtrap::cli
