// Output of `lagtrap add`, and its reader's choice.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "cli/add/add_offers.hpp"
#include "cli/console/console.hpp"

namespace lagtrap::cli {

struct AddLook {
    Paint paint;
    std::size_t columns = 80;
};

// The first proposals, with what was measured in `time`. `asked_for` is the target as the user
// wrote it.
[[nodiscard]] std::string offers_text(const std::vector<Offer>& offers, const AddTarget& target,
                                      std::chrono::nanoseconds time, const std::string& asked_for,
                                      const AddLook& look);
// Why there are none, and what to do.
[[nodiscard]] std::string nothing_found(const AddTarget& target, std::chrono::nanoseconds time);

// The number that the answer means, from 1 to `count`; an empty answer means 1.
[[nodiscard]] std::optional<std::size_t> chosen_number(const std::string& answer,
                                                       std::size_t count);

struct AddOutcome {
    std::size_t chosen = 0;  // from 1
    std::string xml;
    std::string prefix;
    bool written = false;
    std::string settings;
    std::string said;  // about the daemon
};
[[nodiscard]] boost::json::object add_json(const std::vector<Offer>& all, const AddTarget& target,
                                           const AddOutcome& outcome);

}  // namespace lagtrap::cli
