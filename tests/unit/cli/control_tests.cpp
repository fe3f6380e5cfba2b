#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/console/name_column.hpp"
#include "cli/status/status_events.hpp"
#include "core/unique_fd.hpp"
#include "tests/unit/cli/cli_test.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::control_tests {
namespace {

// A daemon's socket that accepts one connection, keeps the request, and sends the given answer.
class OneAnswer {
  public:
    OneAnswer(const std::string& path, std::string answer) : answer_(std::move(answer)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
        listening_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(::bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)),
                  0);
        EXPECT_EQ(::listen(listening_.get(), 1), 0);
        thread_ = std::thread([this] { serve(); });
    }
    ~OneAnswer() { thread_.join(); }
    [[nodiscard]] const std::string& request() const { return request_; }

  private:
    void serve() {
        const UniqueFd peer(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        char letter = 0;
        while (::recv(peer.get(), &letter, 1, 0) == 1 && letter != '\n') request_ += letter;
        std::string_view left = answer_;
        while (!left.empty()) {
            const ssize_t size = ::send(peer.get(), left.data(), left.size(), MSG_NOSIGNAL);
            if (size <= 0) return;
            left.remove_prefix(static_cast<std::size_t>(size));
        }
    }

    std::string answer_;
    std::string request_;
    UniqueFd listening_;
    std::thread thread_;
};

std::string data_file(const std::string& name) {
    std::ifstream file(test_data_folder() + "/cli/" + name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

test::Outcome ask(std::vector<std::string> arguments, const std::string& answer,
                  std::string* request = nullptr) {
    const test::TemporaryFolder folder;
    const std::string path = folder.string("socket");
    test::Outcome outcome;
    {
        const OneAnswer daemon(path, answer);
        arguments.insert(arguments.end(), {"--socket", path});
        outcome = test::run_lagtrap(arguments);
        // The request was complete before the answer was sent, and the answer before the command
        // ended.
        if (request != nullptr) *request = daemon.request();
    }
    return outcome;
}

TEST(Status, shows_events_and_problems) {
    std::string request;
    const auto outcome = ask({"status"}, data_file("status_answer.json"), &request);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(request, "{\"command\":\"status\"}");
    test::expect_text(outcome.out, "status.txt");
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
        const bool has_path = line.find(".lagtrap.tar.zst") != std::string::npos;
        EXPECT_TRUE(has_path || line.size() <= 80) << line;
    }
}

TEST(Status, says_for_whom_it_records) {
    const std::string answer =
        R"({"ok":true,"state":"recording","capture":{"session":"3f0c1c5e","event":null,)"
        R"("client":{"pid":812,"uid":4000000000},"seconds_left":2.75}})";  // a user without a name
    EXPECT_THAT(ask({"status"}, answer + "\n").out,
                testing::HasSubstr("recording for a client, process 812 of user 4000000000, 2.75 s "
                                   "left (session 3f0c1c5e)"));
}

TEST(Status, says_what_held_a_merge_up_and_who_holds_the_spool) {
    const auto shown = [](const std::string& fields) {
        return ask({"status"}, "{\"ok\":true," + fields + "}\n").out;
    };
    const std::string held_up = shown(
        R"("captures":{"done":3,"without_names":2,"set_aside":1},)"
        R"("merge_held_up":{"session":"s","path":"/proc/7/exe","user":4000000000})");  // a user
                                                                                       // without a
                                                                                       // name
    EXPECT_NE(held_up.find("2 without function names"), std::string::npos) << held_up;
    EXPECT_NE(held_up.find("1 set aside"), std::string::npos) << held_up;
    EXPECT_NE(
        held_up.find(
            "a merge timed out waiting for a file of user 4000000000\n              /proc/7/exe\n"),
        std::string::npos)
        << held_up;
    const std::string unknown = shown(R"("merge_held_up":{"session":"s","path":"/x","user":null})");
    EXPECT_NE(unknown.find("of user unknown"), std::string::npos) << unknown;
    const std::string spool =
        shown(R"("spool":{"problem":"process 17 of user 1000 holds /s/ready/.retention"})");
    EXPECT_NE(spool.find("spool       limits cannot be enforced: process 17 of user 1000"),
              std::string::npos)
        << spool;
}

TEST(Status, gives_the_answer_as_json) {
    const auto outcome = ask({"status", "--json"}, data_file("status_answer.json"));
    EXPECT_EQ(boost::json::parse(outcome.out), boost::json::parse(data_file("status_answer.json")));
}

TEST(Status, odd_answers_do_no_harm) {
    EXPECT_EQ(ask({"status"}, "{\"ok\":true}\n").code, 0);
    EXPECT_EQ(
        ask({"status"}, "{\"ok\":true,\"events\":[1,{\"name\":2,\"histogram\":{}}],\"cost\":[]}\n")
            .code,
        0);
    EXPECT_EQ(ask({"status"}, "{\"ok\":tr\x1b\n").err,
              "lagtrap: lagtrapd's answer is not a JSON object: \"{\"ok\":tr\\x1b\"\n");
    EXPECT_EQ(ask({"status"}, "").code, 1);
    EXPECT_EQ(ask({"status"}, std::string(100, '[')).code, 1);
    EXPECT_EQ(ask({"status"}, std::string(5 << 20, ' ')).err,
              "lagtrap: lagtrapd's answer is longer than 4 MiB\n");
}

// Every sample of one metric, with its labels.
std::map<std::string, std::string> samples_of(const std::string& metrics) {
    std::map<std::string, std::string> samples;
    std::istringstream lines(metrics);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("# ")) continue;
        const auto space = line.rfind(' ');
        EXPECT_TRUE(samples.emplace(line.substr(0, space), line.substr(space + 1)).second)
            << "twice: " << line;
    }
    return samples;
}

