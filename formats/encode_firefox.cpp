#include <cctype>
#include <map>
#include <tuple>
#include <utility>

#include "formats/encoders.hpp"
#include "formats/text_pieces.hpp"

namespace lagtrap::formats {

namespace {

constexpr std::string_view categories =
    R"([{"name":"Other","color":"grey","subcategories":["Other"]},)"
    R"({"name":"User","color":"yellow","subcategories":["Other"]},)"
    R"({"name":"Kernel","color":"orange","subcategories":["Other"]},)"
    R"({"name":"Waiting for a CPU","color":"red","subcategories":["Other"]},)"
    R"({"name":"Blocked","color":"blue","subcategories":["Other"]},)"
    R"({"name":"Unknown","color":"transparent","subcategories":["Other"]}])";

constexpr std::string_view marker_schema =
    R"([{"name":"Run","tableLabel":"{marker.data.event} {marker.name}",)"
    R"("chartLabel":"{marker.name}","tooltipLabel":"{marker.name}",)"
    R"("display":["marker-chart","marker-table","timeline-overview"],)"
    R"("fields":[{"key":"event","label":"Event","format":"string"},)"
    R"({"key":"delay","label":"Over its threshold","format":"string"}]}])";

int category_of(const Place& place) {
    if (!place.state) return place.kernel ? 2 : 1;
    if (place.function.starts_with("blocked")) return 4;
    if (place.function.starts_with("waits")) return 3;
    return place.function.starts_with("unknown") ? 5 : 1;
}

// The build id in the form of the profiler's symbol server: its first 16 bytes as a GUID, and an
// age of 0.
std::string breakpad_id(const std::string& build_id) {
    if (build_id.size() < 32) return {};
    std::string id;
    for (const unsigned byte : {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15})
        id += build_id.substr(2 * byte, 2);
    for (char& c : id) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return id + '0';
}

// A column of a table, as a JSON array.
class Column {
  public:
    void add(std::string_view json) {
        if (length_++ > 0) text_ += ',';
        text_ += json;
    }
    void add(std::uint64_t number) { add(std::to_string(number)); }
    [[nodiscard]] std::string json() const { return "[" + text_ + "]"; }
    [[nodiscard]] std::size_t length() const { return length_; }

  private:
    std::string text_;
    std::size_t length_ = 0;
};

std::string repeated(std::string_view json, std::size_t count) {
    Column column;
    for (std::size_t i = 0; i < count; ++i) column.add(json);
    return column.json();
}

class FirefoxProfile {
  public:
    explicit FirefoxProfile(const StackProfile& profile) : profile_(profile) {}

    std::string write() {
        // Writing tables and threads collects the strings that "stringArray" then lists.
        const std::string tables = frame_tables() + ",\"stackTable\":" + stack_table();
        std::string threads;
        for (const ProfiledThread& thread : profile_.threads)
            threads += (threads.empty() ? "" : ",") + thread_json(thread);
        return "{\"meta\":" + meta() + ",\"libs\":" + libs_.json() +
               ",\"pages\":[],\"counters\":[],\"shared\":{" + tables +
               ",\"stringArray\":" + strings_json_.json() + "},\"threads\":[" + threads + "]}\n";
    }

  private:
    std::size_t string(const std::string& text) {
        const auto [known, added] = strings_.try_emplace(text, strings_.size());
        if (added) strings_json_.add(json_string(text));
        return known->second;
    }

    [[nodiscard]] std::string meta() const {
        return "{\"interval\":" + decimal(profile_.sample_interval_ns, 6) +
               ",\"startTime\":" + decimal(profile_.realtime_ns, 6) +
               ",\"processType\":0,\"product\":" + json_string("lagtrap: " + profile_.title) +
               ",\"stackwalk\":1,\"debug\":0,\"version\":24,\"preprocessedProfileVersion\":60,"
               "\"symbolicated\":true,"
               "\"importedFrom\":\"lagtrap " LAGTRAP_VERSION "\",\"oscpu\":" +
               json_string(profile_.system) +
               ",\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
               "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},"
               "\"extensions\":{\"baseURL\":[],\"id\":[],\"name\":[],\"length\":0},"
               "\"categories\":" +
               std::string(categories) + ",\"markerSchema\":" + std::string(marker_schema) + "}";
    }

