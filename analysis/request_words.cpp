#include "analysis/request_words.hpp"

#include <algorithm>

#include "core/duration.hpp"
#include "core/text.hpp"

namespace lagtrap::analysis {

namespace {

// Routes and attributes come from programs.
std::string cut_text(const std::string& text) {
    constexpr std::size_t limit_bytes = 80;
    constexpr std::string_view mark = "…";
    std::string whole = printable(text);
    if (whole.size() <= limit_bytes) return whole;
    std::size_t end = limit_bytes - mark.size();
    while (end > 0 && (static_cast<unsigned char>(whole[end]) & 0xc0) == 0x80) --end;
    whole.resize(end);
    return whole.append(mark);
}

// "tenant=B, user=joe".
std::string attribute_words(const RequestContext& request) {
    constexpr std::size_t attribute_limit = 4;
    std::string text;
    const std::size_t shown = std::min(request.attributes.size(), attribute_limit);
    for (std::size_t i = 0; i < shown; ++i)
        text += (i == 0 ? "" : ", ") + cut_text(request.attributes[i].name) + "=" +
                cut_text(request.attributes[i].value);
    return text;
}

// " (key 17, trace 4f2ac1d9…, tenant=B)"; empty if nothing is known.
std::string identity(const RequestContext& request, const std::string& first) {
    constexpr std::size_t trace_digits = 8;
    std::string text = first;
    const auto add = [&text](const std::string& part) {
        text += (text.empty() ? "" : ", ") + part;
    };
    if (request.key != 0) add("key " + std::to_string(request.key));
    if (!request.trace_id.empty())
        add("trace " + printable(request.trace_id.substr(0, trace_digits)) + "…");
    if (!request.attributes.empty()) add(attribute_words(request));
    return text.empty() ? "" : " (" + text + ")";
}

}  // namespace

std::string request_words(const std::optional<RequestPart>& part) {
    if (!part) return "";
    const RequestContext& request = part->request;
    if (request.event.empty())
        return ", in " + (request.route.empty() ? "a request" : cut_text(request.route)) +
               identity(request, "");
    const std::string length = format_duration_ns(request.end_ns - request.begin_ns);
    return ", in a run of \"" + request.event + "\"" + identity(request, cut_text(request.route)) +
           (request.open ? " that had taken " + length + " and not ended" : " that took " + length);
}

std::string published_words(const RequestContext& request) {
    const std::string attributes = attribute_words(request);
    if (request.route.empty()) return attributes;
    return cut_text(request.route) + (attributes.empty() ? "" : " (" + attributes + ")");
}

}  // namespace lagtrap::analysis
