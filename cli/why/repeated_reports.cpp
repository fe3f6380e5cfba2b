#include "cli/why/repeated_reports.hpp"

#include "cli/console/interrupt.hpp"
#include "cli/why/why_report.hpp"

namespace lagtrap::cli {

int repeat_reports(const MakeReport& make, Console& console) {
    for (bool first = true; interrupted == 0; first = false) {
        const auto text = make(first);
        if (interrupted != 0) break;
        if (!text) return console.fail(text.error().message);
        console.out << (console.terminal ? round_on_screen(*text, screen_rows())
                                         : round_in_file(*text))
                    << std::flush;
    }
    return exit_done;
}

}  // namespace lagtrap::cli