TEST(Status, names_whose_processes_were_held_to_their_share) {
    const auto outcome =
        ask({"status"},
            R"({"ok":true,"inspections":{"stuck":1,"problem":""},"limited_users":[)"
            R"({"uid":4000000000,"mappings_left_out":12345,"looks_held_up":2},1,{"uid":0}]})"
            "\n");
    EXPECT_THAT(outcome.out,
                testing::HasSubstr("  limited     1 inspection blocked by a file system"));
    EXPECT_THAT(outcome.out,
                testing::HasSubstr(
                    "4000000000: 12,345 mappings over the limit, 2 process inspections timed out"));
    EXPECT_THAT(ask({"status"}, "{\"ok\":true,\"limited_users\":[]}\n").out,
                testing::Not(testing::HasSubstr("limited")));
}

TEST(Metrics, are_the_figures_of_the_status) {
    const auto outcome = ask({"metrics"}, data_file("status_answer.json"));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    auto samples = samples_of(outcome.out);
    EXPECT_EQ(samples["lagtrap_event_delays_total{event=\"query\"}"], "4");
    EXPECT_EQ(samples["lagtrap_event_armed{event=\"frame\"}"], "0");
    EXPECT_EQ(samples["lagtrap_event_threshold_seconds{event=\"query\"}"], "0.05");
    EXPECT_EQ(samples["lagtrap_captures_total{outcome=\"skipped_cool_down\"}"], "2");
    EXPECT_EQ(samples["lagtrap_settings_error"], "1");
    EXPECT_EQ(samples["lagtrap_cpu_seconds_total"], "0.412");
    // Buckets of 0 to 1 ms, 1 to 2 ms and 256 to 512 ms: none is below 0.52 ms, one below 1.05 ms,
    // all below 0.54 s.
    const std::string bucket = "lagtrap_event_duration_seconds_bucket{event=\"query\",le=\"";
    EXPECT_EQ(samples[bucket + "0.000524288\"}"], "0");
    EXPECT_EQ(samples[bucket + "0.001048576\"}"], "1000000");
    EXPECT_EQ(samples[bucket + "0.002097152\"}"], "1234563");
    EXPECT_EQ(samples[bucket + "0.536870912\"}"], "1234567");
    EXPECT_EQ(samples[bucket + "+Inf\"}"],
              samples["lagtrap_event_duration_seconds_count{event=\"query\"}"]);
    EXPECT_EQ(samples["lagtrap_event_duration_seconds_sum{event=\"query\"}"], "853.3805");
}

