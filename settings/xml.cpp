#include "settings/xml.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include <fmt/core.h>

#include "settings/encoding.hpp"
#include "settings/schema.hpp"

namespace lagtrap::settings {
namespace {

constexpr std::string_view spaces = " \t\r\n";

std::size_t skip_spaces(std::string_view text, std::size_t offset) {
    return std::min(text.find_first_not_of(spaces, offset), text.size());
}

// The name that starts at `offset`.
std::string_view name_at(std::string_view text, std::size_t offset) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n=/><\"'&", offset), text.size());
    return text.substr(offset, end - offset);
}

// The offset after the comment, CDATA section or declaration at `offset`, or `offset` itself if a
// tag is there. An unterminated construct extends to the end of the text.
std::size_t skip_other_construct(std::string_view text, std::size_t offset) {
    const auto skip_to = [&](std::string_view end, std::size_t from) {
        const std::size_t found = text.find(end, from);
        return found == std::string_view::npos ? text.size() : found + end.size();
    };
    const std::string_view rest = text.substr(offset);
    if (rest.starts_with("<!--")) return skip_to("-->", offset + 4);
    if (rest.starts_with("<![CDATA[")) return skip_to("]]>", offset + 9);
    if (rest.starts_with("<?")) return skip_to("?>", offset + 2);
    if (rest.starts_with("<!")) return skip_to(">", offset + 2);
    return offset;
}

struct OpenTag {
    std::string_view name;
    std::size_t offset;
};

// The elements open at offset `end`, outermost first.
std::vector<OpenTag> open_tags(std::string_view text, std::size_t end) {
    std::vector<OpenTag> open;
    std::size_t offset = text.find('<');
    while (offset < end) {
        std::size_t next = skip_other_construct(text, offset);
        if (next == offset && text.substr(offset).starts_with("</")) {
            if (!open.empty()) open.pop_back();
            next = offset + 2;
        } else if (next == offset) {
            const auto tag = scan_start_tag(text, offset);
            if (tag && !tag->closes_itself) open.push_back({tag->name, offset});
            next = tag ? tag->end : offset + 1;
        }
        offset = text.find('<', next);
    }
    return open;
}

// Reports pugixml's errors in our words, at the place where a person would look.
class SyntaxErrors {
  public:
    SyntaxErrors(const LineIndex& index, Diagnostics& diagnostics)
        : index_(index), text_(index.text()), diagnostics_(diagnostics) {}

    void report(const pugi::xml_parse_result& result) {
        const std::size_t at = std::min(
            static_cast<std::size_t>(std::max<std::ptrdiff_t>(result.offset, 0)), text_.size());
        switch (result.status) {
            case pugi::status_end_element_mismatch:
            case pugi::status_bad_end_element: return report_end_tag(at);
            case pugi::status_bad_comment:
                return add(last("<!--", at), "unterminated comment", "expected -->");
            case pugi::status_bad_cdata:
                return add(last("<![", at), "unterminated CDATA section", "expected ]]>");
            case pugi::status_bad_pi:
                return add(last("<?", at), "a malformed XML declaration",
                           "expected <?xml version=\"1.0\"?> at the very start");
            case pugi::status_bad_doctype:
                return add(last("<!", at), "a document type declaration",
                           "expected none: settings cannot have a DTD");
            case pugi::status_bad_start_element:
            case pugi::status_bad_attribute: return report_start_tag(at);
            default:
                return add(at, "not an XML tag", "expected an element such as <event>",
                           "write a < in text as &lt;");
        }
    }

  private:
    void add(std::size_t offset, std::string found, std::string allowed, std::string hint = {}) {
        diagnostics_.add(index_.place_of(offset), std::move(found), std::move(allowed),
                         std::move(hint));
    }

    [[nodiscard]] std::size_t last(std::string_view construct, std::size_t before) const {
        const std::size_t found = text_.rfind(construct, before);
        return found == std::string_view::npos ? before : found;
    }

