#include "analysis/context_decoder.hpp"

#include <algorithm>

#include <protozero/pbf_reader.hpp>

#include "analysis/interning.hpp"
#include "analysis/trace_fields.hpp"

namespace lagtrap::analysis {

namespace {

constexpr std::size_t max_attributes = 16, max_text_bytes = 256;
constexpr std::size_t trace_id_digits = 32, span_id_digits = 16;

SpanAttribute attribute_in(protozero::data_view message, RawTrace& trace) {
    namespace field = fields::lagtrap_context;
    SpanAttribute attribute;
    protozero::pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case field::name:
                attribute.name = interned(view_of(reader.get_view()), max_text_bytes, trace);
                break;
            case field::value:
                attribute.value = interned(view_of(reader.get_view()), max_text_bytes, trace);
                break;
            default: reader.skip();
        }
    }
    return attribute;
}

bool is_id(const std::string& text, std::size_t digits) {
    return text.size() == digits && std::all_of(text.begin(), text.end(), [](char one) {
               return (one >= '0' && one <= '9') || (one >= 'a' && one <= 'f');
           });
}

}  // namespace

void take_context(protozero::data_view message, std::uint64_t at_ns, RawTrace& trace) {
    namespace field = fields::lagtrap_context;
    std::uint32_t tid = 0;
    PublishedSpan span;
    span.at_ns = at_ns;
    protozero::pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case field::tid: tid = reader.get_uint32(); break;
            case field::trace_id:
                span.trace_id = interned(view_of(reader.get_view()), max_text_bytes, trace);
                break;
            case field::span_id:
                span.span_id = interned(view_of(reader.get_view()), max_text_bytes, trace);
                break;
            case field::attribute:
                if (span.attributes.size() < max_attributes)
                    span.attributes.push_back(attribute_in(reader.get_view(), trace));
                else
                    reader.skip();
                break;
            default: reader.skip();
        }
    }
    ++trace.records;
    const bool has_ids = is_id(trace.names[span.trace_id], trace_id_digits) &&
                         is_id(trace.names[span.span_id], span_id_digits);
    if (tid == 0 || tid >= tid_limit || (span.trace_id != 0 && !has_ids)) {
        ++trace.unreadable;
        return;
    }
    trace.spans[tid].push_back(std::move(span));
}

}  // namespace lagtrap::analysis
