#include "operations/arrangement.hpp"

#include <doctest/doctest.h>

using namespace attnlab;

namespace {

// Two positions of two heads of width 3: the first digit is the position, the second the head, the third the
// column.
const Array joined{{2, 6}, {0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112}};
const Array heads_first{{2, 2, 3}, {0, 1, 2, 100, 101, 102, 10, 11, 12, 110, 111, 112}};

}  // namespace

TEST_CASE("arrangement: heads before positions are put side by side where that comes nearer") {
  const Arrangement found = arranged_like(joined, heads_first);
  CHECK(found.array.shape == joined.shape);
  CHECK(found.array.values == joined.values);
  CHECK(found.note == "[2, 2, 3], read as heads of 2 positions");
  CHECK(arranged_like(joined, {{1, 2, 2, 3}, heads_first.values}).array.values == joined.values);
}

TEST_CASE("arrangement: numbers that already stand in order stay as they are") {
  for (const Shape& shape : {Shape{2, 6}, Shape{1, 2, 6}, Shape{2, 2, 3}, Shape{12}}) {
    CAPTURE(shape_text(shape));
    const Arrangement found = arranged_like(joined, {shape, joined.values});
    CHECK(found.array.shape == joined.shape);
    CHECK(found.array.values == joined.values);
    CHECK(found.note.empty());
  }
}

TEST_CASE("arrangement: a transposed array is turned where that comes nearer") {
  const Array transposed{{6, 2}, {0, 100, 1, 101, 2, 102, 10, 110, 11, 111, 12, 112}};
  const Arrangement found = arranged_like(joined, transposed);
  CHECK(found.array.values == joined.values);
  CHECK(found.note == "[6, 2], read transposed");
  CHECK(arranged_like(joined, {{6, 2}, joined.values}).array.values == joined.values);
}
