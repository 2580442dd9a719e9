// The numbers of a field when the outputs of its model change places.
#pragma once

#include <cstddef>
#include <vector>

#include "state/fields.hpp"

namespace budgetron {

// Output c becomes output places[c]. The one output of two classes changes sign instead: places = {0}.
class Reordering {
 public:
  explicit Reordering(std::vector<std::size_t> places) : places_(std::move(places)) {}

  // The name of a field that may belong to an output.
  std::string name(const std::string& field, const Meaning& meaning) const {
    if (places_.size() == 1 || meaning.of != OfOutputs::All) return field;
    const std::size_t dot = field.rfind('.');
    return Fields::of_output(field.substr(0, dot), places_[std::stoul(field.substr(dot + 1))]);
  }

  template <class T>
  void apply(std::vector<T>& v, const Meaning& meaning) const {
    const std::size_t outputs = places_.size(), width = meaning.width, n = v.size();
    if (meaning.of == OfOutputs::None || n == 0) return;
    const std::vector<T> old = v;
    if (meaning.of == OfOutputs::Packed) {
      for (std::size_t i = 0; i < width; ++i)
        for (std::size_t j = 0; j <= i; ++j)
          v[in_triangle(place(i, width), place(j, width))] =
              sign<T>(i, width) * sign<T>(j, width) * old[in_triangle(i, j)];
    } else if (meaning.of == OfOutputs::Last) {
      for (std::size_t i = 0; i < n; ++i)
        v[i - i % width + place(i % width, width)] = sign<T>(i % width, width) * old[i];
    } else if (meaning.of == OfOutputs::Codes) {
      for (T& x : v) x = outputs == 1 ? 1 - x : static_cast<T>(places_[static_cast<std::size_t>(x)]);
    } else if (outputs == 1) {
      for (T& x : v) x = meaning.signs ? -x : x;
    } else if (meaning.of == OfOutputs::Rows) {
      for (std::size_t i = 0; i < n; ++i) v[places_[i / (n / outputs)] * (n / outputs) + i % (n / outputs)] = old[i];
    }
  }

 private:
  // Of number i, if the last of `width` numbers belong to the outputs.
  std::size_t place(std::size_t i, std::size_t width) const {
    const std::size_t first = width - places_.size();
    return i < first ? i : first + places_[i - first];
  }
  template <class T>
  T sign(std::size_t i, std::size_t width) const {
    return places_.size() == 1 && i + 1 == width ? -1 : 1;
  }
  static std::size_t in_triangle(std::size_t i, std::size_t j) {
    return i < j ? in_triangle(j, i) : i * (i + 1) / 2 + j;
  }

  std::vector<std::size_t> places_;
};

}  // namespace budgetron
