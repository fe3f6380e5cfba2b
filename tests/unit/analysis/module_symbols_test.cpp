#include "analysis/module_symbols.hpp"

#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include "trace/perfetto/perfetto_fields.hpp"

namespace lagtrap::analysis::module_symbols_test {
namespace {

namespace perfetto = trace::perfetto;
using protozero::pbf_writer;

struct Line {
    std::string function, source;
    std::uint32_t line = 0;
};

// A message about one place of /usr/bin/app, build id ab01; innermost function first.
std::string message_of(std::uint64_t address, const std::vector<Line>& lines) {
    std::string data;
    pbf_writer symbols(data);
    symbols.add_string(perfetto::module_symbols::path, "/usr/bin/app");
    symbols.add_bytes(perfetto::module_symbols::build_id, "\xab\x01");
    pbf_writer place(symbols, perfetto::module_symbols::address_symbols);
    place.add_uint64(perfetto::address_symbols::address, address);
    for (const Line& one : lines) {
        pbf_writer line(place, perfetto::address_symbols::lines);
        if (!one.function.empty())
            line.add_string(perfetto::symbol_line::function_name, one.function);
        if (!one.source.empty())
            line.add_string(perfetto::symbol_line::source_file_name, one.source);
        line.add_uint32(perfetto::symbol_line::line_number, one.line);
    }
    return data;
}

struct Trace {
    RawTrace raw;

    std::uint32_t frame(std::uint64_t offset, const std::string& source = "") {
        Frame made;
        made.module = raw.intern("/usr/bin/app");
        made.build_id = raw.intern("ab01");
        made.label = raw.intern("[app]");
        made.offset = offset;
        made.source = raw.intern(source);
        raw.frames.push_back(made);
        return static_cast<std::uint32_t>(raw.frames.size() - 1);
    }
    void stack(const std::vector<std::uint32_t>& frames) {
        raw.stack_frames.insert(raw.stack_frames.end(), frames.begin(), frames.end());
        raw.stack_ends.push_back(static_cast<std::uint32_t>(raw.stack_frames.size()));
    }
    void add(std::uint64_t address, const std::vector<Line>& lines) {
        const std::string data = message_of(address, lines);
        add_module_symbols(data, raw);
    }
    // "LABEL SOURCE:LINE", in parentheses if it has no name.
    std::vector<std::string> frames_of(std::size_t stack) const {
        std::vector<std::string> texts;
        for (std::size_t at = raw.stack_ends[stack - 1]; at < raw.stack_ends[stack]; ++at) {
            const Frame& frame = raw.frames[raw.stack_frames[at]];
            const std::string text = raw.names[frame.label] + " " + raw.names[frame.source] + ":" +
                                     std::to_string(frame.line);
            texts.push_back(frame.named ? text : "(" + text + ")");
        }
        return texts;
    }
};

using Texts = std::vector<std::string>;

TEST(ModuleSymbols, LabelAPlaceByItsFile) {
    EXPECT_EQ(module_label(""), "[unknown]");
    EXPECT_EQ(module_label("[unknown]"), "[unknown]");
    EXPECT_EQ(module_label("[vdso]"), "[vdso]");
    EXPECT_EQ(module_label("/usr/lib/libc.so.6"), "[libc.so.6]");
    EXPECT_EQ(module_label("app"), "[app]");
}

TEST(ModuleSymbols, ShowABuildIdOfAtMost64Bytes) {
    EXPECT_EQ(build_id_text("\xab\x01\xf0"), "ab01f0");
    EXPECT_EQ(build_id_text(std::string(64, '\x10')).size(), 128U);
    EXPECT_EQ(build_id_text(std::string(65, '\x10')), "");
}

TEST(ModuleSymbols, OfInlinedFunctionsBecomeFramesOutermostFirst) {
    Trace trace;
    const std::uint32_t first = trace.frame(0x10), other = trace.frame(0x20);
    trace.stack({other, first});
    trace.stack({first, first});
    trace.add(0x10, {{"inner", "a.h", 3}, {"outer", "b.cpp", 7}});
    apply_module_symbols(trace.raw);
    EXPECT_EQ(trace.frames_of(1), (Texts{"([app] :0)", "outer b.cpp:7", "inner a.h:3"}));
    EXPECT_EQ(trace.frames_of(2),
              (Texts{"outer b.cpp:7", "inner a.h:3", "outer b.cpp:7", "inner a.h:3"}));
    EXPECT_TRUE(trace.raw.later_symbols.empty());
    EXPECT_EQ(trace.raw.unreadable, 0U);
}

TEST(ModuleSymbols, LeaveAFrameWithASourceAndOtherFilesAlone) {
    Trace trace;
    const std::uint32_t known = trace.frame(0x10, "known.cpp"), file = trace.frame(0x10),
                        build = trace.frame(0x10);
    trace.raw.frames[file].module = trace.raw.intern("/usr/bin/other");
    trace.raw.frames[build].build_id = trace.raw.intern("ab02");
    trace.stack({known, file, build});
    trace.add(0x10, {{"f", "a.cpp", 3}});
    apply_module_symbols(trace.raw);
    EXPECT_EQ(trace.frames_of(1), (Texts{"([app] known.cpp:0)", "([app] :0)", "([app] :0)"}));
}

TEST(ModuleSymbols, WithoutAFunctionTheOutermostKeepsItsName) {
    Trace trace;
    const std::uint32_t named = trace.frame(0x10);
    trace.raw.frames[named].label = trace.raw.intern("main");
    trace.raw.frames[named].named = true;
    trace.stack({named});
    trace.add(0x10, {{"", "a.h", 3}, {"", "b.cpp", 7}});
    apply_module_symbols(trace.raw);
    EXPECT_EQ(trace.frames_of(1), (Texts{"main b.cpp:7", "([app] a.h:3)"}));
}

TEST(ModuleSymbols, TheLastOfAPlaceCountsAndALineNeedsASource) {
    Trace trace;
    trace.stack({trace.frame(0x10)});
    trace.add(0x10, {{"old", "a.cpp", 3}});
    trace.add(0x10, {{"new", "", 5}});
    trace.add(0x10, {});
    EXPECT_EQ(trace.raw.later_symbols.size(), 1U);
    apply_module_symbols(trace.raw);
    EXPECT_EQ(trace.frames_of(1), (Texts{"new :0"}));
}

TEST(ModuleSymbols, HaveAtMost64FunctionsAtAPlace) {
    Trace trace;
    trace.add(0x10, std::vector<Line>(64, {"f", "", 0}));
    EXPECT_EQ(trace.raw.unreadable, 0U);
    trace.add(0x20, std::vector<Line>(66, {"f", "", 0}));
    EXPECT_EQ(trace.raw.unreadable, 2U);
    for (const auto& [place, symbols] : trace.raw.later_symbols) EXPECT_EQ(symbols.size(), 64U);
}

}  // namespace
}  // namespace lagtrap::analysis::module_symbols_test