    // One frame per place, one function per name in a module, one resource and one library per
    // module.
    std::string frame_tables() {
        struct Known {
            Column address, category, func, line, func_name, func_resource, func_source, func_line,
                resource_lib, resource_name, source_name;
        } table;
        std::map<std::tuple<std::string, std::string, std::string>, std::size_t> functions;
        std::map<std::pair<std::string, std::string>, std::size_t> modules;
        std::map<std::string, std::size_t> sources;
        for (const Place& place : profile_.places) {
            const auto [function, new_function] = functions.try_emplace(
                {place.function, place.module, place.source}, functions.size());
            if (new_function) {
                table.func_name.add(string(place.function));
                if (place.module.empty()) {
                    table.func_resource.add("-1");
                } else {
                    const auto [module, new_module] =
                        modules.try_emplace({place.module, place.build_id}, modules.size());
                    if (new_module) {
                        add_library(place);
                        table.resource_lib.add(module->second);
                        table.resource_name.add(string(std::string(file_name(place.module))));
                    }
                    table.func_resource.add(module->second);
                }
                if (place.source.empty()) {
                    table.func_source.add("null");
                } else {
                    const auto [source, new_source] =
                        sources.try_emplace(place.source, sources.size());
                    if (new_source) table.source_name.add(string(place.source));
                    table.func_source.add(source->second);
                }
            }
            table.func.add(function->second);
            // The format's addresses have 32 bits.
            if (place.offset == 0 || place.offset > INT32_MAX) {
                table.address.add("-1");
            } else {
                table.address.add(place.offset);
            }
            table.category.add(static_cast<std::uint64_t>(category_of(place)));
            table.line.add(place.line != 0 ? std::to_string(place.line) : "null");
        }
        const std::size_t frames = profile_.places.size(), funcs = functions.size(),
                          files = modules.size();
        return "\"frameTable\":{\"address\":" + table.address.json() +
               ",\"inlineDepth\":" + repeated("0", frames) +
               ",\"category\":" + table.category.json() +
               ",\"subcategory\":" + repeated("0", frames) + ",\"func\":" + table.func.json() +
               ",\"nativeSymbol\":" + repeated("null", frames) +
               ",\"innerWindowID\":" + repeated("null", frames) + ",\"line\":" + table.line.json() +
               ",\"column\":" + repeated("null", frames) + ",\"length\":" + std::to_string(frames) +
               "},\"funcTable\":{\"name\":" + table.func_name.json() +
               ",\"isJS\":" + repeated("false", funcs) +
               ",\"relevantForJS\":" + repeated("false", funcs) +
               ",\"resource\":" + table.func_resource.json() +
               ",\"source\":" + table.func_source.json() +
               ",\"lineNumber\":" + repeated("null", funcs) +
               ",\"columnNumber\":" + repeated("null", funcs) +
               ",\"length\":" + std::to_string(funcs) +
               "},\"resourceTable\":{\"lib\":" + table.resource_lib.json() +
               ",\"name\":" + table.resource_name.json() + ",\"host\":" + repeated("null", files) +
               ",\"type\":" + repeated("1", files) + ",\"length\":" + std::to_string(files) +
               "},\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[]"
               ",\"length\":0}," +
               "\"sources\":{\"uuid\":" + repeated("null", sources.size()) +
               ",\"filename\":" + table.source_name.json() +
               ",\"length\":" + std::to_string(sources.size()) + "}";
    }

    void add_library(const Place& place) {
        const std::string name = json_string(file_name(place.module));
        const std::string path = json_string(place.module);
        libs_.add("{\"arch\":\"x86_64\",\"name\":" + name + ",\"path\":" + path +
                  ",\"debugName\":" + name + ",\"debugPath\":" + path +
                  ",\"breakpadId\":" + json_string(breakpad_id(place.build_id)) + ",\"codeId\":" +
                  (place.build_id.empty() ? "null" : json_string(place.build_id)) + "}");
    }

    // Omits node 0, the empty stack, so indexes are one less.
    [[nodiscard]] std::string stack_table() const {
        Column prefix, frame;
        for (std::size_t i = 1; i < profile_.nodes.size(); ++i) {
            const StackNode& node = profile_.nodes[i];
            prefix.add(node.parent == 0 ? "null" : std::to_string(node.parent - 1));
            frame.add(node.place);
        }
        return "{\"prefix\":" + prefix.json() + ",\"frame\":" + frame.json() +
               ",\"length\":" + std::to_string(frame.length()) + "}";
    }

    std::string thread_json(const ProfiledThread& thread) {
        Column stack, time, weight;
        for (const Piece& piece : thread.pieces) {
            if (piece.weight_ns == 0) continue;
            stack.add(piece.leaf - 1);
            time.add(decimal(piece.begin_ns, 6));
            weight.add(decimal(piece.weight_ns, 6));
        }
        return "{\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
               "\"registerTime\":0,"
               "\"unregisterTime\":null,\"pausedRanges\":[],\"isMainThread\":" +
               std::string(thread.pid == thread.tid ? "true" : "false") +
               ",\"name\":" + json_string(thread.name) +
               ",\"processName\":" + json_string(thread.process) + ",\"pid\":\"" +
               std::to_string(thread.pid) + "\",\"tid\":" + std::to_string(thread.tid) +
               ",\"showMarkersInTimeline\":true,\"samples\":{\"stack\":" + stack.json() +
               ",\"time\":" + time.json() + ",\"weight\":" + weight.json() +
               ",\"weightType\":\"tracing-ms\",\"length\":" + std::to_string(stack.length()) +
               "},\"markers\":" + markers_json(thread) + "}";
    }

    std::string markers_json(const ProfiledThread& thread) {
        Column data, name, start, end, phase, category;
        for (const Span& span : profile_.spans) {
            if (span.tid != thread.tid) continue;
            data.add("{\"type\":\"Run\",\"event\":" + json_string(span.event) +
                     ",\"delay\":" + (span.delay ? "\"yes\"" : "\"no\"") + "}");
            name.add(string(span.name));
            start.add(decimal(span.begin_ns, 6));
            end.add(decimal(span.begin_ns + span.length_ns, 6));
            phase.add("1");
            category.add("0");
        }
        return "{\"data\":" + data.json() + ",\"name\":" + name.json() +
               ",\"startTime\":" + start.json() + ",\"endTime\":" + end.json() +
               ",\"phase\":" + phase.json() + ",\"category\":" + category.json() +
               ",\"length\":" + std::to_string(name.length()) + "}";
    }

    const StackProfile& profile_;
    std::map<std::string, std::size_t> strings_;
    Column strings_json_, libs_;
};

}  // namespace

std::string encode_firefox(const StackProfile& profile) { return FirefoxProfile(profile).write(); }

}  // namespace lagtrap::formats
