// Finds numbers that are written as codes, such as 01234, in the text of a CSV file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace budgetron {

// Whether a cell may be written as a code: it begins with 0 and a digit. Quotes and blanks before it do not count.
// Sixteen places are looked at together: numbers have too many zeros to look at each by itself.
inline bool may_have_codes(std::string_view text, char delimiter) {
  using Bytes = signed char __attribute__((vector_size(16)));  // -1 for yes, 0 for no
  const auto is = [](Bytes c, char d) { return c == static_cast<signed char>(d); };
  const auto blank = [=](Bytes c) { return is(c, ' ') | is(c, '\t'); };
  const auto ends = [=](Bytes c) { return is(c, delimiter) | is(c, '\n') | is(c, '\r') | is(c, '"'); };
  const auto codes_at = [=](const char* at) {  // of 19 bytes, from the two before the first place on
    Bytes before, last, first, next;
    std::memcpy(&before, at, 16);
    std::memcpy(&last, at + 1, 16);
    std::memcpy(&first, at + 2, 16);
    std::memcpy(&next, at + 3, 16);
    return (ends(last) | (blank(last) & (ends(before) | blank(before)))) & is(first, '0') & (next >= '0') &
           (next <= '9');
  };
  const auto any = [](Bytes found) {
    unsigned long long half[2];
    std::memcpy(half, &found, 16);
    return (half[0] | half[1]) != 0;
  };
  const auto any_in = [&](std::string_view part, char before, char last) {  // of a few bytes
    char padded[20] = {before, last};
    std::copy(part.begin(), part.end(), padded + 2);
    return any(codes_at(padded));
  };
  if (any_in(text.substr(0, 16), '\n', '\n')) return true;
  std::size_t at = 0;
  for (; at + 19 <= text.size(); at += 16)
    if (any(codes_at(text.data() + at))) return true;
  return at + 2 < text.size() && any_in(text.substr(at + 2), text[at], text[at + 1]);
}

}  // namespace budgetron
