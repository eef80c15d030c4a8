// minirl rl/verifier/parser.h -- tokens to an expression tree.
#pragma once
#include "rl/verifier/lexer.h"
#include "rl/verifier/tree.h"

namespace minirl::rl::verifier {

/// The root of the answer's tree. Throws Stop (with what was not understood) on anything that is no
/// answer.
int parse(std::vector<Token> tokens, Tree& tree, Budget& budget);

}  // namespace minirl::rl::verifier
