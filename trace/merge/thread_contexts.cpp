#include "trace/merge/thread_contexts.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "core/text.hpp"

namespace lagtrap::trace {
namespace {

using protozero::pbf_writer;

template <std::size_t size>
std::string_view bytes_of(const __u8 (&bytes)[size]) {
    return {reinterpret_cast<const char*>(bytes), size};
}

bool is_zero(std::string_view bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](char one) { return one == 0; });
}

TraceContext trace_in(const lagtrap_context& record) {
    const std::string_view trace = bytes_of(record.trace_id), span = bytes_of(record.span_id);
    if (is_zero(trace) || is_zero(span)) return {};
    return {hexadecimal(trace), hexadecimal(span)};
}

// Calls visit(key, value) for each attribute, up to the first incomplete one.
template <typename Visit>
void for_each_attribute(std::string_view bytes, Visit&& visit) {
    constexpr std::size_t head_bytes = 2;
    while (bytes.size() >= head_bytes) {
        const auto key = static_cast<std::uint8_t>(bytes[0]);
        const auto value_bytes = static_cast<std::uint8_t>(bytes[1]);
        bytes.remove_prefix(head_bytes);
        if (value_bytes > bytes.size()) return;
        visit(key, bytes.substr(0, value_bytes));
        bytes.remove_prefix(value_bytes);
    }
}

}  // namespace

void ThreadContexts::take(const lagtrap_context_keys& record) {
    if (keys_.size() >= processes_limit && !keys_.contains(record.pid)) return;
    std::string_view texts(reinterpret_cast<const char*>(&record + 1), record.text_bytes);
    std::vector<std::string>& keys = keys_[record.pid];
    keys.clear();
    while (!texts.empty()) {
        const std::size_t end = std::min(texts.find('\0'), texts.size());
        keys.push_back(printable(texts.substr(0, end)));
        texts.remove_prefix(std::min(end + 1, texts.size()));
    }
}

void ThreadContexts::take(const lagtrap_context& record) {
    if (contexts_ >= contexts_limit) return;
    ++contexts_;
    seen_[record.tid].push_back({record.header.at_ns, trace_in(record)});
}

std::vector<ContextAttribute> ThreadContexts::attributes_of(const lagtrap_context& record) const {
    std::vector<ContextAttribute> attributes;
    const auto keys = keys_.find(record.pid);
    if (keys == keys_.end()) return attributes;
    const std::string_view bytes(reinterpret_cast<const char*>(&record + 1),
                                 record.attribute_bytes);
    for_each_attribute(bytes, [&](std::uint8_t key, std::string_view value) {
        if (key >= keys->second.size() || keys->second[key].empty()) return;
        const std::string& name = keys->second[key];
        const auto known = std::find_if(attributes.begin(), attributes.end(),
                                        [&](const auto& one) { return one.name == name; });
        // The last value of a name counts.
        if (known != attributes.end())
            known->value = printable(value);
        else
            attributes.push_back({name, printable(value)});
    });
    return attributes;
}

TraceContext ThreadContexts::trace_of(std::uint32_t tid, std::uint64_t begin_ns,
                                      std::uint64_t end_ns) const {
    const auto seen = seen_.find(tid);
    if (seen == seen_.end()) return {};
    struct Time {
        std::uint64_t ns = 0;
        const TraceContext* trace = nullptr;
    };
    std::map<std::string_view, Time> times;
    for (auto one = seen->second.begin(); one != seen->second.end(); ++one) {
        const auto next = std::next(one);
        const std::uint64_t until_ns = next == seen->second.end() ? end_ns : next->at_ns;
        const std::uint64_t from_ns = std::max(one->at_ns, begin_ns);
        if (one->at_ns > end_ns || until_ns < from_ns || one->trace.trace_id.empty()) continue;
        Time& time = times[one->trace.trace_id];
        // Even what was seen only at the end counts.
        time.ns += std::min(until_ns, end_ns) - from_ns + 1;
        time.trace = &one->trace;
    }
    const auto most =
        std::max_element(times.begin(), times.end(),
                         [](const auto& a, const auto& b) { return a.second.ns < b.second.ns; });
    return most == times.end() ? TraceContext{} : *most->second.trace;
}

void write_context(const lagtrap_context& record, const std::vector<ContextAttribute>& attributes,
                   std::uint64_t at_ns, PacketWriter& writer) {
    namespace field = perfetto::lagtrap_context;
    writer.packet(cpu_sequence(record.header.cpu), at_ns, UsesInterning::No,
                  [&](pbf_writer& packet) {
                      pbf_writer context(packet, perfetto::trace_packet::lagtrap_context);
                      context.add_uint32(field::tid, record.tid);
                      const TraceContext trace = trace_in(record);
                      if (trace.trace_id.empty()) return;
                      context.add_string(field::trace_id, trace.trace_id);
                      context.add_string(field::span_id, trace.parent_span_id);
                      for (const ContextAttribute& attribute : attributes) {
                          pbf_writer one(context, field::attribute);
                          one.add_string(field::name, attribute.name);
                          one.add_string(field::value, attribute.value);
                      }
                  });
}

}  // namespace lagtrap::trace
