#include "cli/programs/tracepoint_list.hpp"

#include <fnmatch.h>

#include <boost/json.hpp>

#include "core/text.hpp"
#include "settings/marker_text.hpp"

namespace lagtrap::cli {
namespace {

bool matches(const std::string& name, const std::string& pattern) {
    if (pattern.find_first_of("*?[") == std::string::npos)
        return name.find(pattern) != std::string::npos;
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

std::string fields_note(const Tracepoint& tracepoint) {
    if (tracepoint.numbers.empty()) return "no field can be a key";
    std::string list;
    for (const std::string& field : tracepoint.numbers)
        list += (list.empty() ? "key: " : ", ") + field;
    return list;
}

}  // namespace

std::vector<Tracepoint> tracepoints_like(const settings::TraceFs& tracefs,
                                         const std::string& pattern) {
    std::vector<Tracepoint> found;
    for (const std::string& category : tracefs.categories()) {
        for (const std::string& name : tracefs.names(category)) {
            if (!matches(category + ":" + name, pattern)) continue;
            // Some folders describe records of the tracer itself, which have no id.
            if (!tracefs.tracepoint_id(category, name)) continue;
            Tracepoint tracepoint{category, name, {}};
            const auto fields = tracefs.fields(category, name);
            for (const auto& field : fields ? *fields : std::vector<settings::TracepointField>{})
                if (field.number) tracepoint.numbers.push_back(field.name);
            found.push_back(std::move(tracepoint));
        }
    }
    return found;
}

std::string tracepoints_text(const std::vector<Tracepoint>& tracepoints) {
    std::string text;
    for (const Tracepoint& tracepoint : tracepoints) {
        const auto element = settings::tracepoint_element(tracepoint.category, tracepoint.name);
        const std::string note = printable(fields_note(tracepoint));
        text += element ? *element + "  " + settings::xml_comment(note)
                        : settings::xml_comment(tracepoint.category + ":" + tracepoint.name +
                                                ": not available: the settings cannot name it");
        text += "\n";
    }
    return text;
}

boost::json::array tracepoints_json(const std::vector<Tracepoint>& tracepoints) {
    boost::json::array list;
    for (const Tracepoint& tracepoint : tracepoints) {
        boost::json::array fields;
        for (const std::string& field : tracepoint.numbers)
            fields.push_back(boost::json::string(printable(field)));
        list.push_back(boost::json::object{{"category", printable(tracepoint.category)},
                                           {"name", printable(tracepoint.name)},
                                           {"numbers", std::move(fields)}});
    }
    return list;
}

}  // namespace lagtrap::cli
