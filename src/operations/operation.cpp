#include "operations/operation.hpp"

#include <iterator>
#include <string_view>

namespace attnlab {

NamedResult array_result(std::string name, const Matrix& matrix) {
  return {std::move(name), to_array(matrix)};
}

NamedResult array_result(std::string name, const std::vector<double>& vector) {
  return {std::move(name), Array{{vector.size()}, vector}};
}

NamedResult whole_result(std::string name, Array array) { return {std::move(name), std::move(array), true}; }

NamedResult stacked_result(std::string name, const std::vector<Matrix>& matrices) {
  Array stacked{{matrices.size(), matrices.empty() ? 0 : matrices[0].shape(0),
                 matrices.empty() ? 0 : matrices[0].shape(1)},
                {}};
  for (const Matrix& matrix : matrices)
    stacked.values.insert(stacked.values.end(), matrix.begin(), matrix.end());
  return {std::move(name), std::move(stacked)};
}

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> list;
    for (const auto& family :
         {attention_operations, position_operations, norm_operations, feed_forward_operations,
          expert_operations, cache_operations, counting_operations, random_operations}) {
      std::vector<Operation> some = family();
      std::move(some.begin(), some.end(), std::back_inserter(list));
    }
    return list;
  }();
  return all;
}

const Operation* find_operation(std::string_view name) {
  for (const Operation& operation : operations()) {
    if (operation.name == name) return &operation;
  }
  return nullptr;
}

}  // namespace attnlab