    // Reports the start tag in which pugixml stopped, and where it is malformed.
    void report_start_tag(std::size_t at) {
        const std::size_t tag = last("<", at > 0 ? at - 1 : 0);
        const std::string name = shortened(name_at(text_, std::min(tag + 1, text_.size())));
        add(tag, fmt::format("malformed start tag <{}>", name),
            "expected attributes such as threshold=\"50ms\", then > or />",
            fmt::format("the tag breaks off at line {}, column {}", index_.place_of(at).line,
                        index_.place_of(at).column));
    }

    void report_end_tag(std::size_t at) {
        const std::size_t tag = last("</", at);
        // pugixml may stop at the text's last character instead of behind it.
        const bool at_end = skip_spaces(text_, at) == text_.size() || text_.substr(at) == ">";
        const bool cut_short =
            text_.substr(tag).starts_with("</") && text_.find('>', tag) == std::string_view::npos;
        if (at_end && !cut_short) {
            const std::vector<OpenTag> open = open_tags(text_, text_.size());
            const OpenTag unclosed = open.empty() ? OpenTag{name_at(text_, 0), 0} : open.back();
            const std::string name = shortened(unclosed.name);
            return add(unclosed.offset, fmt::format("<{}> is not closed", name),
                       fmt::format("expected </{}>", name));
        }
        const std::vector<OpenTag> open = open_tags(text_, tag);
        const std::string name = shortened(name_at(text_, std::min(tag + 2, text_.size())));
        if (open.empty())
            return add(tag, fmt::format("</{}> has no start tag", name),
                       "expected the end tag of an open element");
        const std::string expected = shortened(open.back().name);
        if (name == expected)
            return add(tag, fmt::format("malformed end tag </{}>", name),
                       fmt::format("expected </{}>", name));
        add(tag, fmt::format("</{}> while <{}> is open", name, expected),
            fmt::format("expected </{}>", expected),
            fmt::format("<{}> opens at line {}", expected,
                        index_.place_of(open.back().offset).line));
    }

    const LineIndex& index_;
    std::string_view text_;
    Diagnostics& diagnostics_;
};

// Whether `reference` ("amp", "#10", "#x41") names a character that XML allows.
bool is_known_reference(std::string_view reference) {
    for (const std::string_view name : {"lt", "gt", "amp", "quot", "apos"})
        if (reference == name) return true;
    if (!reference.starts_with('#')) return false;
    reference.remove_prefix(1);
    const int base = reference.starts_with('x') ? 16 : 10;
    if (base == 16) reference.remove_prefix(1);
    std::uint32_t code = 0;
    const char* end = reference.data() + reference.size();
    const auto [rest, failure] = std::from_chars(reference.data(), end, code, base);
    return failure == std::errc{} && rest == end && is_xml_character(code);
}

// Refuses what pugixml accepts in a tree and settings do not allow.
class TreeCheck : public pugi::xml_tree_walker {
  public:
    TreeCheck(const LineIndex& index, Diagnostics& diagnostics)
        : index_(index), diagnostics_(diagnostics) {}

