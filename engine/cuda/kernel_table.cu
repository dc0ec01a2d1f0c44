#include "engine/cuda/kernel_table.h"

namespace nanobench::core::cuda {

KernelTable kernel_table() {
  return {.attention_mask = attention_mask,
          .attention_forward = attention_forward,
          .attention_backward = attention_backward,
          .residual_norm_forward = residual_norm_forward,
          .residual_norm_backward = residual_norm_backward,
          .qkv_heads_forward = qkv_heads_forward,
          .qkv_heads_backward = qkv_heads_backward,
          .head_gate_forward = head_gate_forward,
          .head_gate_backward = head_gate_backward,
          .smear_forward = smear_forward,
          .smear_backward = smear_backward,
          .relu_squared_forward = relu_squared_forward,
          .relu_squared_backward = relu_squared_backward,
          .cross_entropy_rows_bf16 = cross_entropy_rows<bf16, bf16>,
          .cross_entropy_rows_bf16_e5m2 = cross_entropy_rows<bf16, fp8_e5m2>,
          .quantize_e4m3_bf16 = quantize_e4m3<bf16>,
          .quantize_e4m3_float = quantize_e4m3<float>,
          .transpose_e5m2 = transpose_e5m2,
          .sum_partials = sum_partials,
          .embedding_forward = embedding_forward,
          .embedding_backward = embedding_backward,
          .adam_factors = adam_factors,
          .adam_items = adam_items,
          .adam_update = adam_update,
          .muon_factors = muon_factors,
          .muon_momentum = muon_momentum<float, bf16>,
          .muon_momentum_float = muon_momentum<float, float>,
          .muon_normalize = muon_normalize<bf16>,
          .muon_normalize_float = muon_normalize<float>,
          .muon_combine = muon_combine,
          .muon_apply = muon_apply,
          .second_moment_workspace = second_moment_workspace,
          .second_moment_normalize = second_moment_normalize,
          .symmetric_product = symmetric_product};
}

}  // namespace nanobench::core::cuda
