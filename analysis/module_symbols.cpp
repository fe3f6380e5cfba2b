#include "analysis/module_symbols.hpp"

#include <utility>

#include <protozero/pbf_reader.hpp>

#include "analysis/interning.hpp"
#include "analysis/trace_fields.hpp"

namespace lagtrap::analysis {

namespace {

constexpr std::size_t build_id_limit_bytes = 64;
constexpr std::size_t functions_of_place_limit = 64;
constexpr std::size_t places_limit = 4'000'000;

NameId name_of(protozero::data_view text, RawTrace& trace) {
    return interned(view_of(text), name_length_limit, trace);
}

LaterSymbol read_line(protozero::data_view message, RawTrace& trace) {
    LaterSymbol symbol;
    protozero::pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case fields::module_symbols::of_line::function:
                symbol.function = name_of(reader.get_view(), trace);
                break;
            case fields::module_symbols::of_line::source:
                symbol.source = name_of(reader.get_view(), trace);
                break;
            case fields::module_symbols::of_line::line: symbol.line = reader.get_uint32(); break;
            default: reader.skip();
        }
    }
    if (symbol.source == 0) symbol.line = 0;
    return symbol;
}

void add_place(protozero::data_view message, ModulePlace place, RawTrace& trace) {
    std::vector<LaterSymbol> symbols;
    protozero::pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case fields::module_symbols::of_address::address:
                place.offset = reader.get_uint64();
                break;
            case fields::module_symbols::of_address::lines: {
                const auto line = reader.get_view();
                if (symbols.size() == functions_of_place_limit) {
                    ++trace.unreadable;
                    break;
                }
                symbols.push_back(read_line(line, trace));
                ++trace.records;
                break;
            }
            default: reader.skip();
        }
    }
    ++trace.records;
    if (symbols.empty()) return;
    if (trace.later_symbols.size() >= places_limit && !trace.later_symbols.contains(place)) {
        ++trace.unreadable;
        return;
    }
    trace.later_symbols[place] = std::move(symbols);
}

// What replaces a frame in the stacks: itself, or the frames of all functions at its place,
// outermost first.
class Replacements {
  public:
    explicit Replacements(RawTrace& trace) : trace_(trace), ranges_(trace.frames.size()) {
        for (std::uint32_t id = 0; id < ranges_.size(); ++id) {
            const auto symbols = trace.later_symbols.find(ModulePlace{
                trace.frames[id].module, trace.frames[id].build_id, trace.frames[id].offset});
            if (trace.frames[id].source == 0 && symbols != trace.later_symbols.end())
                replace(id, symbols->second);
        }
    }

    void append(std::uint32_t id, std::vector<std::uint32_t>& frames) const {
        frames.push_back(id);
        for (std::uint32_t more = 0; more < ranges_[id].count; ++more)
            frames.push_back(ranges_[id].first + more);
    }

  private:
    struct Range {
        std::uint32_t first = 0;
        std::uint32_t count = 0;
    };

    void replace(std::uint32_t id, const std::vector<LaterSymbol>& symbols) {
        ranges_[id] = {static_cast<std::uint32_t>(trace_.frames.size()),
                       static_cast<std::uint32_t>(symbols.size() - 1)};
        const Frame known = trace_.frames[id];
        for (auto symbol = symbols.rbegin(); symbol != symbols.rend(); ++symbol) {
            const bool outermost = symbol == symbols.rbegin();
            Frame frame = known;
            frame.source = symbol->source;
            frame.line = symbol->line;
            if (symbol->function != 0) {
                frame.label = symbol->function;
                frame.named = true;
            } else if (!outermost) {  // the outermost keeps its previous name
                frame.label = trace_.intern(module_label(trace_.names[known.module]));
                frame.named = false;
            }
            if (outermost) {
                trace_.frames[id] = frame;
            } else {
                trace_.frames.push_back(frame);
            }
        }
        trace_.records += symbols.size();
    }

    RawTrace& trace_;
    std::vector<Range> ranges_;
};

}  // namespace

std::string module_label(std::string_view path) {
    if (path.empty() || path == "[unknown]") return "[unknown]";
    if (path.front() == '[') return std::string(path);
    return "[" + std::string(path.substr(path.rfind('/') + 1)) + "]";
}

std::string build_id_text(std::string_view bytes) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    if (bytes.size() > build_id_limit_bytes) return text;
    for (const char byte : bytes) {
        text += digits[static_cast<unsigned char>(byte) >> 4];
        text += digits[static_cast<unsigned char>(byte) & 15];
    }
    return text;
}

void add_module_symbols(protozero::data_view message, RawTrace& trace) {
    ModulePlace place;
    std::vector<protozero::data_view> addresses;
    protozero::pbf_reader reader(message);
    while (reader.next() && !trace.too_large()) {
        switch (reader.tag_and_type()) {
            case fields::module_symbols::path:
                place.module = name_of(reader.get_view(), trace);
                break;
            case fields::module_symbols::build_id:
                place.build_id = trace.intern(build_id_text(view_of(reader.get_view())));
                break;
            case fields::module_symbols::address_symbols:
                addresses.push_back(reader.get_view());
                ++trace.records;
                break;
            default: reader.skip();
        }
    }
    for (const auto& address : addresses) {
        if (trace.too_large()) return;
        add_place(address, place, trace);
    }
}

void apply_module_symbols(RawTrace& trace) {
    if (trace.later_symbols.empty()) return;
    const Replacements replacements(trace);
    trace.later_symbols.clear();
    std::vector<std::uint32_t> frames;
    frames.reserve(trace.stack_frames.size());
    std::size_t begin = 0;
    for (std::size_t stack = 1; stack < trace.stack_ends.size(); ++stack) {
        const std::size_t end = trace.stack_ends[stack];
        for (; begin < end && !trace.too_large(); ++begin) {
            const std::size_t before = frames.size();
            replacements.append(trace.stack_frames[begin], frames);
            trace.records += frames.size() - before - 1;
        }
        trace.stack_ends[stack] = static_cast<std::uint32_t>(frames.size());
    }
    trace.stack_frames = std::move(frames);
}

}  // namespace lagtrap::analysis
