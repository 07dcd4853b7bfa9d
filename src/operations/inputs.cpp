#include "operations/inputs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

[[noreturn]] void refuse(const std::string& label, const std::string& reason) {
  throw Error(ErrorKind::data, fmt::format("{}: {}", label, reason));
}

// A mask is zeros and ones; anything else is more likely a bias, or the wrong file.
bool as_flag(double value, const std::string& label, const std::string& place) {
  if (value != 0 && value != 1) refuse(label, fmt::format("{} at {} is neither 0 nor 1", value, place));
  return value == 1;
}

}  // namespace

void Inputs::set(const std::string& name, Array array, const std::string& label) {
  arrays_[name] = {std::make_shared<const Array>(std::move(array)), label.empty() ? "--" + name : label};
}

bool Inputs::shares_arrays_with(const Inputs& other) const {
  return std::equal(
      arrays_.begin(), arrays_.end(), other.arrays_.begin(), other.arrays_.end(),
      [](const auto& a, const auto& b) { return a.first == b.first && a.second.array == b.second.array; });
}

std::string Inputs::labels() const {
  std::string all;
  for (const auto& [name, named] : arrays_) all += (all.empty() ? "" : ", ") + named.label;
  return all;
}

const Inputs::Named& Inputs::find(const std::string& name) const {
  const auto found = arrays_.find(name);
  if (found == arrays_.end()) {
    throw Error(ErrorKind::usage, fmt::format("--{} is missing: give the file of an array", name));
  }
  return found->second;
}

Matrix Inputs::matrix(const std::string& name) const {
  const Named& named = find(name);
  Array array = *named.array;
  if (array.shape == Shape{0}) {
    refuse(named.label, "an empty list has no width: give at least one row, or shape [0, width] in .npy");
  }
  if (array.shape.size() == 1) array.shape = {1, array.shape[0]};
  return to_matrix(array, named.label);
}

std::vector<Matrix> Inputs::matrices(const std::string& name) const {
  const Named& named = find(name);
  const Shape& shape = named.array->shape;
  if (shape.size() != 3) {
    refuse(named.label, fmt::format("shape {} where three dimensions were expected", shape_text(shape)));
  }
  std::vector<Matrix> all;
  for (std::size_t n = 0; n < shape[0]; ++n) {
    Matrix& one = all.emplace_back(Matrix::from_shape({shape[1], shape[2]}));
    std::copy_n(named.array->values.begin() + static_cast<std::ptrdiff_t>(n * one.size()), one.size(),
                one.begin());
  }
  return all;
}

std::vector<double> Inputs::numbers(const std::string& name) const {
  const Named& named = find(name);
  const Shape& shape = named.array->shape;
  if (shape.size() > 2 || (shape.size() == 2 && shape[0] != 1 && shape[1] != 1)) {
    refuse(named.label, fmt::format("shape {} where a vector was expected", shape_text(shape)));
  }
  return named.array->values;
}

Vector Inputs::vector(const std::string& name) const {
  const std::vector<double> values = numbers(name);
  return to_vector({{values.size()}, values}, label(name));
}

Mask Inputs::mask(const std::string& name) const {
  const Matrix values = matrix(name);
  Mask mask = Mask::from_shape({values.shape(0), values.shape(1)});
  for (std::size_t i = 0; i < values.shape(0); ++i) {
    for (std::size_t j = 0; j < values.shape(1); ++j) {
      mask(i, j) = as_flag(values(i, j), label(name), fmt::format("[{}, {}]", i, j));
    }
  }
  return mask;
}

std::vector<bool> Inputs::flags(const std::string& name) const {
  const std::vector<double> values = numbers(name);
  std::vector<bool> flags;
  for (std::size_t i = 0; i < values.size(); ++i) {
    flags.push_back(as_flag(values[i], label(name), fmt::format("[{}]", i)));
  }
  return flags;
}

std::optional<Matrix> Inputs::optional_matrix(const std::string& name) const {
  return has(name) ? std::optional<Matrix>(matrix(name)) : std::nullopt;
}

std::optional<Vector> Inputs::optional_vector(const std::string& name) const {
  return has(name) ? std::optional<Vector>(vector(name)) : std::nullopt;
}

}  // namespace attnlab
