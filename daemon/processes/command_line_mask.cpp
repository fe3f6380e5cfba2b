#include "daemon/processes/command_line_mask.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace lagtrap::daemon {
namespace {

constexpr std::string_view mask = "***";

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool is_of_name(char c) { return is_letter_or_digit(c) || c == '_' || c == '-' || c == '.'; }

// Keeps lower-case letters and digits only: "API_Key" and "--api-key" both become "apikey".
std::string bare(std::string_view name) {
    std::string letters;
    for (const char c : name)
        if (is_letter_or_digit(c))
            letters += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return letters;
}

bool is_secret_name(std::string_view name) {
    constexpr std::array<std::string_view, 13> parts{
        "password",      "passwd",     "passphrase", "passwort",  "secret",
        "token",         "credential", "apikey",     "accesskey", "privatekey",
        "authorization", "masterauth", "requirepass"};
    constexpr std::array<std::string_view, 5> whole{"pass", "pwd", "userpass", "dbpass", "cookie"};
    const std::string letters = bare(name);
    if (letters.ends_with("file")) return false;  // the path of a secret may be shown
    return std::any_of(
               parts.begin(), parts.end(),
               [&](std::string_view part) { return letters.find(part) != std::string::npos; }) ||
           std::find(whole.begin(), whole.end(), letters) != whole.end();
}

std::vector<std::string> parted(std::string_view command_line) {
    std::vector<std::string> arguments;
    for (std::size_t at = 0; at <= command_line.size();) {
        const std::size_t end = std::min(command_line.find('\0', at), command_line.size());
        arguments.emplace_back(command_line.substr(at, end - at));
        at = end + 1;
    }
    return arguments;
}

// Changes "scheme://user:password@host" to "scheme://***@host".
void mask_url(std::string& text) {
    for (std::size_t at = text.find("://"); at != std::string::npos;
         at = text.find("://", at + 3)) {
        const std::size_t begin = at + 3;
        const std::size_t end = std::min(text.find_first_of("/?# \t\"'", begin), text.size());
        const std::size_t sign = text.rfind('@', end == 0 ? 0 : end - 1);
        if (sign != std::string::npos && sign >= begin && sign < end)
            text.replace(begin, sign - begin, mask);
    }
}

// End of the value at `begin`. If the value is the rest of the argument after its own name, it may
// contain any character.
std::size_t end_of_value(std::string_view text, std::size_t begin, bool is_rest) {
    if (is_rest) return text.size();
    if (begin < text.size() && (text[begin] == '"' || text[begin] == '\''))
        return std::min(text.find(text[begin], begin + 1), text.size() - 1) + 1;
    return std::min(text.find_first_of("&;,} \t\n\"'", begin), text.size());
}

// Start of the value that follows a name ending at `at`: after "=", or after ":" as in headers and
// JSON.
std::optional<std::size_t> begin_of_value(std::string_view text, std::size_t at) {
    if (at < text.size() && (text[at] == '"' || text[at] == '\'')) ++at;
    if (at >= text.size() || (text[at] != '=' && text[at] != ':')) return std::nullopt;
    if (text[at] == ':' && text.substr(at).starts_with("://")) return std::nullopt;
    const std::size_t value = text.find_first_not_of(" \t", at + 1);
    return value == std::string_view::npos ? std::nullopt : std::optional(value);
}

// Masks "name=value" and "name: value" anywhere in an argument.
void mask_assignments(std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
        if (!is_of_name(text[at])) {
            ++at;
            continue;
        }
        const std::size_t begin = at;
        while (at < text.size() && is_of_name(text[at])) ++at;
        if (!is_secret_name(std::string_view(text).substr(begin, at - begin))) continue;
        const auto value = begin_of_value(text, at);
        if (!value) continue;
        const bool is_header = text[at] == ':';
        const std::size_t end = end_of_value(text, *value, begin == 0 || is_header);
        text.replace(*value, end - *value, mask);
        at = *value + mask.size();
    }
}

bool is_client_of_mysql(std::string_view program) {
    const std::string_view name = program.substr(program.rfind('/') + 1);
    return name.starts_with("mysql") || name.starts_with("mariadb");
}

bool is_option(std::string_view argument) { return argument.size() > 1 && argument[0] == '-'; }

// True if the whole next argument is a secret.
bool announces_secret(std::string_view argument) {
    return argument == "-p" ||
           (is_option(argument) && argument.find('=') == std::string_view::npos &&
            is_secret_name(argument));
}

// `last` is the previous argument.
void mask_argument(std::string_view program, std::string_view last, std::string& argument) {
    if (announces_secret(last) && !is_option(argument)) {
        argument = mask;
        return;
    }
    if ((last == "-u" || last == "--user" || last == "--proxy-user") &&
        argument.find(':') != std::string::npos) {
        argument.replace(argument.find(':') + 1, std::string::npos, mask);
        return;
    }
    if (argument.starts_with("-p") && argument.size() > 2 && argument[2] != '=' &&
        is_client_of_mysql(program)) {
        argument.replace(2, std::string::npos, mask);
        return;
    }
    mask_assignments(argument);
    mask_url(argument);
}

// Masks "--password VALUE" anywhere in a text.
void mask_options(std::string& text) {
    bool is_secret = false;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = std::min(text.find(' ', at), text.size());
        const std::string word = text.substr(at, end - at);
        if (is_secret && !word.empty() && !is_option(word)) {
            text.replace(at, word.size(), mask);
            end = at + mask.size();
        }
        if (!word.empty()) is_secret = word != "-p" && announces_secret(word);
        at = end + 1;
    }
}

}  // namespace

std::string shown_text(std::string text, CommandLines mode) {
    if (mode == CommandLines::All) return text;
    mask_assignments(text);
    mask_url(text);
    mask_options(text);
    return text;
}

std::string shown_command_line(std::string_view command_line, CommandLines mode) {
    const std::vector<std::string> arguments = parted(command_line);
    std::vector<std::string> shown = arguments;
    if (mode == CommandLines::Program) shown.resize(1);
    if (mode == CommandLines::Masked)
        for (std::size_t i = 1; i < shown.size(); ++i)
            mask_argument(arguments.front(), arguments[i - 1], shown[i]);
    std::string line;
    for (std::size_t i = 0; i < shown.size(); ++i) line += (i == 0 ? "" : " ") + shown[i];
    return line;
}

}  // namespace lagtrap::daemon
