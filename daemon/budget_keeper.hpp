// Keeps lagtrapd within its budgets of CPU time and memory: checks the cost regularly and carries
// out what the budgets decide. Runs on the io_context's only thread.
#pragma once

#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "core/log.hpp"
#include "daemon/budget/memory_watch.hpp"
#include "daemon/budget/overhead_watch.hpp"
#include "daemon/capture/capture_controller.hpp"
#include "daemon/unwinding/unwinder.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

class BudgetKeeper {
  public:
    // `controller` and `unwinder` must outlive it. Begins to check memory, of this process's group.
    BudgetKeeper(boost::asio::io_context& context, CaptureController& controller,
                 Unwinder& unwinder, const Log& log);

    // Begins to check the cost of `monitor`, which must live until the next use() or stop().
    void use(const settings::Budget& budget, EventMonitor& monitor);
    void stop();

    [[nodiscard]] const OverheadWatch& overhead() const { return overhead_; }
    [[nodiscard]] MemoryStatus memory() const { return memory_.status(); }
    // One sentence for each part that is disabled now.
    [[nodiscard]] std::vector<std::string> disabled_now() const;

  private:
    void look_at_overhead();
    void await_overhead();
    void look_at_memory();

    CaptureController& controller_;
    Unwinder& unwinder_;
    OverheadWatch overhead_;
    MemoryWatch memory_;
    MemoryHolds held_;
    boost::asio::steady_timer overhead_timer_;
    boost::asio::steady_timer memory_timer_;
};

}  // namespace lagtrap::daemon
