// Parses decimal numbers, correctly rounded. The text must end with a byte that cannot be part of a number (such as a
// newline), so that the parser needs no end pointer.
#pragma once

#include <locale.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#if defined(__APPLE__) || defined(__FreeBSD__)
#include <xlocale.h>
#endif

namespace budgetron {

// Parses the unsigned number in [first, last), correctly rounded. Out of range: false, or true with 0 or infinity.
using Parse = bool (*)(const char* first, const char* last, double& value);

// libc++ has from_chars for doubles from version 20 on, and that of macOS from macOS 26 on. It is not used there, so
// that what is built for an old macOS does not depend on the version of the compiler.
#if defined(__cpp_lib_to_chars) && !defined(_LIBCPP_VERSION)
#define BUDGETRON_HAS_CHARCONV
inline bool parse_by_charconv(const char* first, const char* last, double& value) {
  return std::from_chars(first, last, value).ec == std::errc();
}
#endif

// By the C library, whatever the locale of the program. It reads a copy, because it needs a terminating zero.
inline bool parse_by_strtod(const char* first, const char* last, double& value) {
  const std::string text(first, last);
#if defined(_WIN32)
  static const _locale_t c_locale = _create_locale(LC_ALL, "C");
  value = _strtod_l(text.c_str(), nullptr, c_locale);
#else
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  value = strtod_l(text.c_str(), nullptr, c_locale);
#endif
  return true;
}

#if defined(BUDGETRON_HAS_CHARCONV)
constexpr Parse parse = parse_by_charconv;
#else
constexpr Parse parse = parse_by_strtod;
#endif

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// An unsigned number: value = 0.d1 d2 d3 ... x 10^magnitude with d1 > 0.
struct Digits {
  const char* first;
  const char* last;  // end of the digits, which may include a decimal point
  const char* end;   // end of the exponent
  std::int64_t exponent;

  const char* significant() const {
    return std::find_if(first, last, [](char c) { return is_digit(c) && c != '0'; });
  }

  std::int64_t magnitude() const {
    const char* const point = std::find(first, last, '.');
    const char* const d1 = significant();
    return exponent + (d1 < point ? point - d1 : point + 1 - d1);
  }

  // The same number with a short exponent, because std::from_chars overflows on exponents above about 2^16.
  std::string scientific() const {
    std::string text = "0.";
    std::copy_if(significant(), last, std::back_inserter(text), is_digit);
    return text + "e" + std::to_string(magnitude());
  }
};

// Parses any number of digits; false if the value overflows a double. Underflow gives 0.
inline bool rounded(const Digits& digits, double& value, Parse slow) {
  value = 0;
  if (digits.significant() == digits.last || digits.magnitude() < -400) return true;
  if (digits.magnitude() > 400) return false;
  const auto read = [&](const char* first, const char* last) {
    if (slow(first, last, value)) return std::isfinite(value);
    value = 0;
    return digits.magnitude() < 0;
  };
  if (std::abs(digits.exponent) < 10000) return read(digits.first, digits.end);
  const std::string text = digits.scientific();
  return read(text.data(), text.data() + text.size());
}

// Parses an exponent such as e-7, if there is one.
inline const char* read_exponent(const char* p, std::int64_t& exponent) {
  constexpr std::int64_t enough = 1'000'000'000'000'000;  // larger than the number of digits of any text
  if (*p != 'e' && *p != 'E') return p;
  const char* q = p + 1;
  const bool negative = *q == '-';
  if (negative || *q == '+') ++q;
  if (!is_digit(*q)) return p;
  for (; is_digit(*q); ++q) exponent = std::min(10 * exponent + (*q - '0'), enough);
  if (negative) exponent = -exponent;
  return q;
}

inline const char* read_digits(const char* p, std::uint64_t& w) {
  for (; is_digit(*p); ++p) w = 10 * w + static_cast<std::uint64_t>(*p - '0');
  return p;
}

// Parses the number that begins at p, such as -1, +.5, 3. or 1.5e3. Returns its end, or null if no finite number begins
// there. An integer w of at most 19 digits and 2^53 and a power of ten up to 1e22 are exact doubles, so one operation
// rounds correctly (Clinger 1990). Other numbers take the slow path.
inline const char* read_decimal(const char* p, double& value, Parse slow = parse) {
  static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const bool negative = *p == '-';
  if (negative || *p == '+') ++p;
  const char* const first = p;
  std::uint64_t w = 0;
  p = read_digits(p, w);
  std::ptrdiff_t count = p - first, places = 0;
  if (*p == '.') {
    const char* const point = p;
    p = read_digits(p + 1, w);
    places = p - point - 1;
    count += places;
  }
  if (count == 0) return nullptr;
  std::int64_t exponent = 0;
  const char* const end = read_exponent(p, exponent);
  const std::int64_t e = exponent - places;
  if (count <= 19 && w <= (std::uint64_t{1} << 53) && e >= -22 && e <= 22)
    value = e < 0 ? static_cast<double>(w) / powers[-e] : static_cast<double>(w) * powers[e];
  else if (!rounded({first, p, end, exponent}, value, slow))
    return nullptr;
  if (negative) value = -value;
  return end;
}

}  // namespace budgetron
