// Words for the files that threads waited for or were refused. For analysis/ only.
#pragma once

#include <string>

#include "analysis/delay_cause.hpp"

namespace lagtrap::analysis {

// Clauses to append to a sentence, or empty.

// " (/var/lib/app/data on vda, which had 12 requests in its queue)".
[[nodiscard]] std::string file_clause(const ThreadDoing& doing);

// "; before, it had been refused a lock on /srv/data, which nightly (40) held", "; meanwhile its
// connection to db:5432 was refused 3 times".
[[nodiscard]] std::string refused_clause(const ThreadDoing& doing);

// "; nightly (40) held it", if it did not get a lock on a file.
[[nodiscard]] std::string missed_lock_clause(const ThreadDoing& doing);

}  // namespace lagtrap::analysis
