#include "daemon/thresholds/history_file.hpp"

#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "core/files.hpp"

namespace lagtrap::daemon {
namespace {

namespace json = boost::json;

constexpr std::string_view format = "lagtrap-run-history";
constexpr std::uint64_t version = 1;
constexpr std::uint64_t file_bytes_limit = 32ULL << 20;
constexpr std::size_t name_bytes_limit = 255, captures_limit = 1000;

json::value runs_json(const EventRuns& runs) {
    json::array hours;
    for (const HourOfRuns& hour : runs.hours) {
        json::array counts;
        for (const BucketCount& count : hour.buckets) {
            counts.emplace_back(count.bucket);
            counts.emplace_back(count.runs);
        }
        hours.push_back({{"hour", hour.hour}, {"runs", std::move(counts)}});
    }
    return {{"identity", runs.identity}, {"since_ns", runs.since_ns}, {"hours", std::move(hours)}};
}

json::value state_json(const ThresholdState& state) {
    json::array captures;
    for (const std::uint64_t capture_ns : state.captures_ns) captures.emplace_back(capture_ns);
    return {{"rule", state.rule},
            {"base_ns", state.base_ns},
            {"base_hour", state.base_hour},
            {"raised_ns", state.raised_ns},
            {"raised_at_ns", state.raised_at_ns},
            {"captures_ns", std::move(captures)}};
}

// Reads the values; the first that is not as expected ends it.
class HistoryParser {
  public:
    [[nodiscard]] Result<StoredHistory> parse(const json::value& value) {
        const json::object& file = object_of(&value);
        if (good_ && text_in(file, "format") != format) good_ = false;
        if (!good_) return make_error(ErrorKind::Invalid, "it is no history of runs");
        if (const std::uint64_t found = number_in(file, "version"); found != version)
            return make_error(ErrorKind::Invalid, "its version is " + std::to_string(found) +
                                                      "; expected " + std::to_string(version));
        StoredHistory history;
        for (const json::value& one : list_in(file, "events", RunHistory::events_kept)) {
            const json::object& event = object_of(&one);
            const std::string name = text_in(event, "name");
            if (const json::value* threshold = event.if_contains("threshold"))
                history.thresholds[name] = state_of(object_of(threshold));
            history.runs[name] = runs_of(object_of(event.if_contains("runs")));
            if (!good_) return make_error(ErrorKind::Invalid, "an event in it is damaged");
        }
        if (!good_) return make_error(ErrorKind::Invalid, "it is damaged");
        return history;
    }

  private:
    [[nodiscard]] const json::object& object_of(const json::value* value) {
        static const json::object none;
        if (value != nullptr && value->is_object()) return value->get_object();
        good_ = false;
        return none;
    }

    [[nodiscard]] const json::array& list_in(const json::object& from, const char* name,
                                             std::size_t limit) {
        static const json::array none;
        const json::value* value = from.if_contains(name);
        if (value != nullptr && value->is_array() && value->get_array().size() <= limit)
            return value->get_array();
        good_ = false;
        return none;
    }

    [[nodiscard]] std::uint64_t number_of(const json::value* value) {
        if (value != nullptr && value->is_uint64()) return value->get_uint64();
        if (value != nullptr && value->is_int64() && value->get_int64() >= 0)
            return static_cast<std::uint64_t>(value->get_int64());
        good_ = false;
        return 0;
    }
    [[nodiscard]] std::uint64_t number_in(const json::object& from, const char* name) {
        return number_of(from.if_contains(name));
    }

    [[nodiscard]] std::string text_in(const json::object& from, const char* name) {
        const json::value* value = from.if_contains(name);
        if (value != nullptr && value->is_string() &&
            value->get_string().size() <= name_bytes_limit)
            return std::string(value->get_string());
        good_ = false;
        return {};
    }

