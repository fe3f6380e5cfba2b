// The server starts itself again to read bundles. As the server of its tests, this program is
// started like that too.
#include <unistd.h>

#include <string_view>

#include <gtest/gtest.h>

#include "core/files.hpp"
#include "server/ingest/parse_worker.hpp"

namespace lagtrap::server::parse_worker_program {
namespace {

constexpr std::string_view option = "--parse-worker";

// The second argument, if the first is the option; empty otherwise.
std::string worker_task() {
    const auto line = read_file("/proc/self/cmdline", 4096);
    if (!line) return {};
    const std::string_view all = *line;
    const std::string_view first = all.substr(std::min(all.find('\0'), all.size() - 1) + 1);
    if (!first.starts_with(option) || first.size() <= option.size() + 1) return {};
    const std::string_view task = first.substr(option.size() + 1);
    return std::string(task.substr(0, task.find('\0')));
}

// GoogleTest calls it before it prints anything.
class WorkerInstead final : public testing::EmptyTestEventListener {
  public:
    void OnTestProgramStart(const testing::UnitTest&) override {
        const std::string task = worker_task();
        if (!task.empty()) ::_exit(run_parse_worker(task));
    }
};

const bool listens = [] {
    testing::UnitTest::GetInstance()->listeners().Append(new WorkerInstead);
    return true;
}();

}  // namespace
}  // namespace lagtrap::server::parse_worker_program
