// Builds a document from very many small pieces, each allocated separately.
#include <string>
#include <vector>

#include "program.hpp"

namespace {

struct Node {
    std::string name;
    std::vector<Node> children;
};

PLANTED Node build_document(int depth, int width) {
    Node node;
    node.name =
        "an element with a name too long for the string itself, depth " + std::to_string(depth);
    if (depth == 0) return node;
    for (int child = 0; child < width; ++child)
        node.children.push_back(build_document(depth - 1, width));
    return node;
}

PLANTED std::size_t open_document(bool large) {
    std::size_t children = 0;
    for (int part = 0; part < (large ? 8 : 1); ++part)
        children += build_document(large ? 7 : 2, 6).children.size();
    return children;
}

}  // namespace

int main() {
    return cases::serve([](bool slow) { (void)open_document(slow); });
}
