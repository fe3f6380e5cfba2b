#include "core/program_log.hpp"

#include <cstdlib>
#include <memory>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace lagtrap {
namespace {

// Writes "<3>" to "<7>": the priority of a line, as the journal reads it from standard error.
class PriorityFlag : public spdlog::custom_flag_formatter {
  public:
    void format(const spdlog::details::log_msg& message, const std::tm&,
                spdlog::memory_buf_t& line) override {
        line.push_back('<');
        line.push_back(digit(message.level));
        line.push_back('>');
    }
    [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
        return spdlog::details::make_unique<PriorityFlag>();
    }

  private:
    static char digit(spdlog::level::level_enum level) {
        if (level >= spdlog::level::critical) return '2';
        if (level == spdlog::level::err) return '3';
        if (level == spdlog::level::warn) return '4';
        return level == spdlog::level::info ? '6' : '7';
    }
};

}  // namespace

void start_program_log() {
    auto logger =
        std::make_shared<spdlog::logger>("log", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    if (std::getenv("JOURNAL_STREAM") != nullptr) {
        formatter->add_flag<PriorityFlag>('*').set_pattern("%*%v");
    } else {
        formatter->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l: %v");
    }
    logger->set_formatter(std::move(formatter));
    logger->flush_on(spdlog::level::trace);
    spdlog::set_default_logger(std::move(logger));
}

}  // namespace lagtrap
