#include <unistd.h>

#include <vector>

#include "cli/commands.hpp"
#include "cli/daemons/daemon_program.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

// lagtrapd decides with the code that it uses on the machine, so it does the rehearsal, too.
int rehearse_settings(const RehearseOptions& options, Console& console) {
    const std::string program = find_daemon();
    std::vector<std::string> words =
        rehearsal_by(program, options.file, options.settings, options.json);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    console.out.flush();
    ::execvp(program.c_str(), arguments.data());
    return console.fail(system_error("starting " + program).message);
}

}  // namespace lagtrap::cli
