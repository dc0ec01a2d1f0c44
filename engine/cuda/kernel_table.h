/// All kernels as one table of functions, which may or may not be available. The engine calls kernels through it,
/// whether they run on a GPU or are emulated. Plain C++: includes no CUDA header.
#pragma once

#include "engine/cuda/adam.h"
#include "engine/cuda/attention.h"
#include "engine/cuda/cross_entropy.h"
#include "engine/cuda/embedding.h"
#include "engine/cuda/float8.h"
#include "engine/cuda/gates.h"
#include "engine/cuda/muon.h"
#include "engine/cuda/partial_sums.h"
#include "engine/cuda/qkv_heads.h"
#include "engine/cuda/relu_squared.h"
#include "engine/cuda/residual_norm.h"
#include "engine/cuda/second_moment.h"
#include "engine/cuda/symmetric_product.h"

namespace nanobench::core::cuda {

/// Members are named like the functions, including their host-side helpers; names of template instances end with their
/// number types.
struct KernelTable {
  decltype(&cuda::attention_mask) attention_mask;
  decltype(&cuda::attention_forward) attention_forward;
  decltype(&cuda::attention_backward) attention_backward;
  decltype(&cuda::residual_norm_forward) residual_norm_forward;
  decltype(&cuda::residual_norm_backward) residual_norm_backward;
  decltype(&cuda::qkv_heads_forward) qkv_heads_forward;
  decltype(&cuda::qkv_heads_backward) qkv_heads_backward;
  decltype(&cuda::head_gate_forward) head_gate_forward;
  decltype(&cuda::head_gate_backward) head_gate_backward;
  decltype(&cuda::smear_forward) smear_forward;
  decltype(&cuda::smear_backward) smear_backward;
  decltype(&cuda::relu_squared_forward) relu_squared_forward;
  decltype(&cuda::relu_squared_backward) relu_squared_backward;
  decltype(&cuda::cross_entropy_rows<bf16, bf16>) cross_entropy_rows_bf16;
  decltype(&cuda::cross_entropy_rows<bf16, fp8_e5m2>) cross_entropy_rows_bf16_e5m2;
  decltype(&cuda::quantize_e4m3<bf16>) quantize_e4m3_bf16;
  decltype(&cuda::quantize_e4m3<float>) quantize_e4m3_float;
  decltype(&cuda::transpose_e5m2) transpose_e5m2;
  decltype(&cuda::sum_partials) sum_partials;
  decltype(&cuda::embedding_forward) embedding_forward;
  decltype(&cuda::embedding_backward) embedding_backward;
  decltype(&cuda::adam_factors) adam_factors;
  decltype(&cuda::adam_items) adam_items;
  decltype(&cuda::adam_update) adam_update;
  decltype(&cuda::muon_factors) muon_factors;
  decltype(&cuda::muon_momentum<float, bf16>) muon_momentum;
  decltype(&cuda::muon_momentum<float, float>) muon_momentum_float;
  decltype(&cuda::muon_normalize<bf16>) muon_normalize;
  decltype(&cuda::muon_normalize<float>) muon_normalize_float;
  decltype(&cuda::muon_combine) muon_combine;
  decltype(&cuda::muon_apply) muon_apply;
  decltype(&cuda::second_moment_workspace) second_moment_workspace;
  decltype(&cuda::second_moment_normalize) second_moment_normalize;
  decltype(&cuda::symmetric_product) symmetric_product;
};

KernelTable kernel_table();

}  // namespace nanobench::core::cuda
