/// The one list of TrainConfig's JSON fields: name, member, range. A visitor reads, writes or lists them.
///
/// Visitor requirements: group(name, fn) for a nested object; field(name, member, low, high) for numbers;
/// field(name, member) for booleans, strings, enumerations, lists and optionals; active(bool) tells whether the
/// following fields count for the chosen type (writers skip inactive ones, readers refuse them).
#pragma once

#include "core/config/train_config.h"

namespace nanobench::core {

inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;
inline constexpr std::int64_t kMaxTokens = std::int64_t{1} << 31;

template <class Visitor>
void visit_fields(Visitor& v, RopeConfig& c) {
  v.field("base", c.base, 1.0, 1e9);
  v.field("half_truncate", c.half_truncate);
  v.field("precompute", c.precompute);
  v.field("max_seq_len", c.max_seq_len, 1, kMaxTokens);
}

template <class Visitor>
void visit_fields(Visitor& v, ValueEmbeddingConfig& c) {
  v.field("source", c.source);
  v.field("num_tables", c.num_tables, 0, 1024);
  v.field("layer_map", c.layer_map, 0, 1023);
  v.field("mix", c.mix);
  v.field("layout", c.layout);
}

template <class Visitor>
void visit_fields(Visitor& v, ModelConfig& c) {
  v.field("num_layers", c.num_layers, 1, 1024);
  v.field("num_heads", c.num_heads, 1, 1024);
  v.field("num_kv_heads", c.num_kv_heads, 1, 1024);
  v.field("model_dim", c.model_dim, 2, 1 << 20);
  v.field("mlp_ratio", c.mlp_ratio, 1, 64);
  v.field("vocab_size", c.vocab_size, 2, 65536);
  v.field("vocab_pad_multiple", c.vocab_pad_multiple, 1, 65536);
  v.field("vocab_pad_embeddings", c.vocab_pad_embeddings);
  v.field("norm", c.norm);
  v.field("position", c.position);
  v.field("bias", c.bias);
  v.field("activation", c.activation);
  v.field("norm_eps", c.norm_eps, 0.0, 1.0);
  v.field("qk_norm", c.qk_norm);
  v.field("qk_norm_eps", c.qk_norm_eps, 0.0, 1.0);
  v.field("qk_norm_position", c.qk_norm_position);
  v.group("rope", c.rope);
  v.group("value_embeddings", c.value_embeddings);
  v.field("attention_skip_layers", c.attention_skip_layers, 0, 1023);
  v.field("logit_softcap", c.logit_softcap, 1e-3, 1e6);
  v.field("logit_softcap_form", c.logit_softcap_form);
  v.field("unet_skips", c.unet_skips);
  v.field("x0_lambdas", c.x0_lambdas);
  v.field("embed_norm", c.embed_norm);
  v.field("tied_head", c.tied_head);
  v.field("merged_qkv", c.merged_qkv);
  v.field("qkv_rows", c.qkv_rows);
  v.field("attention_scale", c.attention_scale, 1e-6, 1e3);
  v.field("attention_branch_scale", c.attention_branch_scale, -1e3, 1e3);
  v.field("linear_init_std", c.linear_init_std, 0.0, 1e3);
}

template <class Visitor>
void visit_fields(Visitor& v, WindowScheduleConfig& c) {
  v.field("type", c.type);
  v.active(c.type == WindowScheduleType::kConstant);
  v.field("tokens", c.tokens, 1, kMaxTokens);
  v.active(c.type == WindowScheduleType::kLinear);
  v.field("start_tokens", c.start_tokens, 0, kMaxTokens);
  v.field("end_tokens", c.end_tokens, 1, kMaxTokens);
  v.field("offset_tokens", c.offset_tokens, 0, kMaxTokens);
  v.field("quantum_tokens", c.quantum_tokens, 1, kMaxTokens);
  v.field("rounding", c.rounding);
  v.active(true);
}

template <class Visitor>
void visit_fields(Visitor& v, WindowConfig& c) {
  v.field("granularity", c.granularity);
  v.field("half_layers", c.half_layers, 0, 1023);
  v.group("schedule", c.schedule);
}

template <class Visitor>
void visit_fields(Visitor& v, AttentionConfig& c) {
  v.field("document_mask", c.document_mask);
  v.field("document_separator", c.document_separator, 0, 65535);
  v.field("block_size", c.block_size, 1, 1 << 20);
  v.field("implementation", c.implementation);
  v.active(c.implementation == AttentionImplementation::kTiled);
  v.field("split_full_blocks", c.split_full_blocks);
  v.field("block_order", c.block_order);
  v.active(true);
  v.group("window", c.window);
}

template <class Visitor>
void visit_fields(Visitor& v, OptimizerGroupConfig& c) {
  v.field("type", c.type);
  v.field("lr", c.lr, 0.0, 1e3);
  v.active(c.type == OptimizerType::kAdam);
  v.pair("betas", c.beta1, c.beta2, 0.0, 1.0);
  v.field("eps", c.eps, 0.0, 1.0);
  v.field("weight_decay", c.weight_decay, 0.0, 1e3);
  v.field("fused", c.fused);
  v.active(c.type == OptimizerType::kMuon);
  v.field("nesterov", c.nesterov);
  v.field("momentum_form", c.momentum_form);
  v.field("orthogonalizer", c.orthogonalizer);
  v.field("ns_steps", c.ns_steps, 0, 100);
  v.field("ns_eps", c.ns_eps, 0.0, 1.0);
  v.field("ns_dtype", c.ns_dtype);
  v.field("ns_form", c.ns_form);
  v.field("ns_norm", c.ns_norm);
  v.field("split_qkv", c.split_qkv);
  v.field("update_scale", c.update_scale);
  v.field("scale_application", c.scale_application);
  v.active(true);
}

template <class Visitor>
void visit_fields(Visitor& v, GradientClipConfig& c) {
  v.field("type", c.type);
  v.active(c.type == GradientClipType::kGlobalNorm);
  v.field("max_norm", c.max_norm, 0.0, 1e9);
  v.active(true);
}

template <class Visitor>
void visit_fields(Visitor& v, OptimizerConfig& c) {
  v.group("embeddings", c.embeddings);
  v.group("lm_head", c.lm_head);
  v.group("hidden_matrices", c.hidden_matrices);
  v.group("scalars", c.scalars);
  v.group("gradient_clip", c.gradient_clip);
}

template <class Visitor>
void visit_fields(Visitor& v, LearningRateConfig& c) {
  v.field("shape", c.shape);
  v.field("warmup_steps", c.warmup_steps, 0, kMaxCount);
  v.active(c.shape == LearningRateShape::kTrapezoid);
  v.field("cooldown_steps", c.cooldown_steps, 0.0, 1e12);
  v.active(true);
  v.field("floor", c.floor, 0.0, 1.0);
}

template <class Visitor>
void visit_fields(Visitor& v, MomentumConfig& c) {
  v.field("start", c.start, 0.0, 1.0);
  v.field("end", c.end, 0.0, 1.0);
  v.field("warmup_steps", c.warmup_steps, 0, kMaxCount);
}

template <class Visitor>
void visit_fields(Visitor& v, ScheduleConfig& c) {
  v.field("num_steps", c.num_steps, 1, kMaxCount);
  v.group("learning_rate", c.learning_rate);
  v.group("muon_momentum", c.muon_momentum);
}

template <class Visitor>
void visit_fields(Visitor& v, LoaderConfig& c) {
  v.field("position", c.position);
  v.field("reserve_tokens", c.reserve_tokens, 0, 1);
  v.field("sequences_per_read", c.sequences_per_read, 1, 1 << 20);
  v.field("first_read_twice", c.first_read_twice);
  v.field("wrap", c.wrap);
  v.field("order", c.order);
  v.field("storage", c.storage);
  v.field("fetch", c.fetch);
  v.field("token_dtype", c.token_dtype);
}

template <class Visitor>
void visit_fields(Visitor& v, DataConfig& c) {
  v.field("sequence_length", c.sequence_length, 1, kMaxTokens);
  v.field("sequences_per_step", c.sequences_per_step, 1, 1 << 20);
  v.field("ranks", c.ranks, 1, 1 << 16);
  v.group("loader", c.loader);
  v.field("val_sequences", c.val_sequences, 1, 1 << 20);
  v.field("val_sequence_length", c.val_sequence_length, 1, kMaxTokens);
}

template <class Visitor>
void visit_fields(Visitor& v, RunConfig& c) {
  v.field("stop_after", c.stop_after, 0, kMaxCount);
  v.field("val_every", c.val_every, 1, kMaxCount);
  v.field("untimed_steps", c.untimed_steps, 0, kMaxCount);
  v.field("warmup_iterations", c.warmup_iterations, 0, kMaxCount);
  v.field("val_gradients", c.val_gradients);
  v.field("gradient_reduction", c.gradient_reduction);
  v.field("gradient_steps", c.gradient_steps, 0, kMaxCount);
}

template <class Visitor>
void visit_fields(Visitor& v, InitConfig& c) {
  v.field("file", c.file);
  v.field("scheme", c.scheme);
  v.active(c.scheme == InitScheme::kRecords);
  v.field("embeddings", c.embeddings);
  v.field("output_projections", c.output_projections);
  v.field("lm_head", c.lm_head);
  v.active(true);
  v.field("zero_init_std", c.zero_init_std, 0.0, 1e3);
  v.field("scalar_std", c.scalar_std, 0.0, 1e3);
  v.field("note", c.note);
}

template <class Visitor>
void visit_fields(Visitor& v, Fp8Config& c) {
  v.field("x_scale", c.x_scale, 1e-12, 1e12);
  v.field("weight_scale", c.weight_scale, 1e-12, 1e12);
  v.field("grad_scale", c.grad_scale, 1e-12, 1e12);
}

template <class Visitor>
void visit_fields(Visitor& v, PrecisionConfig& c) {
  v.field("activations", c.activations);
  v.field("validation", c.validation);
  v.field("parameters", c.parameters);
  v.field("embeddings", c.embeddings);
  v.field("scalars", c.scalars);
  v.field("linear_init", c.linear_init);
  v.field("rotary_tables", c.rotary_tables);
  v.field("rotation", c.rotation);
  v.field("logits", c.logits);
  v.field("head", c.head);
  v.active(c.head == HeadPrecision::kFp8);
  v.group("fp8", c.fp8);
  v.active(true);
}

template <class Visitor>
void visit_fields(Visitor& v, DistributedConfig& c) {
  v.field("processes", c.processes, 1, 1 << 16);
  v.field("gradient_sync", c.gradient_sync);
  v.field("reduction", c.reduction);
  v.field("buckets", c.buckets);
  v.field("bucket_bytes", c.bucket_bytes, 1, std::int64_t{1} << 40);
  v.field("muon", c.muon);
  v.field("all_gather", c.all_gather);
  v.field("gather_buffer", c.gather_buffer);
  v.field("ragged_groups", c.ragged_groups);
}

template <class Visitor>
void visit_fields(Visitor& v, GpuConfig& c) {
  v.field("expandable_segments", c.expandable_segments);
  v.field("initial_backward", c.initial_backward);
  v.field("step_graph", c.step_graph);
  v.field("attention_products", c.attention_products);
}

template <class Visitor>
void visit_fields(Visitor& v, TrainConfig& c) {
  v.field("name", c.name);
  v.group("model", c.model);
  v.group("attention", c.attention);
  v.group("optimizer", c.optimizer);
  v.group("schedule", c.schedule);
  v.group("data", c.data);
  v.group("run", c.run);
  v.group("init", c.init);
  v.group("precision", c.precision);
  v.group("distributed", c.distributed);
  v.group("gpu", c.gpu);
}

}  // namespace nanobench::core
