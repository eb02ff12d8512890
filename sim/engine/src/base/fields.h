// SPDX-License-Identifier: Apache-2.0
// Reads the fields of a JSON object. A missing or unknown field, or one of a wrong type, throws a
// sentence that says so.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>

namespace sallyport::sim {

class Fields {
 public:
  Fields(const nlohmann::json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) throw std::invalid_argument(where_ + " must be an object");
  }

  // True if the field is there and not null.
  bool has(const char* key) {
    known_.insert(key);
    return object_.contains(key) && !object_[key].is_null();
  }

  template <class T>
  T need(const char* key) {
    if (!has(key)) throw std::invalid_argument(where_ + " needs \"" + key + "\"");
    try {
      return object_[key].get<T>();
    } catch (const nlohmann::json::exception&) {
      throw std::invalid_argument(where_ + ": \"" + key + "\" has the wrong type: " + object_[key].dump());
    }
  }

  template <class T>
  T get(const char* key, T otherwise) {
    return has(key) ? need<T>(key) : otherwise;
  }

  const nlohmann::json& at(const char* key) {
    if (!has(key)) throw std::invalid_argument(where_ + " needs \"" + key + "\"");
    return object_[key];
  }

  // A whole number in lowest .. highest.
  int64_t whole(const char* key, int64_t otherwise, int64_t lowest, int64_t highest) {
    if (!has(key)) return otherwise;
    const auto& value = object_[key];
    if (!value.is_number_integer() || value.get<int64_t>() < lowest || value.get<int64_t>() > highest)
      throw std::invalid_argument(where_ + ": \"" + key + "\" must be a whole number from " + std::to_string(lowest) +
                                  " to " + std::to_string(highest) + ", not " + value.dump());
    return value.get<int64_t>();
  }

  // Call last: throws if the object has a field that no call has read.
  void end() const {
    for (const auto& item : object_.items())
      if (!known_.count(item.key())) throw std::invalid_argument(where_ + ": unknown field \"" + item.key() + "\"");
  }

  const std::string& where() const { return where_; }

 private:
  const nlohmann::json& object_;
  std::string where_;
  std::set<std::string> known_;
};

}  // namespace sallyport::sim
