// The named arrays an operation computes on, with errors that name the option and the file.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/mask.hpp"
#include "core/tensor.hpp"

namespace attnlab {

/// Arrays by name; what a file calls [n], [1, n] or [n, 1] serves as a vector, and [n] as one row of a
/// matrix. Each accessor throws Error(usage) when there is no array of that name and Error(data) when it has
/// another shape or values than asked for; the text begins with where the array came from.
class Inputs {
 public:
  /// `label` says where it came from: "--key k.npy"; "--NAME" when empty.
  void set(const std::string& name, Array array, const std::string& label = {});

  bool has(const std::string& name) const { return arrays_.count(name) > 0; }
  const std::string& label(const std::string& name) const { return find(name).label; }
  /// Whether both hold the same arrays, not only equal ones: neither changed one since it was copied.
  bool shares_arrays_with(const Inputs& other) const;
  /// All labels, "--query q.npy, --key k.npy".
  std::string labels() const;

  const Array& array(const std::string& name) const { return *find(name).array; }
  Matrix matrix(const std::string& name) const;
  /// The matrices along the first axis of a three-dimensional array.
  std::vector<Matrix> matrices(const std::string& name) const;
  std::vector<double> numbers(const std::string& name) const;
  Vector vector(const std::string& name) const;
  /// A matrix of zeros and ones, whatever type it is stored as; true for one.
  Mask mask(const std::string& name) const;
  /// A vector of zeros and ones.
  std::vector<bool> flags(const std::string& name) const;

  std::optional<Matrix> optional_matrix(const std::string& name) const;
  std::optional<Vector> optional_vector(const std::string& name) const;

 private:
  struct Named {
    std::shared_ptr<const Array> array;  // copies of Inputs share it
    std::string label;
  };
  const Named& find(const std::string& name) const;

  std::map<std::string, Named> arrays_;
};

}  // namespace attnlab
