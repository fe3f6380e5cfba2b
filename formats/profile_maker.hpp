// Adds stacks and texts to a StackProfile and stores each only once. Internal to formats/.
#pragma once

#include <string>
#include <unordered_map>

#include "formats/stack_profile.hpp"

namespace lagtrap::formats {

class ProfileMaker {
  public:
    explicit ProfileMaker(StackProfile& profile) : profile_(profile) {}

    std::uint32_t add_place(Place place);
    // Returns the node for the place below `parent`; adds it if it is missing.
    std::uint32_t child(std::uint32_t parent, std::uint32_t place);
    std::uint32_t text(const std::string& text);
    // Sets the piece's leaf from its stack, kind and reason.
    void set_leaf(Piece& piece);
    // Removes pieces that `time` excludes, removes empty threads, sorts threads, and sets the
    // profile's time choice.
    void finish(TimeChoice time);

  private:
    StackProfile& profile_;
    std::unordered_map<std::uint64_t, std::uint32_t> children_;
    std::unordered_map<std::string, std::uint32_t> texts_;
    std::unordered_map<std::string, std::uint32_t> states_;  // a state's place
};

}  // namespace lagtrap::formats
