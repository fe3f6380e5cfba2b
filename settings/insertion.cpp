#include "settings/insertion.hpp"

#include "settings/parser.hpp"

namespace lagtrap::settings {
namespace {

constexpr std::string_view blanks = " \t\r\n";
constexpr std::string_view end_tag = "</lagtrap";

// Position of the end tag, which only blanks and comments may follow. npos if there is none, as for
// <lagtrap .../>.
std::size_t end_tag_of(std::string_view text) {
    for (;;) {
        const std::size_t last = text.find_last_not_of(blanks);
        if (last == std::string_view::npos) return last;
        text = text.substr(0, last + 1);
        if (!text.ends_with("-->")) break;
        const std::size_t comment = text.rfind("<!--");
        if (comment == std::string_view::npos) return comment;
        text = text.substr(0, comment);
    }
    const std::size_t tag = text.rfind('<');
    return tag != std::string_view::npos && text.substr(tag).starts_with(end_tag)
               ? tag
               : std::string_view::npos;
}

Result<std::string> checked(std::string text, const std::string& name, std::string_view what) {
    const ParseOutcome outcome = parse_settings(text, BinaryCheck::Skip);
    if (outcome.ok()) return text;
    return make_error(ErrorKind::Invalid, std::string(what) + ":\n" +
                                              format_diagnostics(name, text, outcome.diagnostics));
}

}  // namespace

Result<std::string> with_elements(std::string_view text, std::string_view elements,
                                  const std::string& name) {
    TRY(checked(std::string(text), name, "the settings already have errors"));
    std::string result(text);
    const std::size_t end = end_tag_of(text);
    if (end != std::string_view::npos) {
        // keep the end tag's indent before it
        const std::size_t line = result.find_last_not_of(" \t", end - 1);
        const bool own_line = line != std::string::npos && result[line] == '\n';
        result.insert(own_line ? line + 1 : end, (own_line ? "" : "\n") + std::string(elements));
    } else {
        const std::size_t tag = result.rfind("<lagtrap");
        const std::size_t slash = tag == std::string::npos ? tag : result.find("/>", tag);
        if (slash == std::string::npos)
            return make_error(ErrorKind::Invalid, name + " has no end tag </lagtrap>");
        result.replace(slash, 2, ">\n" + std::string(elements) + "</lagtrap>");
    }
    // A comment may have misled the search; verify that the events were added.
    TRY_ASSIGN(result, checked(std::move(result), name,
                               "the settings would have errors with the new elements"));
    const std::size_t before = parse_settings(text, BinaryCheck::Skip).settings.events.size();
    if (parse_settings(result, BinaryCheck::Skip).settings.events.size() > before) return result;
    return make_error(ErrorKind::Invalid,
                      name + ": the end of <lagtrap> was not found; add the elements by hand");
}

}  // namespace lagtrap::settings
