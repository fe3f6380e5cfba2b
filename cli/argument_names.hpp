// What `lagtrap COMMAND --help` calls the values of options.
#pragma once

namespace CLI {
class App;
}

namespace lagtrap::cli {

// Names the values of all options of all commands: "--for TIME" instead of "--for TEXT". Call it
// once all options are added.
void name_arguments(CLI::App& app);

}  // namespace lagtrap::cli