TEST(Metrics, times_by_state_add_up) {
    auto samples = samples_of(
        ask({"metrics"},
            R"({"ok":true,"events":[{"name":"a","timed":{"ns":10000000000,"on_cpu_ns":2500000000,)"
            R"("runnable_ns":500000000}},{"name":"b"}]})"
            "\n")
            .out);
    const std::string time = "lagtrap_event_time_seconds_total{event=\"";
    EXPECT_EQ(samples[time + "a\",state=\"on_cpu\"}"], "2.5");
    EXPECT_EQ(samples[time + "a\",state=\"runnable\"}"], "0.5");
    EXPECT_EQ(samples[time + "a\",state=\"blocked\"}"], "7");
    EXPECT_EQ(samples[time + "b\",state=\"blocked\"}"], "0");
}

TEST(Metrics, delays_are_told_by_class) {
    auto samples = samples_of(ask({"metrics"},
                                  R"({"ok":true,"events":[{"name":"a","delays_mostly":{"on_cpu":2,)"
                                  R"("runnable":1,"blocked":[0,7,0,"x"]}},{"name":"b"}]})"
                                  "\n")
                                  .out);
    const std::string delays = "lagtrap_event_delays_by_class_total{event=\"";
    EXPECT_EQ(samples[delays + "a\",class=\"on a CPU\"}"], "2");
    EXPECT_EQ(samples[delays + "a\",class=\"for a CPU\"}"], "1");
    EXPECT_EQ(samples[delays + "a\",class=\"lock (futex)\"}"], "7");
    EXPECT_EQ(samples[delays + "a\",class=\"input\"}"], "0");
    EXPECT_EQ(samples[delays + "b\",class=\"disk\"}"], "0");
}

TEST(Metrics, processes_are_told_by_unit) {
    auto samples = samples_of(
        ask({"metrics"}, R"({"ok":true,"events":[{"name":"a","processes_by_unit":[)"
                         R"({"unit":"web.service","processes":3},{"unit":"","processes":1},7]}]})"
                         "\n")
            .out);
    EXPECT_EQ(samples["lagtrap_event_processes{event=\"a\",unit=\"web.service\"}"], "3");
    EXPECT_EQ(samples["lagtrap_event_processes{event=\"a\",unit=\"\"}"], "1");
}

TEST(Metrics, odd_answers_do_no_harm) {
    EXPECT_EQ(
        ask({"metrics"},
            "{\"ok\":true,\"events\":[1,{\"name\":\"a\\\"\\n\",\"histogram\":{}}],\"cost\":[]}\n")
            .code,
        0);
}

TEST(Status, says_how_to_start_the_daemon) {
    const test::TemporaryFolder folder;
    const std::string path = folder.string("socket");
    const auto outcome = test::run_lagtrap({"status", "--socket", path});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(
        outcome.err,
        "lagtrap: lagtrapd is not running: nothing listens at " + path +
            "; start it with \"systemctl start lagtrapd\", or name its socket with --socket\n");
    const auto too_long = test::run_lagtrap({"status", "--socket", "/" + std::string(200, 'x')});
    EXPECT_EQ(too_long.err, "lagtrap: the socket's path has 201 bytes; the limit is 107\n");
}

