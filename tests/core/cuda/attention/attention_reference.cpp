#include "attention_reference.h"

#include <algorithm>

namespace nanobench::core::cuda {
namespace {

constexpr double kRounding = 1.0 / 256.0;  // of one number to bf16, which has eight significant bits
constexpr double kFloat = 1e-5;            // of sums and exponentials in float32, relative to what is summed

struct Index {
  explicit Index(const AttentionShape& shape) : s(shape) {}
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
  const AttentionShape& s;
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

std::vector<double> weights_of(const AttentionShape& shape, const AttentionNumbers& in, int query, int head,
                               double& log_sum) {
  const Index index(shape);
  const auto first = static_cast<int>(in.first_key[static_cast<std::size_t>(query)]);
  std::vector<double> weights;
  for (int key = first; key <= query; ++key) {
    weights.push_back(in.scale * dot(in.q, index.q(query, head), in.k, index.kv(key, head), index.width()));
  }
  const double largest = *std::max_element(weights.begin(), weights.end());
  double sum = 0.0;
  for (double& weight : weights) sum += weight = std::exp(weight - largest);
  for (double& weight : weights) weight /= sum;
  log_sum = largest + std::log(sum);
  return weights;
}

void add_row_gradients(const AttentionShape& shape, const AttentionNumbers& in, int query, int head,
                       const std::vector<double>& weights, AttentionReference& r) {
  const Index index(shape);
  const std::size_t at_q = index.q(query, head);
  double row_sum = 0.0;
  double row_error = 0.0;
  for (std::size_t i = 0; i < index.width(); ++i) {
    row_sum += in.dy[at_q + i] * r.y.value[at_q + i];
    row_error += std::fabs(in.dy[at_q + i]) * r.y.bound[at_q + i];
  }
  int key = static_cast<int>(in.first_key[static_cast<std::size_t>(query)]);
  for (const double weight : weights) {
    const std::size_t at_kv = index.kv(key, head);
    const double product = dot(in.dy, at_q, in.v, at_kv, index.width());
    const double score = weight * (product - row_sum);
    const double error = (kRounding + kFloat) * std::fabs(score) +
                         weight * (row_error + kFloat * (std::fabs(product) + std::fabs(row_sum)));
    add(r.dv, at_kv, weight, (kRounding + kFloat) * weight, in.dy, at_q, index.width());
    add(r.dq, at_q, in.scale * score, in.scale * error, in.k, at_kv, index.width());
    add(r.dk, at_kv, in.scale * score, in.scale * error, in.q, at_q, index.width());
    ++key;
  }
}

}  // namespace

AttentionReference attention_reference(const AttentionShape& shape, const AttentionNumbers& in) {
  const Index index(shape);
  AttentionReference r{Bounded(in.q.size()), Bounded(index.row(0, shape.heads)), Bounded(in.q.size()),
                       Bounded(in.k.size()), Bounded(in.v.size())};
  for (int head = 0; head < shape.heads; ++head) {
    for (int query = 0; query < shape.length; ++query) {
      const std::size_t row = index.row(query, head);
      const std::vector<double> weights = weights_of(shape, in, query, head, r.log_sums.value[row]);
      r.log_sums.bound[row] = kFloat * (1.0 + std::fabs(r.log_sums.value[row]));
      int key = static_cast<int>(in.first_key[static_cast<std::size_t>(query)]);
      const std::size_t at_q = index.q(query, head);
      for (const double weight : weights) {
        add(r.y, at_q, weight, (kRounding + kFloat) * weight, in.v, index.kv(key++, head), index.width());
      }
      for (std::size_t i = at_q; i < at_q + index.width(); ++i) {
        r.y.bound[i] += kRounding * (std::fabs(r.y.value[i]) + r.y.bound[i]) + 1e-6;
      }
      add_row_gradients(shape, in, query, head, weights, r);
    }
  }
  finish(r.dq);
  finish(r.dk);
  finish(r.dv);
  return r;
}

}  // namespace nanobench::core::cuda
