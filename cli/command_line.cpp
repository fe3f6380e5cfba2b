#include "cli/command_line.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <new>
#include <set>
#include <string_view>

#include <CLI/CLI.hpp>

#include "cli/argument_names.hpp"
#include "cli/command_arguments.hpp"
#include "cli/command_choice.hpp"
#include "cli/console/text_layout.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {

namespace {

// The commands of `lagtrap --help`, by what they are for. It names the others in one line.
void group_commands(CLI::App& app) {
    const std::vector<std::pair<const char*, std::vector<const char*>>> groups{
        {"What is slow right now (needs no settings and no service)", {"why", "watch"}},
        {"Trace a running process (needs lagtrapd)", {"calls", "functions", "objects"}},
        {"Set up lagtrapd", {"doctor", "add", "presets", "list-markers", "check"}},
        {"What lagtrapd sees and records", {"status", "live", "explain", "report", "runs"}}};
    std::set<std::string> shown;
    for (const auto& [group, commands] : groups)
        for (const char* const command : commands) {
            app.get_subcommand(command)->group(group);
            shown.insert(command);
        }
    std::string others;
    for (CLI::App* const command : app.get_subcommands([](CLI::App*) { return true; })) {
        if (shown.contains(command->get_name())) continue;
        command->group("");
        others += (others.empty() ? "" : ", ") + command->get_name();
    }
    // The commands keep the usual width for their options.
    const auto list = std::make_shared<CLI::Formatter>();
    constexpr std::size_t names_width = 16;
    list->column_width(names_width);
    app.formatter(list);
    app.footer(
        wrap_words("More commands: " + others + ". See `lagtrap COMMAND --help` and lagtrap(1).",
                   screen_width, 0));
}

// Says in one line what is wrong with the command line; `first` is its first argument.
int refuse(const CLI::App& app, const std::string& first, const CLI::ParseError& problem,
           Console& console) {
    if (first.empty()) {
        console.err << app.help();
        return exit_usage;
    }
    std::vector<std::string> commands;
    for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; }))
        commands.push_back(command->get_name());
    const bool has_command = std::find(commands.begin(), commands.end(), first) != commands.end();
    if (!has_command && !first.starts_with('-')) {
        const std::string nearest = nearest_name(first, commands);
        (void)console.fail(
            "there is no command " + printable(first) +
            (nearest.empty() ? "; see `lagtrap --help`" : "; did you mean " + nearest + "?"));
        return exit_usage;
    }
    std::string text = printable(problem.what());
    if (text.size() > 1 && text[1] >= 'a' && text[1] <= 'z')
        text[0] = static_cast<char>(std::tolower(text[0]));
    (void)console.fail((has_command ? first + ": " : "") + text + "; see `lagtrap " +
                       (has_command ? first + " " : "") + "--help`");
    return exit_usage;
}

// Returns the arguments before "--" of "lagtrap why -- COMMAND ..." and others; those after it
// belong to the command.
int own_arguments(int argc, const char* const* argv) {
    constexpr std::array<std::string_view, 3> with_command{"why", "watch", "ask"};
    if (argc < 2 ||
        std::find(with_command.begin(), with_command.end(), argv[1]) == with_command.end())
        return argc;
    return static_cast<int>(std::find(argv, argv + argc, std::string_view("--")) - argv);
}

}  // namespace

int run_command_line(int argc, const char* const* argv, Console& console) {
    const int own_argc = own_arguments(argc, argv);
    CLI::App app("Find out why something on this machine is slow", "lagtrap");
    app.set_version_flag("--version", "lagtrap " LAGTRAP_VERSION);
    app.require_subcommand(1);
    Choice choice;
    add_commands(app, choice);
    group_commands(app);
    name_arguments(app);
    try {
        choice.why.command.assign(argv + std::min(own_argc + 1, argc), argv + argc);
        choice.ask.command = choice.watch.command = choice.why.command;
        app.parse(own_argc, argv);
    } catch (const CLI::ParseError& problem) {
        if (problem.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success))
            return refuse(app, own_argc > 1 ? argv[1] : "", problem, console);
        return app.exit(problem, console.out, console.err) == 0 ? exit_done : exit_usage;
    }
    try {
        return choice.run(console);
    } catch (const std::bad_alloc&) {
        return console.fail(
            "this takes more memory than allowed: half of the machine's, at most 8 GiB");
    }
}

}  // namespace lagtrap::cli
