// A copy of all fields of a part, to be put into another of the same kind.
#pragma once

#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "state/fields.hpp"

namespace budgetron {

class Snapshot {
 public:
  explicit Snapshot(Part& part) {
    Take take(fields_);
    part.fields(take);
  }
  void put_into(Part& part) {
    Put put(fields_);
    part.fields(put);
  }

 private:
  using Field = std::variant<double, Counter, std::vector<double>, std::vector<float>, std::vector<Counter>>;
  using Named = std::map<std::string, Field>;

  class Take final : public Fields {
   public:
    explicit Take(Named& fields) : fields_(fields) {}
    void visit(const char* name, Value value, const Meaning&) override {
      std::visit([&](const auto* v) { fields_[name] = *v; }, value);
    }

   private:
    Named& fields_;
  };

  class Put final : public Fields {
   public:
    explicit Put(Named& fields) : fields_(fields) {}
    bool restoring() const override { return true; }
    void visit(const char* name, Value value, const Meaning&) override {
      std::visit([&]<class T>(T* v) { *v = std::move(std::get<T>(fields_.at(name))); }, value);
    }

   private:
    Named& fields_;
  };

  Named fields_;
};

}  // namespace budgetron
