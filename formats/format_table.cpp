#include "formats/format_table.hpp"

#include <algorithm>
#include <array>

#include "formats/encoders.hpp"

namespace lagtrap::formats {

namespace {

constexpr std::array table{
    Format{"folded", "folded", "text/plain; charset=utf-8", "Folded stacks",
           "stacks with their microseconds, for flame graph programs", TimeChoice::OnCpu,
           encode_folded},
    Format{"pprof", "pb.gz", "application/gzip", "pprof",
           "profile for go tool pprof and what reads its format", TimeChoice::All, encode_pprof,
           true},
    Format{"speedscope", "speedscope.json", "application/json", "speedscope",
           "profile of each thread for speedscope", TimeChoice::All, encode_speedscope},
    Format{"firefox", "firefox.json", "application/json", "Firefox Profiler",
           "profile with runs as markers for the Firefox Profiler", TimeChoice::All,
           encode_firefox},
    Format{"chrome", "trace.json", "application/json", "Chrome trace",
           "JSON trace with calls as slices, for viewers of Chrome's traces", TimeChoice::All,
           encode_chrome},
    Format{"csv", "csv", "text/csv; charset=utf-8", "CSV",
           "table with a row for each piece of a thread's time", TimeChoice::All, encode_csv},
    Format{"perf", "perf.txt", "text/plain; charset=utf-8", "perf script",
           "text as perf script prints it, for scripts that read that", TimeChoice::OnCpu,
           encode_perf},
    Format{"otlp", "otlp.pb", "application/x-protobuf", "OTLP",
           "delays as spans with their causes, for OpenTelemetry", TimeChoice::All, nullptr, true,
           encode_otlp},
    Format{"pftrace", "pftrace", "application/octet-stream", "Perfetto trace",
           "the whole trace, for Perfetto", TimeChoice::All, nullptr, true},
    Format{"system", "xml", "application/xml", "System file",
           "system.xml: the delays, the machine, the quality of the recording", TimeChoice::All,
           nullptr},
};

}  // namespace

std::span<const Format> formats() { return table; }

const Format* find_format(std::string_view name) {
    const auto found = std::find_if(table.begin(), table.end(),
                                    [&](const Format& format) { return format.name == name; });
    return found == table.end() ? nullptr : &*found;
}

std::string_view word_of(TimeChoice time) {
    switch (time) {
        case TimeChoice::OnCpu: return "on-cpu";
        case TimeChoice::OffCpu: return "off-cpu";
        default: return "all";
    }
}

std::optional<TimeChoice> time_of_word(std::string_view word) {
    for (const TimeChoice time : {TimeChoice::All, TimeChoice::OnCpu, TimeChoice::OffCpu})
        if (word_of(time) == word) return time;
    return std::nullopt;
}

std::string list_formats() {
    std::size_t width = 0;
    for (const Format& format : table) width = std::max(width, format.name.size());
    std::string text;
    for (const Format& format : table)
        text.append(format.name)
            .append(width - format.name.size() + 2, ' ')
            .append(format.use)
            .append("\n");
    return text;
}

std::string manual_of_formats() {
    std::string text = ".Bl -tag -width speedscope -compact\n";
    for (const Format& format : table) {
        text.append(".It Cm ").append(format.name).append("\n").append(format.use);
        if (format.encode != nullptr && format.time == TimeChoice::OnCpu)
            text += "; on CPU if nothing else is chosen";
        text += "\n";
    }
    return text + ".El\n";
}

}  // namespace lagtrap::formats
