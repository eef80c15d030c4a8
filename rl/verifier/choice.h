// minirl rl/verifier/choice.h -- letters of multiple choice.
#pragma once
#include <string_view>

namespace minirl::rl::verifier {

/// 'A' to 'J' when the text is a choice letter, alone or in front of what it stands for: C, (C),
/// \text{C}, \mathrm{(C)}\ 12, "C. twelve"; else 0. `bare`: it is nothing but the letter.
char choice_letter(std::string_view text, bool& bare);

}  // namespace minirl::rl::verifier
