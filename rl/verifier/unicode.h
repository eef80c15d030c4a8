// minirl rl/verifier/unicode.h -- mathematics written in Unicode, in LaTeX's spelling.
#pragma once
#include <string>
#include <string_view>

namespace minirl::rl::verifier {

/// Minus signs, superscripts, roots, digits of other scripts, spaces and so on become what LaTeX
/// writes. What is not known stays. Throws Stop on a NUL or another control character.
std::string to_latex(std::string_view text);

}  // namespace minirl::rl::verifier
