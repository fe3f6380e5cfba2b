// Messages for people. Libraries pass them on; the program writes them.
#pragma once

#include <functional>
#include <string>
#include <utility>

namespace lagtrap {

class Log {
  public:
    enum class Level { Information, Warning };
    using Write = std::function<void(Level level, const std::string& text)>;

    // `write` may be called on any thread that uses the log. Without it, messages are dropped.
    explicit Log(Write write = {}) : write_(std::move(write)) {}

    void inform(const std::string& text) const { write(Level::Information, text); }
    void warn(const std::string& text) const { write(Level::Warning, text); }
    void write(Level level, const std::string& text) const {
        if (write_) write_(level, text);
    }

  private:
    Write write_;
};

}  // namespace lagtrap
