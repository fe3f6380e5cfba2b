// Puts stacks and texts into a StackProfile, each once. Used inside formats/ alone.
#pragma once

#include <string>
#include <unordered_map>

#include "formats/stack_profile.hpp"

namespace lagtrap::formats {

class ProfileMaker {
  public:
    explicit ProfileMaker(StackProfile& profile) : profile_(profile) {}

    std::uint32_t add_place(Place place);
    // The node below `parent` for the place.
    std::uint32_t child(std::uint32_t parent, std::uint32_t place);
    std::uint32_t text(const std::string& text);
    // Sets the piece's leaf from its stack, kind and reason.
    void set_leaf(Piece& piece);
    // Leaves out what is not wanted, sorts threads, drops empty ones, and sets the title's time.
    void finish(TimeChoice time);

  private:
    StackProfile& profile_;
    std::unordered_map<std::uint64_t, std::uint32_t> children_;
    std::unordered_map<std::string, std::uint32_t> texts_;
    std::unordered_map<std::string, std::uint32_t> states_;  // place of a state
};

}  // namespace lagtrap::formats
