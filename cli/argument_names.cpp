#include "cli/argument_names.hpp"

#include <map>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace lagtrap::cli {

namespace {

using Names = std::map<std::string_view, const char*>;

const Names& names_of_texts() {
    static const Names names{
        {"--ca", "FILE"},          {"--class", "EXPRESSION"},   {"--connect", "URL"},
        {"--create", "FUNCTION"},  {"--debug-dir", "FOLDER"},   {"--error", "KIND"},
        {"--event", "EVENT"},      {"--except", "NAMES"},       {"--exclude", "EXPRESSION"},
        {"--for", "TIME"},         {"--format", "FORMAT"},      {"--from", "STAGE"},
        {"--function", "NAME"},    {"--host", "HOST"},          {"--html", "FILE"},
        {"--in", "TARGET"},        {"--include", "EXPRESSION"}, {"--keep", "FOLDER"},
        {"--key", "FIELDS"},       {"--library", "PATTERN"},    {"--limit", "TIME"},
        {"--mark", "TIME"},        {"--match", "EXPRESSION"},   {"--message", "FUNCTION"},
        {"--min", "TIME"},         {"--name", "NAME"},          {"--only", "FUNCTIONS"},
        {"--output", "FILE"},      {"--over", "TIME"},          {"--preset", "NAME"},
        {"--process", "PROCESS"},  {"--rate", "SIZE"},          {"--read", "FILE"},
        {"--record", "FILE"},      {"--release", "FUNCTION"},   {"--server", "URL"},
        {"--settings", "FILE"},    {"--since", "TIME"},         {"--socket", "PATH"},
        {"--spool", "FOLDER"},     {"--stage", "STAGE"},        {"--success", "NUMBERS"},
        {"--syscall", "NAME"},     {"--thread", "THREAD"},      {"--threshold", "TIME"},
        {"--timeout", "TIME"},     {"--title", "ARGUMENT"},     {"--tracepoint", "TRACEPOINT"},
        {"--until", "TRACEPOINT"}, {"--to", "STAGE"},           {"--token-file", "FILE"},
        {"--usdt", "PROBE"},       {"--use", "FUNCTION"},       {"--watch", "ID"},
    };
    return names;
}

const Names& names_of_numbers() {
    static const Names names{
        {"--budget", "PERCENT"}, {"--depth", "LEVELS"}, {"--interval", "SECONDS"}};
    return names;
}

// The name of an option's values, given the one of their type; a command's own choice stays.
std::string value_name(std::string_view option, const std::string& type) {
    const bool number = type == "UINT" || type == "INT" || type == "FLOAT";
    if (!number && type != "TEXT") return type;
    const Names& names = number ? names_of_numbers() : names_of_texts();
    const auto found = names.find(option);
    if (found != names.end()) return found->second;
    return number ? "NUMBER" : type;
}

}  // namespace

void name_arguments(CLI::App& app) {
    for (CLI::App* const command : app.get_subcommands([](CLI::App*) { return true; }))
        for (CLI::Option* const option : command->get_options()) {
            if (option->get_items_expected_max() == 0) continue;
            const std::string type = option->get_type_name();
            const std::string name =
                option->get_positional()
                    ? ""  // it has a name of its own
                    : value_name(option->get_name(), type.substr(0, type.find(':')));
            option->type_name(name);
        }
}

}  // namespace lagtrap::cli