    [[nodiscard]] EventRuns runs_of(const json::object& from) {
        EventRuns runs{text_in(from, "identity"), number_in(from, "since_ns"), {}};
        for (const json::value& one : list_in(from, "hours", RunHistory::hours_kept)) {
            const json::object& hour = object_of(&one);
            runs.hours.push_back({number_in(hour, "hour"), {}});
            const auto& hours = runs.hours;
            if (hours.size() > 1 && hours[hours.size() - 2].hour >= hours.back().hour)
                good_ = false;
            if (hours.back().hour > latest_hour) good_ = false;
            take_counts(list_in(hour, "runs", 2 * LAGTRAP_HISTOGRAM_BUCKETS),
                        runs.hours.back().buckets);
        }
        return runs;
    }

    void take_counts(const json::array& numbers, std::vector<BucketCount>& counts) {
        if (numbers.size() % 2 != 0) good_ = false;
        for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
            const std::uint64_t bucket = number_of(&numbers[i]), runs = number_of(&numbers[i + 1]);
            const bool in_order = counts.empty() || counts.back().bucket < bucket;
            if (bucket >= LAGTRAP_HISTOGRAM_BUCKETS || !in_order || runs > max_runs) good_ = false;
            if (!good_ || ++buckets_ > RunHistory::buckets_kept) return;
            counts.push_back({static_cast<std::uint32_t>(bucket), runs});
        }
    }

    [[nodiscard]] ThresholdState state_of(const json::object& from) {
        ThresholdState state;
        state.rule = text_in(from, "rule");
        state.base_ns = number_in(from, "base_ns");
        state.base_hour = number_in(from, "base_hour");
        state.raised_ns = number_in(from, "raised_ns");
        state.raised_at_ns = number_in(from, "raised_at_ns");
        constexpr auto longest = static_cast<std::uint64_t>(settings::max_threshold.count());
        if (state.base_ns > longest || state.raised_ns > longest || state.base_hour > latest_hour)
            good_ = false;
        if (state.raised_at_ns > latest_ns) good_ = false;
        for (const json::value& one : list_in(from, "captures_ns", captures_limit)) {
            state.captures_ns.push_back(number_of(&one));
            if (state.captures_ns.back() > latest_ns) good_ = false;
        }
        return state;
    }

    // No sum of two of them overflows.
    static constexpr std::uint64_t latest_ns = 1ULL << 62;
    static constexpr std::uint64_t latest_hour = latest_ns / RunHistory::hour_ns;
    static constexpr std::uint64_t max_runs = 1ULL << 50;

    bool good_ = true;
    std::size_t buckets_ = 0;
};

}  // namespace

std::string history_text(const std::map<std::string, EventRuns>& runs,
                         const std::map<std::string, ThresholdState>& thresholds) {
    json::array events;
    for (const auto& [name, of_event] : runs) {
        json::object event{{"name", name}, {"runs", runs_json(of_event)}};
        if (const auto state = thresholds.find(name); state != thresholds.end())
            event["threshold"] = state_json(state->second);
        events.push_back(std::move(event));
    }
    return json::serialize(json::object{
               {"format", format}, {"version", version}, {"events", std::move(events)}}) +
           "\n";
}

Result<StoredHistory> parse_history(std::string_view text) {
    json::parse_options options;
    options.max_depth = 8;
    boost::system::error_code failure;
    const json::value value = json::parse({text.data(), text.size()}, failure, {}, options);
    if (failure) return make_error(ErrorKind::Invalid, "it is not JSON: " + failure.message());
    return HistoryParser().parse(value);
}

std::filesystem::path history_file_of(const std::filesystem::path& spool) {
    return spool / ".run-history.json";
}

Result<StoredHistory> read_history(const std::filesystem::path& file) {
    const auto text = read_file(file, file_bytes_limit);
    if (!text && text.error().kind == ErrorKind::NotFound) return StoredHistory{};
    if (!text) return text.error();
    return parse_history(*text);
}

Status write_history(const std::filesystem::path& file, std::string_view text) {
    return write_file_durably(file, text, 0640);
}

}  // namespace lagtrap::daemon