    bool for_each(pugi::xml_node& node) override {
        const auto offset =
            static_cast<std::size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 0));
        switch (node.type()) {
            case pugi::node_doctype:
                add(index_.text().rfind("<!", offset), "a document type declaration",
                    "expected none: settings cannot have a DTD");
                break;
            case pugi::node_pi:
                add(offset - 2,
                    fmt::format("a processing instruction <?{}?>", shortened(node.name())),
                    "expected none");
                break;
            case pugi::node_declaration:
                if (offset != 2)
                    add(offset - 2, "an XML declaration",
                        "expected only at the very start of the file");
                break;
            case pugi::node_element: check_element(node, offset - 1); break;
            case pugi::node_pcdata:
            case pugi::node_cdata:
                if (depth() == 0)
                    add(skip_spaces(index_.text(), offset), "text outside the root element",
                        "expected none");
                break;
            default: break;
        }
        return true;
    }

    [[nodiscard]] bool found_element() const { return elements_ > 0; }

  private:
    void add(std::size_t offset, std::string found, std::string allowed, std::string hint = {}) {
        diagnostics_.add(index_.place_of(offset), std::move(found), std::move(allowed),
                         std::move(hint));
    }

    void check_element(const pugi::xml_node& node, std::size_t offset) {
        if (depth() == 0 && ++elements_ == 2)
            add(offset, fmt::format("a second root element <{}>", shortened(node.name())),
                "expected one");
        if (static_cast<std::size_t>(depth()) == depth_limit)
            add(offset, fmt::format("<{}> is nested too deep", shortened(node.name())),
                fmt::format("expected at most {} levels", depth_limit));
        const auto tag = scan_start_tag(index_.text(), offset);
        if (!tag)
            return add(offset, "a malformed start tag", "expected <NAME ATTRIBUTE=\"VALUE\">");
        for (const RawAttribute& attribute : tag->attributes) check_attribute(attribute);
    }

    void check_attribute(const RawAttribute& attribute) {
        if (attribute.value.find('<') != std::string_view::npos)
            add(attribute.offset, fmt::format("{} contains a <", shortened(attribute.name)),
                "expected &lt;");
        for (std::size_t at = attribute.value.find('&'); at != std::string_view::npos;
             at = attribute.value.find('&', at + 1)) {
            const std::size_t end = attribute.value.find(';', at);
            const std::string_view rest = attribute.value.substr(at + 1);
            if (end != std::string_view::npos && is_known_reference(rest.substr(0, end - at - 1)))
                continue;
            add(attribute.offset,
                fmt::format("{} contains an & that starts no known reference",
                            shortened(attribute.name)),
                "expected &amp;, &lt;, &gt;, &quot; or &apos;");
            return;
        }
    }

    const LineIndex& index_;
    Diagnostics& diagnostics_;
    std::size_t elements_ = 0;
};

}  // namespace

std::optional<RawTag> scan_start_tag(std::string_view text, std::size_t offset) {
    if (offset >= text.size() || text[offset] != '<') return {};
    RawTag tag;
    tag.name = name_at(text, offset + 1);
    if (tag.name.empty()) return {};
    std::size_t at = offset + 1 + tag.name.size();
    for (;;) {
        at = skip_spaces(text, at);
        if (at >= text.size()) return {};
        if (text[at] == '>' || text.substr(at).starts_with("/>")) {
            tag.closes_itself = text[at] == '/';
            tag.end = at + (tag.closes_itself ? 2 : 1);
            return tag;
        }
        RawAttribute attribute{at, name_at(text, at), {}};
        at = skip_spaces(text, at + attribute.name.size());
        if (attribute.name.empty() || at >= text.size() || text[at] != '=') return {};
        at = skip_spaces(text, at + 1);
        if (at >= text.size() || (text[at] != '"' && text[at] != '\'')) return {};
        const std::size_t end = text.find(text[at], at + 1);
        if (end == std::string_view::npos) return {};
        attribute.value = text.substr(at + 1, end - at - 1);
        tag.attributes.push_back(attribute);
        at = end + 1;
    }
}

std::string_view without_byte_order_mark(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    return text;
}

bool parse_xml(const LineIndex& index, pugi::xml_document& document, Diagnostics& diagnostics) {
    if (!check_encoding(index, diagnostics)) return false;
    // parse_fragment keeps text outside the root element, which pugixml would otherwise drop
    // silently.
    constexpr unsigned options = pugi::parse_default | pugi::parse_fragment | pugi::parse_doctype |
                                 pugi::parse_pi | pugi::parse_declaration;
    const std::string_view text = index.text();
    const pugi::xml_parse_result result =
        document.load_buffer(text.data(), text.size(), options, pugi::encoding_utf8);
    if (!result) {
        SyntaxErrors(index, diagnostics).report(result);
        return false;
    }
    TreeCheck check(index, diagnostics);
    document.traverse(check);
    if (!check.found_element() && diagnostics.empty())
        diagnostics.add({}, "the file has no elements", "expected <lagtrap version=\"1\">");
    return diagnostics.empty();
}

}  // namespace lagtrap::settings
