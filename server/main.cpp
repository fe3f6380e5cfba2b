// lagtrap-server receives bundles and runs, stores them, and serves pages and an API.
#include <sys/stat.h>

#include <string_view>

#include <CLI/CLI.hpp>

#include "core/heap.hpp"
#include "server/command_line.hpp"
#include "server/ingest/parse_worker.hpp"
#include "server/serve.hpp"

int main(int argc, char** argv) {
    using namespace lagtrap::server;
    lagtrap::keep_heap_small();
    // Before any setup, because this process must have as few privileges and resources as possible.
    if (argc == 3 && std::string_view(argv[1]) == "--parse-worker")
        return run_parse_worker(argv[2]);
    // Keeps other users from reading bundles, runs and accounts, however the program is started.
    ::umask(0077);
    Options options;
    Command command = [&options] { return serve(options); };
    CLI::App app{"Collect, store and show delays and runs from many machines."};
    app.set_version_flag("--version", "lagtrap-server " LAGTRAP_VERSION);
    add_server_options(app, options);
    add_commands(app, options, command);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? done : wrong_options;
    }
    return command();
}
