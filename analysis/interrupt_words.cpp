#include "analysis/interrupt_words.hpp"

namespace lagtrap::analysis {

std::string_view to_text(WakeCause interrupt) {
    switch (interrupt) {
        case WakeCause::Timer: return "a timer";
        case WakeCause::Packet: return "a packet from the network";
        case WakeCause::Disk: return "a disk";
        case WakeCause::Device: return "a device";
        default: return "a timer or a device";
    }
}

std::string_view to_text(Interruption interruption) {
    switch (interruption) {
        case Interruption::Killed: return "killed it";
        case Interruption::Resumed: return "resumed it";
        case Interruption::Thawed: return "thawed it";
        default: return "sent it a signal";
    }
}

}  // namespace lagtrap::analysis
