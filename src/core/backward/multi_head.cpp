#include "core/backward/multi_head.hpp"

#include "core/backward/layers.hpp"

namespace attnlab {

template <class Real>
MultiHeadCache<Real>::MultiHeadCache(Arena<Real>& arena, std::size_t n, std::size_t d_model,
                                     std::size_t num_heads)
    : query(arena.take(n, d_model)),
      key(arena.take(n, d_model)),
      value(arena.take(n, d_model)),
      weights(arena.take(num_heads * n, n)),
      heads(arena.take(n, d_model)),
      d_query(arena.take(n, d_model)),
      d_key(arena.take(n, d_model)),
      d_value(arena.take(n, d_model)),
      d_heads(arena.take(n, d_model)),
      d_scores(arena.take(n, n)) {}

template <class Real>
void multi_head_forward(const MultiHeadRule<Real>& rule, const MultiHeadWeights<Real>& weights,
                        ConstView<Real> query_key_input, ConstView<Real> value_input,
                        const MultiHeadCache<Real>& cache, View<Real> output) {
  linear_forward(query_key_input, weights.query, cache.query);
  linear_forward(query_key_input, weights.key, cache.key);
  linear_forward(value_input, weights.value, cache.value);
  if (rule.rope_cosine.rows > 0) {
    rope_forward(rule.rope_cosine, rule.rope_sine, cache.query);
    rope_forward(rule.rope_cosine, rule.rope_sine, cache.key);
  }
  const std::size_t head_dim = cache.query.columns / rule.num_heads;
  for (std::size_t head = 0; head < rule.num_heads; ++head) {
    const auto of_head = [=](View<Real> all) { return columns_of(all, head * head_dim, head_dim); };
    const double slope = rule.alibi ? alibi_slope(head, rule.num_heads) : 0.0;
    attention_forward(of_head(cache.query), of_head(cache.key), of_head(cache.value), {rule.causal, slope},
                      cache.head_weights(head), of_head(cache.heads));
    if (!rule.silenced.empty() && rule.silenced[head]) fill(of_head(cache.heads), 0);
  }
  linear_forward(cache.heads, weights.output, output);
}

template <class Real>
void multi_head_backward(const MultiHeadRule<Real>& rule, const MultiHeadWeights<Real>& weights,
                         ConstView<Real> query_key_input, ConstView<Real> value_input,
                         const MultiHeadCache<Real>& cache, ConstView<Real> d_output,
                         View<Real> d_query_key_input, View<Real> d_value_input,
                         const MultiHeadWeights<Real>& gradient) {
  for (const View<Real>& sum : {cache.d_query, cache.d_key, cache.d_value, cache.d_heads}) fill(sum, 0);
  linear_backward(cache.heads, weights.output, d_output, cache.d_heads, gradient.output);
  const std::size_t head_dim = cache.query.columns / rule.num_heads;
  for (std::size_t head = 0; head < rule.num_heads; ++head) {
    if (!rule.silenced.empty() && rule.silenced[head]) continue;  // zeros came out whatever went in
    const auto of_head = [=](View<Real> all) { return columns_of(all, head * head_dim, head_dim); };
    attention_backward(of_head(cache.query), of_head(cache.key), of_head(cache.value),
                       cache.head_weights(head), of_head(cache.d_heads), cache.d_scores,
                       of_head(cache.d_query), of_head(cache.d_key), of_head(cache.d_value));
  }
  if (rule.rope_cosine.rows > 0) {
    rope_backward(rule.rope_cosine, rule.rope_sine, cache.d_query);
    rope_backward(rule.rope_cosine, rule.rope_sine, cache.d_key);
  }
  linear_backward(query_key_input, weights.query, cache.d_query, d_query_key_input, gradient.query);
  linear_backward(query_key_input, weights.key, cache.d_key, d_query_key_input, gradient.key);
  linear_backward(value_input, weights.value, cache.d_value, d_value_input, gradient.value);
}

template struct MultiHeadCache<float>;
template struct MultiHeadCache<double>;
template void multi_head_forward(const MultiHeadRule<float>&, const MultiHeadWeights<float>&,
                                 View<const float>, View<const float>, const MultiHeadCache<float>&,
                                 View<float>);
template void multi_head_forward(const MultiHeadRule<double>&, const MultiHeadWeights<double>&,
                                 View<const double>, View<const double>, const MultiHeadCache<double>&,
                                 View<double>);
template void multi_head_backward(const MultiHeadRule<float>&, const MultiHeadWeights<float>&,
                                  View<const float>, View<const float>, const MultiHeadCache<float>&,
                                  View<const float>, View<float>, View<float>,
                                  const MultiHeadWeights<float>&);
template void multi_head_backward(const MultiHeadRule<double>&, const MultiHeadWeights<double>&,
                                  View<const double>, View<const double>, const MultiHeadCache<double>&,
                                  View<const double>, View<double>, View<double>,
                                  const MultiHeadWeights<double>&);

}  // namespace attnlab
