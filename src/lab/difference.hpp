// What a choice changes: one report beside another.
#pragma once

#include "lab/report.hpp"

namespace attnlab {

/// Adds to `report` a table `against-default` of all that differs from `other`: single values, entries of
/// tables (rows are matched by their first cell), and for arrays of one shape the largest difference.
void add_difference(Report& report, const Report& other);

}  // namespace attnlab