TEST(Control, sends_what_it_is_told) {
    std::string request;
    EXPECT_EQ(ask({"trigger", "query"}, "{\"ok\":true}\n", &request).out,
              "recording for query; \"lagtrap status\" shows when it is done\n");
    EXPECT_EQ(boost::json::parse(request),
              boost::json::parse(R"({"command":"trigger","event":"query"})"));
    EXPECT_EQ(ask({"approve"}, "{\"ok\":true}\n", &request).out,
              "approved: the recording is kept\n");
    EXPECT_EQ(request, "{\"command\":\"approve\"}");
    EXPECT_EQ(ask({"decline", "--json"}, "{\"ok\":true,\"event\":\"query\"}\n", &request).out,
              "{\"ok\":true,\"event\":\"query\"}\n");
    EXPECT_EQ(request, "{\"command\":\"decline\"}");
    const auto refused =
        ask({"approve"}, "{\"ok\":false,\"error\":\"no breach waits for an answer\"}\n");
    EXPECT_EQ(refused.code, 1);
    EXPECT_EQ(refused.err, "lagtrap: no breach waits for an answer\n");
    EXPECT_EQ(test::run_lagtrap({"trigger"}).code, 2);
}

// A histogram's bucket extends beyond the longest run.
TEST(StatusEvents, no_percentile_is_above_the_longest_run) {
    const boost::json::object answer{
        {"events",
         {{{"name", "query"},
           {"armed", true},
           {"runs", 100},
           {"delays", 0},
           {"threshold_ns", 1'000'000'000},
           {"max_ns", 33'000'000},
           {"histogram", {{{"from_ns", 32'000'000}, {"to_ns", 64'000'000}, {"count", 100}}}}}}}};
    const std::string text = cli::event_lines(answer, cli::Paint(false));
    const std::string row = text.substr(text.find("query"));
    EXPECT_THAT(row.substr(0, row.find('\n')), testing::EndsWith("33.0 ms  33.0 ms  33.0 ms"));
}

TEST(NameColumn, cuts_no_two_names_to_the_same_text) {
    using cli::distinct_names;
    EXPECT_EQ(distinct_names({"query", "fsync"}, 16), (std::vector<std::string>{"query", "fsync"}));
    EXPECT_EQ(distinct_names({"postgresql-checkpoint"}, 16),
              (std::vector<std::string>{"post...heckpoint"}));
    const std::vector<std::string> alike{"shop-a-request-of-customers",
                                         "shop-b-request-of-customers"};
    const std::vector<std::string> shown = distinct_names(alike, 12);
    EXPECT_NE(shown[0], shown[1]);
    EXPECT_EQ(distinct_names({"same-long-name", "same-long-name"}, 8).size(), 2);
    EXPECT_TRUE(distinct_names({}, 8).empty());
}

TEST(NameColumn, is_as_wide_as_its_names_and_a_space) {
    EXPECT_EQ(cli::NameColumn({"query"}, 16, 30).cell("query"), "query" + std::string(11, ' '));
    EXPECT_EQ(cli::NameColumn({"postgresql-checkpoint"}, 16, 30).cell("postgresql-checkpoint"),
              "postgresql-checkpoint ");
    EXPECT_EQ(cli::NameColumn({"postgresql-checkpoint"}, 16, 20).width(), 20);
}

// Names of presets: they share their first letters, and the table has room for them.
TEST(StatusEvents, long_names_stay_distinct_within_the_screen) {
    boost::json::array events;
    for (const char* name :
         {"postgresql-checkpoint", "postgresql-checkpoint-sync", "postgresql-execute"})
        events.push_back({{"name", name},
                          {"armed", true},
                          {"runs", 1'234'567},
                          {"delays", 12},
                          {"threshold_ns", 50'000'000},
                          {"max_ns", 312'000'000},
                          {"files", 1},
                          {"timed", {{"ns", 1'000'000'000}}}});
    const std::string text = cli::event_lines({{"events", std::move(events)}}, cli::Paint(false));
    EXPECT_THAT(text, testing::HasSubstr("\n  postgresql-checkpoint "));
    EXPECT_THAT(text, testing::HasSubstr("\n  postgresql-execute "));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80) << line;
}

}  // namespace
}  // namespace lagtrap::control_tests
