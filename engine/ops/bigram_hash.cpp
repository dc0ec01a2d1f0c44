#include "engine/ops/bigram_hash.h"

#include "core/base/op_timer.h"

namespace nanobench::core {
namespace {

/// The numbers wrapped around as 32-bit integers are.
at::Tensor wrapped(const at::Tensor& numbers) {
  return numbers.to(at::kInt).to(at::kLong);
}

/// The token before each from position 1 on: [T - 1].
at::Tensor tokens_before(const at::Tensor& tokens) {
  return tokens.narrow(0, 0, tokens.size(0) - 1);
}

}  // namespace

at::Tensor bigram_rows(const at::Tensor& tokens, const BigramConfig& config) {
  const OpTimer timer("bigram_hash");
  const std::int64_t length = tokens.size(0), modulus = config.rows - 1;
  const at::Tensor ids = tokens.to(at::kLong);
  at::Tensor rows = at::full({length}, modulus, ids.options());
  if (length == 1) return rows;
  at::Tensor before = tokens_before(ids).clone();
  if (config.previous_of_first == BigramStart::kReserved) before[0] = modulus;
  const at::Tensor hash = at::bitwise_xor(wrapped(ids.narrow(0, 1, length - 1) * config.token_multiplier),
                                          wrapped(before * config.previous_multiplier));
  rows.narrow(0, 1, length - 1).copy_(at::remainder(hash, modulus));
  return rows;
}

at::Tensor bigram_sign_rows(const at::Tensor& tokens, std::int64_t sign_rows) {
  const std::int64_t others = tokens.size(0) - 1;
  const at::Tensor ids = tokens.to(at::kLong);
  const at::Tensor rows = at::remainder(at::bitwise_xor(ids.narrow(0, 1, others), tokens_before(ids)), sign_rows);
  return at::cat({at::zeros({1}, ids.options()), rows});
}

}  // namespace nanobench::core
