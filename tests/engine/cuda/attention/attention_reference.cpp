#include "attention_reference.h"

#include <algorithm>
#include <utility>

namespace nanobench::core::cuda {
namespace {

constexpr double kRounding = 1.0 / 256.0;  // of one number to bf16, which has eight significant bits
constexpr double kFloat = 1e-5;            // of sums and exponentials in float32, relative to what is summed

struct Index {
  explicit Index(const DeviceAttentionShape& shape) : s(shape) {}
  std::size_t q(int token, int head) const { return at(token, head, s.heads); }
  std::size_t kv(int token, int head) const { return at(token, head / (s.heads / s.kv_heads), s.kv_heads); }
  std::size_t row(int token, int head) const {
    return static_cast<std::size_t>(head) * static_cast<std::size_t>(s.length) + static_cast<std::size_t>(token);
  }
  std::size_t width() const { return static_cast<std::size_t>(s.head_dim); }

 private:
  std::size_t at(int token, int head, int heads) const {
    return (static_cast<std::size_t>(token) * static_cast<std::size_t>(heads) + static_cast<std::size_t>(head)) *
           width();
  }
  const DeviceAttentionShape& s;
};

double dot(const std::vector<double>& a, std::size_t at_a, const std::vector<double>& b, std::size_t at_b,
           std::size_t size) {
  double sum = 0.0;
  for (std::size_t i = 0; i < size; ++i) sum += a[at_a + i] * b[at_b + i];
  return sum;
}

void add(Bounded& to, std::size_t at, double weight, double weight_error, const std::vector<double>& from,
         std::size_t at_from, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    to.value[at + i] += weight * from[at_from + i];
    to.bound[at + i] += weight_error * std::fabs(from[at_from + i]);
  }
}

/// The rounding of the result itself.
void finish(Bounded& x) {
  for (std::size_t i = 0; i < x.value.size(); ++i)
    x.bound[i] += kRounding * (std::fabs(x.value[i]) + x.bound[i]) + 1e-6;
}

/// Natural logarithm of the sum of exponentials; `weights` become shares of it.
double normalize(std::vector<double>& weights) {
  const double largest = *std::max_element(weights.begin(), weights.end());
  double sum = 0.0;
  for (double& weight : weights) sum += weight = std::exp(weight - largest);
  for (double& weight : weights) weight /= sum;
  return largest + std::log(sum);
}

void add_scores(const DeviceAttentionShape& shape, const AttentionNumbers& in, int query, int head, AttentionRow& row) {
  const Index index(shape);
  const std::size_t at_q = index.q(query, head);
  double row_sum = 0.0;
  double row_error = 0.0;
  for (std::size_t i = 0; i < index.width(); ++i) {
    row_sum += in.dy[at_q + i] * row.y.value[i];
    row_error += std::fabs(in.dy[at_q + i]) * row.y.bound[i];
  }
  auto key = static_cast<int>(row.first_key);
  for (std::size_t i = 0; i < row.weights.size(); ++i, ++key) {
    const double product = dot(in.dy, at_q, in.v, index.kv(key, head), index.width());
    const double score = row.weights[i] * (product - row_sum);
    const double error = (kRounding + kFloat) * std::fabs(score) +
                         row.weights[i] * (row_error + kFloat * (std::fabs(product) + std::fabs(row_sum)));
    row.scores.value[i] = in.scale * score;
    row.scores.bound[i] = in.scale * error;
    add(row.dq, 0, row.scores.value[i], row.scores.bound[i], in.k, index.kv(key, head), index.width());
  }
}

/// The share of key number `i` of the row in dk and dv.
void add_key(const DeviceAttentionShape& shape, const AttentionNumbers& in, int query, int head,
             const AttentionRow& row, std::size_t i, AttentionKey& to, std::size_t at) {
  const Index index(shape);
  const std::size_t at_q = index.q(query, head);
  add(to.dv, at, row.weights[i], (kRounding + kFloat) * row.weights[i], in.dy, at_q, index.width());
  add(to.dk, at, row.scores.value[i], row.scores.bound[i], in.q, at_q, index.width());
}

void put(const Bounded& from, Bounded& to, std::size_t at) {
  std::copy(from.value.begin(), from.value.end(), to.value.begin() + static_cast<std::ptrdiff_t>(at));
  std::copy(from.bound.begin(), from.bound.end(), to.bound.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace

AttentionRow attention_row(const DeviceAttentionShape& shape, const AttentionNumbers& in, int query, int head) {
  const Index index(shape);
  AttentionRow row{.y = Bounded(index.width()),
                   .log_sum = Bounded(1),
                   .dq = Bounded(index.width()),
                   .first_key = in.first_key[static_cast<std::size_t>(query)],
                   .weights = {},
                   .scores = Bounded(0)};
  const auto first = static_cast<int>(row.first_key);
  for (int key = first; key <= query; ++key) {
    row.weights.push_back(in.scale * dot(in.q, index.q(query, head), in.k, index.kv(key, head), index.width()));
  }
  row.scores = Bounded(row.weights.size());
  row.log_sum.value[0] = normalize(row.weights);
  row.log_sum.bound[0] = kFloat * (1.0 + std::fabs(row.log_sum.value[0]));
  for (std::size_t i = 0; i < row.weights.size(); ++i) {
    const double weight = row.weights[i];
    add(row.y, 0, weight, (kRounding + kFloat) * weight, in.v, index.kv(first + static_cast<int>(i), head),
        index.width());
  }
  finish(row.y);
  add_scores(shape, in, query, head, row);
  finish(row.dq);
  return row;
}

AttentionKey attention_key(const DeviceAttentionShape& shape, const AttentionNumbers& in, int key, int kv_head) {
  AttentionKey result{Bounded(Index(shape).width()), Bounded(Index(shape).width())};
  const int group = shape.heads / shape.kv_heads;
  for (int head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    for (int query = key; query < shape.length; ++query) {
      if (in.first_key[static_cast<std::size_t>(query)] > key) break;  // nor does any later one see it
      const AttentionRow row = attention_row(shape, in, query, head);
      add_key(shape, in, query, head, row, static_cast<std::size_t>(key - row.first_key), result, 0);
    }
  }
  finish(result.dk);
  finish(result.dv);
  return result;
}

AttentionReference attention_reference(const DeviceAttentionShape& shape, const AttentionNumbers& in) {
  const Index index(shape);
  AttentionReference r{Bounded(in.q.size()), Bounded(index.row(0, shape.heads)), Bounded(in.q.size()), Bounded(0),
                       Bounded(0)};
  AttentionKey keys{Bounded(in.k.size()), Bounded(in.v.size())};
  for (int head = 0; head < shape.heads; ++head) {
    for (int query = 0; query < shape.length; ++query) {
      const AttentionRow row = attention_row(shape, in, query, head);
      put(row.y, r.y, index.q(query, head));
      put(row.log_sum, r.log_sums, index.row(query, head));
      put(row.dq, r.dq, index.q(query, head));
      for (std::size_t i = 0; i < row.weights.size(); ++i)
        add_key(shape, in, query, head, row, i, keys,
                index.kv(static_cast<int>(row.first_key + static_cast<std::int64_t>(i)), head));
    }
  }
  finish(keys.dk);
  finish(keys.dv);
  r.dk = std::move(keys.dk);
  r.dv = std::move(keys.dv);
  return r;
}

}  // namespace nanobench::core::cuda
