// Whether something was added or was there already.
#pragma once

namespace lagtrap::server {

enum class AddOutcome { New, Already };

}  // namespace lagtrap::server
