// The one list of TrainConfig's JSON fields: name, meaning, unit, member, range. Each field is described only here, or
// in model_config_fields.cpp: `nanobench list settings` and docs/settings.md follow (settings_reference.h).
#include "core/config/train_config_fields.h"

#include "core/config/train_config_names.h"

namespace nanobench::core {

static void visit_fields(FieldVisitor& v, WindowStage& c) {
  v.field({"from", "The first step of the stage.", "steps"}, c.from, 0, kMaxCount);
  v.field({"long_tokens", "Window of most layers.", "tokens"}, c.long_tokens, 1, kMaxTokens);
  v.field({"short_tokens", "Window of the short layers.", "tokens"}, c.short_tokens, 1, kMaxTokens);
}

static void visit_fields(FieldVisitor& v, WindowScheduleConfig& c) {
  v.field({"type",
           "The window is constant, does not exist, grows linearly over the run, takes values of a list, or changes at "
           "given steps."},
          c.type);
  v.active_when("type", c.type, WindowScheduleType::kConstant);
  v.field({"tokens", "Length of the constant window.", "tokens"}, c.tokens, 1, kMaxTokens);
  v.active_when("type", c.type, WindowScheduleType::kLinear);
  v.field({"start_tokens", "Window at step 0, before offset and rounding.", "tokens"}, c.start_tokens, 0, kMaxTokens);
  v.field({"end_tokens", "Window at the last step, before offset and rounding.", "tokens"}, c.end_tokens, 1,
          kMaxTokens);
  v.field({"offset_tokens", "Added to the window before it is rounded.", "tokens"}, c.offset_tokens, 0, kMaxTokens);
  v.field({"quantum_tokens", "The window is rounded to a multiple of this.", "tokens"}, c.quantum_tokens, 1,
          kMaxTokens);
  v.field({"rounding", "The window is rounded down or up."}, c.rounding);
  v.active_when("type", c.type, WindowScheduleType::kList);
  v.field({"tokens_list", "Windows of equal parts of the run.", "tokens"}, c.tokens_list, 1, kMaxTokens);
  v.active_when("type", c.type, WindowScheduleType::kStages);
  v.list({"stages",
          "A list of stages: the step `from` which each holds, `long_tokens` of most layers and `short_tokens` of the "
          "short layers."},
         c.stages);
  v.active_always();
}

static void visit_fields(FieldVisitor& v, WindowConfig& c) {
  v.field({"granularity",
           "The window is counted in tokens, in tokens but never beyond the blocks it visits, in whole blocks, or in "
           "tokens besides the query itself."},
          c.granularity);
  v.field({"half_layers", "Layers that see half as many blocks as the others, at least one."}, c.half_layers, 0, 1023);
  v.field({"short_layers", "Layers that have the short windows of the schedule's stages."}, c.short_layers, 0, 1023);
  v.group({"schedule", "Length of the window over the run."}, c.schedule);
  v.field({"final_validation_tokens", "Window of the last validation; null: as scheduled.", "tokens"},
          c.final_validation_tokens, 1, kMaxTokens);
  v.field({"final_validation_layers", "Layers that have a window of their own in the last validation."},
          c.final_validation_layers, 0, 1023);
  v.field({"final_validation_layers_tokens", "That window.", "tokens"}, c.final_validation_layers_tokens, 1,
          kMaxTokens);
}

static void visit_fields(FieldVisitor& v, AttentionConfig& c) {
  v.field({"document_mask", "A token sees only tokens of its own document."}, c.document_mask);
  v.field({"document_separator", "The token that opens a document.", "token id"}, c.document_separator, 0, 65535);
  v.field({"block_size", "Side of a block of the attention mask; must divide the sequence length.", "tokens"},
          c.block_size, 1, 1 << 20);
  v.field({"implementation",
           "Tiled attention visits only blocks that the mask leaves; dense attention forms all T x T "
           "products."},
          c.implementation);
  v.active_when("implementation", c.implementation, AttentionImplementation::kTiled);
  v.field({"split_full_blocks", "Blocks without a masked pair skip the element mask. The sums are the same."},
          c.split_full_blocks);
  v.field({"block_order", "Order in which the key blocks of a query are summed."}, c.block_order);
  v.active_always();
  v.group({"window", "How far back a token sees."}, c.window);
}

/// Those of Adam alone.
static void visit_adam_fields(FieldVisitor& v, OptimizerGroupConfig& c) {
  v.field({"cautious_condition", "Cautious decay needs an update towards zero, or one that is not away from it."},
          c.cautious_condition);
  v.pair({"betas", "Decay of Adam's first and second moment; each is below 1."}, c.beta1, c.beta2, 0.0, 1.0);
  v.field({"eps", "Added to the root of Adam's second moment."}, c.eps, 0.0, 1.0);
  v.field({"eps_position", "Epsilon is added to the root of the second moment after or before its bias is corrected."},
          c.eps_position);
  v.field({"step_every", "The group is updated every so many steps, by the sum of their gradients.", "steps"},
          c.step_every, 1, kMaxCount);
  v.field({"pause_steps",
           "For so many steps from each change of window or batch on, the group is not updated and its "
           "gradients are dropped.",
           "steps"},
          c.pause_steps, 0, kMaxCount);
  v.field({"weight_decay", "Decoupled decay (AdamW): rate times this share of a parameter is taken off at each step."},
          c.weight_decay, 0.0, 1e3);
  v.field({"fused", "One kernel updates the whole group; false: one tensor operation after the other."}, c.fused);
}

void visit_fields(FieldVisitor& v, OptimizerGroupConfig& c) {
  v.field({"type", "Optimiser of this group of parameters; only hidden_matrices can use Muon."}, c.type);
  v.field({"lr", "Base learning rate, which the schedule multiplies."}, c.lr, 0.0, 1e3);
  v.field({"cautious_decay",
           "Parameters that their update makes smaller lose the square of the rate times this share of themselves."},
          c.cautious_decay, 0.0, 1e6);
  v.active_when("type", c.type, OptimizerType::kAdam);
  visit_adam_fields(v, c);
  v.active_when("type", c.type, OptimizerType::kMuon);
  v.field({"nesterov", "The update looks ahead by Nesterov's rule."}, c.nesterov);
  v.field({"momentum_form", "Momentum as a moving average of gradients, or as their decaying sum."}, c.momentum_form);
  v.field({"orthogonalizer",
           "How an update is made orthogonal: by Newton-Schulz iterations, by a singular value decomposition, or by "
           "the iterations of Polar Express."},
          c.orthogonalizer);
  v.field({"ns_steps", "Number of Newton-Schulz iterations.", "iterations"}, c.ns_steps, 0, 100);
  v.field({"ns_eps", "Added to the Frobenius norm before the iterations."}, c.ns_eps, 0.0, 1.0);
  v.field({"ns_dtype", "Number type of the iterations: that of the run, or bfloat16."}, c.ns_dtype);
  v.field({"ns_form", "The polynomial is grouped as (b A + c A A) X, or summed term by term."}, c.ns_form);
  v.field({"ns_norm", "With ns_dtype \"bfloat16\": the norm is that of the rounded matrix, or of the exact one."},
          c.ns_norm);
  v.field({"ns_rounding",
           "With ns_dtype \"bfloat16\": each product and each sum is rounded, or a product with what is added to it."},
          c.ns_rounding);
  v.field({"second_moment_beta2",
           "Decay of the second moments that even out the rows or columns of an update (NorMuon); null: none."},
          c.second_moment_beta2, 0.0, 1.0);
  v.field({"split_qkv", "Stacked or merged queries, keys and values count as three matrices; false: as one."},
          c.split_qkv);
  v.field({"update_scale", "Factor on the orthogonal update by the shape of its matrix."}, c.update_scale);
  v.field({"rate_multiplier", "Factor on the rate beside that of the shape."}, c.rate_multiplier, 0.0, 1e3);
  v.field({"blockwise",
           "Each matrix that is made orthogonal has its own norm and second moments, also where several are one "
           "parameter."},
          c.blockwise);
  v.field({"shape_of",
           "With blockwise: the matrix, or the parameter that holds it, chooses factor and dimension by its shape."},
          c.shape_of);
  v.field({"query_key_blocks",
           "Rows of queries and of keys that are made orthogonal together: all, or one of so many parts.", "parts"},
          c.query_key_blocks, 1, 1024);
  v.field({"mean_axis", "With blockwise: second moments are means over what the shape chooses, or over each row."},
          c.mean_axis);
  v.field({"scale_application", "The scale multiplies the rate, or the update in the number type of the iterations."},
          c.scale_application);
  v.active_always();
}

static void visit_fields(FieldVisitor& v, GradientClipConfig& c) {
  v.field({"type", "Gradients are left alone, scaled by their common norm, or divided by the norm of each parameter."},
          c.type);
  v.active_when("type", c.type, GradientClipType::kGlobalNorm);
  v.field({"max_norm", "Gradients with a larger common norm are scaled down to it."}, c.max_norm, 0.0, 1e9);
  v.active_always();
}

static void visit_fields(FieldVisitor& v, OptimizerConfig& c) {
  v.group({"embeddings", "Token, value and position tables."}, c.embeddings);
  v.group({"lm_head", "The head's matrix, unless it is the token table."}, c.lm_head);
  v.group({"hidden_matrices", "The matrices of the blocks."}, c.hidden_matrices);
  v.group({"scalars", "Mixing and skip weights, biases, and the parameters of norms."}, c.scalars);
  v.families({"families",
              "Families of parameters by name, such as mlp.c_proj, each with the fields of a group in which it differs "
              "from its own."},
             c);
  v.group({"gradient_clip", "What is done to the averaged gradients before the optimisers see them."}, c.gradient_clip);
}

static void visit_fields(FieldVisitor& v, RateStage& c) {
  v.field({"from", "The first step of the stage.", "steps"}, c.from, 0, kMaxCount);
  v.field({"factor", "Factor on the rates."}, c.factor, 0.0, 1e3);
}

static void visit_fields(FieldVisitor& v, LearningRateConfig& c) {
  v.field({"shape", "After the warm-up the rate is flat and then falls linearly, or falls along a cosine."}, c.shape);
  v.field({"warmup_steps", "Steps over which the rate rises linearly.", "steps"}, c.warmup_steps, 0, kMaxCount);
  v.active_when("shape", c.shape, LearningRateShape::kTrapezoid);
  v.field({"cooldown_steps", "Last steps, over which the rate falls linearly; a fraction is allowed.", "steps"},
          c.cooldown_steps, 0.0, 1e12);
  v.list({"stages", "A list of stages: the step `from` which each holds, and a `factor` on all rates but their floor."},
         c.stages);
  v.active_always();
  v.field({"floor", "Fraction of the base rate that remains at the end."}, c.floor, 0.0, 1.0);
  v.field({"covers_extension", "The schedule runs over the extension steps too; false: it ends with num_steps."},
          c.covers_extension);
}

static void visit_fields(FieldVisitor& v, MomentumConfig& c) {
  v.field({"start", "Momentum at step 0."}, c.start, 0.0, 1.0);
  v.field({"end", "Momentum after the warm-up."}, c.end, 0.0, 1.0);
  v.field({"warmup_steps", "Steps over which the momentum changes linearly.", "steps"}, c.warmup_steps, 0, kMaxCount);
  v.field({"cooldown_steps", "Last steps, over which the momentum returns to its start.", "steps"}, c.cooldown_steps, 0,
          kMaxCount);
  v.field({"hold", "After the warm-up the momentum is `end`, or stays at the value of the warm-up's last step."},
          c.hold);
}

static void visit_fields(FieldVisitor& v, ScheduleConfig& c) {
  v.field({"num_steps", "Length of the schedules of learning rate and window.", "steps"}, c.num_steps, 1, kMaxCount);
  v.field({"extension_steps", "Steps after num_steps, with the last window and rate.", "steps"}, c.extension_steps, 0,
          kMaxCount);
  v.group({"learning_rate", "Factor on all learning rates over the run."}, c.learning_rate);
  v.field({"rate_factor", "Factor on the learning rates of all groups at every step, as a sweep of stability sets it."},
          c.rate_factor, 1e-6, 1e6);
  v.group({"muon_momentum", "Muon's momentum over the run."}, c.muon_momentum);
}

static void visit_fields(FieldVisitor& v, LoaderConfig& c) {
  v.field({"position", "Each rank keeps its own place in the data, or all ranks share one."}, c.position);
  v.field({"reserve_tokens", "Tokens that must remain in a shard after a read.", "tokens"}, c.reserve_tokens, 0, 1);
  v.field({"sequences_per_read", "Sequences that a rank reads at once: its micro-batch.", "sequences"},
          c.sequences_per_read, 1, 1 << 20);
  v.field({"first_read_twice", "Steps 0 and 1 train on the same batch."}, c.first_read_twice);
  v.field({"wrap", "After the last shard comes the first; false: the run ends with an error."}, c.wrap);
  v.field({"order", "Shards and their reads come in order, or in an order drawn from the seed."}, c.order);
  v.field({"alignment",
           "Training sequences follow each other without gaps, begin with a document, or consist of whole documents."},
          c.alignment);
  v.field({"max_document_length", "Longer documents are cut; null: none. For the alignment \"documents\".", "tokens"},
          c.max_document_length, 1, kMaxTokens);
  v.field({"cut_target",
           "What the last token left of a cut document is to predict: the beginning of the next document, or the token "
           "that was cut off."},
          c.cut_target);
  v.field({"search_window",
           "With the alignment \"bos\", a step's sequences are searched for in so many times its tokens.", "steps"},
          c.search_window, 2, 1 << 20);
  v.field({"storage", "Where the tokens of a shard lie: in the mapped file, in memory, or in locked memory."},
          c.storage);
  v.field({"fetch", "When the tokens of a step are fetched: at its start, or during the step before."}, c.fetch);
  v.field({"token_dtype", "Integer type of the model's inputs."}, c.token_dtype);
}

static void visit_fields(FieldVisitor& v, DataStage& c) {
  v.field({"from", "The first step of the stage.", "steps"}, c.from, 0, kMaxCount);
  v.field({"sequence_length", "Length of a training sequence.", "tokens"}, c.sequence_length, 1, kMaxTokens);
  v.field({"max_document_length", "Longer documents are cut.", "tokens"}, c.max_document_length, 1, kMaxTokens);
}

static void visit_fields(FieldVisitor& v, DataConfig& c) {
  v.field({"sequence_length", "Length of a training sequence (T).", "tokens"}, c.sequence_length, 1, kMaxTokens);
  v.field({"sequences_per_step", "Sequences in the batch of a step, over all ranks.", "sequences"},
          c.sequences_per_step, 1, 1 << 20);
  v.field({"ranks", "Data-parallel ranks that share the batch of a step.", "ranks"}, c.ranks, 1, 1 << 16);
  v.group({"loader", "Which tokens a rank reads, and when."}, c.loader);
  v.list({"stages",
          "A list of stages: the step `from` which each holds, its `sequence_length` and `max_document_length`; "
          "sequence_length is the longest of them."},
         c.stages);
  v.field({"val_sequences", "Sequences of one validation, over all ranks.", "sequences"}, c.val_sequences, 1, 1 << 20);
  v.field({"val_sequence_length", "Length of a validation sequence; null: sequence_length.", "tokens"},
          c.val_sequence_length, 1, kMaxTokens);
}

static void visit_fields(FieldVisitor& v, RunConfig& c) {
  v.field({"stop_after", "Steps that are trained; at most schedule/num_steps and extension_steps.", "steps"},
          c.stop_after, 0, kMaxCount);
  v.field({"val_every", "Steps between validations; the last step is always validated.", "steps"}, c.val_every, 1,
          kMaxCount);
  v.field({"untimed_steps", "Steps before the training clock starts.", "steps"}, c.untimed_steps, 0, kMaxCount);
  v.field({"warmup_iterations", "Training steps before step 0 whose effect is undone.", "steps"}, c.warmup_iterations,
          0, kMaxCount);
  v.field({"val_gradients", "Validation records what a backward pass would need."}, c.val_gradients);
  v.field({"gradient_reduction", "Summed gradients are divided by the sequences of the step, or by the ranks only."},
          c.gradient_reduction);
  v.field({"loss_reduction", "Gradients are those of the mean loss of a sequence's tokens, or of its sum."},
          c.loss_reduction);
  v.field({"gradient_steps", "Steps whose gradients a trace keeps."}, c.gradient_steps, 0, kMaxCount);
}

static void visit_fields(FieldVisitor& v, TargetStage& c) {
  v.field({"from", "The first step of the stage.", "steps"}, c.from, 0, kMaxCount);
  v.field({"to", "The step at which the weights reach their end.", "steps"}, c.to, 0.0, 1e12);
  v.field({"start", "Weights of the next tokens at first."}, c.start, 0.0, 1e3);
  v.field({"end", "Weights of the next tokens at the end."}, c.end, 0.0, 1e3);
}

static void visit_fields(FieldVisitor& v, WeightStage& c) {
  v.field({"from", "The first step of the stage.", "steps"}, c.from, 0, kMaxCount);
  v.field({"to", "The step at which the weight reaches its end.", "steps"}, c.to, 0.0, 1e12);
  v.field({"start", "The weight at first."}, c.start, 0.0, 1e3);
  v.field({"end", "The weight at the end."}, c.end, 0.0, 1e3);
}

static void visit_fields(FieldVisitor& v, LossConfig& c) {
  v.list(
      {"multi_token",
       "A list of stages: from step `from` to step `to` the weights of the next tokens, in order, go from `start` to "
       "`end`; none: the next token alone."},
      c.multi_token);
  v.field({"multi_token_normalizer",
           "In gradients the softmax counts for the weights of existing targets, or for all at the end of a sequence "
           "too."},
          c.multi_token_normalizer);
  v.list(
      {"prefix",
       "A list of stages: from step `from` to step `to` the weight of another target goes from `start` to `end`: the "
       "longest token that the next token's bytes begin with; none: there is no such target."},
      c.prefix);
}

static void visit_fields(FieldVisitor& v, InitConfig& c) {
  v.field({"file",
           "Initial parameters as safetensors, relative to the configuration's folder; null: drawn from the "
           "seed."},
          c.file);
  v.field({"scheme", "How parameters are drawn: as the records do, or as GPT-2 does."}, c.scheme);
  v.active_when("scheme", c.scheme, InitScheme::kRecords);
  v.field({"embeddings", "The token table: as the head demands, standard normal, or like a linear layer."},
          c.embeddings);
  v.field({"output_projections", "The last matrix of each attention and each MLP: zero, or like a linear layer."},
          c.output_projections);
  v.field({"lm_head", "The head's matrix: zero, or like a linear layer."}, c.lm_head);
  v.field({"value_table_std", "Standard deviation of the value tables; null: 1."}, c.value_table_std, 0.0, 1e3);
  v.field({"lm_head_std",
           "The head, and a token table that starts as the head, are normal with this standard deviation; null: as "
           "lm_head and embeddings say."},
          c.lm_head_std, 0.0, 1e3);
  v.field({"attention_std", "In place of model.linear_init_std for the matrices of attention; null: that."},
          c.attention_std, 0.0, 1e3);
  v.field({"linear_attention_outputs",
           "The output projections of attention begin like linear layers, whatever output_projections says."},
          c.linear_attention_outputs);
  v.active_always();
  v.field({"zero_init_std",
           "Standard deviation of matrices that start at zero otherwise, times the root of their "
           "inputs."},
          c.zero_init_std, 0.0, 1e3);
  v.field({"scalar_std", "Standard deviation of the noise that is added to initial scalars."}, c.scalar_std, 0.0, 1e3);
  v.field({"resid_lambda", "First value of the weights on a layer's input in residual_scaling."}, c.resid_lambda, -1e3,
          1e3);
  v.field({"bigram_lambda", "First value of the weights on the rows of the pairs' table."}, c.bigram_lambda, -1e3, 1e3);
  v.field({"note", "A remark for people."}, c.note);
}

static void visit_fields(FieldVisitor& v, Fp8Config& c) {
  v.field({"x_scale", "Factor on the activations before they are rounded to e4m3."}, c.x_scale, 1e-12, 1e12);
  v.field({"weight_scale", "Factor on the weights before they are rounded to e4m3."}, c.weight_scale, 1e-12, 1e12);
  v.field({"grad_scale", "Factor on the gradients before they are rounded to e5m2."}, c.grad_scale, 1e-12, 1e12);
}

static void visit_fields(FieldVisitor& v, DelayedFp8Config& c) {
  v.field({"activation_margin", "The range of the activations is so many times that of the last forward pass."},
          c.activation_margin, 1e-3, 1e3);
  v.field({"weight_margin", "The range of the weights is so many times that before the last update."}, c.weight_margin,
          1e-3, 1e3);
  v.field({"exact_weight_steps", "After the first so many updates the weights have their own range."},
          c.exact_weight_steps, 0, 1 << 30);
}

static void visit_fields(FieldVisitor& v, PrecisionConfig& c) {
  v.field({"activations",
           "What is rounded to bfloat16: nothing, matrix products and attention, or the residual stream "
           "too."},
          c.activations);
  v.field({"validation", "Validation rounds like training, or not at all."}, c.validation);
  v.field({"parameters",
           "Parameters in float32, bfloat16 copies with stochastic rounding beside float32 masters, or products by "
           "the upper 16 bits of the blocks' matrices."},
          c.parameters);
  v.field({"embeddings", "Storage of the tables and of their Adam state."}, c.embeddings);
  v.field({"scalars", "Storage of mixing and skip weights and of their Adam state."}, c.scalars);
  v.field({"linear_init", "Initial values of the matrices are rounded once."}, c.linear_init);
  v.field({"rotary_tables", "Rotary tables in float32, rounded to bfloat16, or made from rounded frequencies."},
          c.rotary_tables);
  v.field({"rotation", "Queries and keys are turned in float32, or rounded to bfloat16 first."}, c.rotation);
  v.field({"logits", "The number type in which the soft cap is taken."}, c.logits);
  v.field({"cross_entropy",
           "The number type of soft cap and log-softmax in training, forward and backward, or of the cap's sigmoid "
           "alone."},
          c.cross_entropy);
  v.field({"lm_head", "Storage of the head's matrix and of its Adam state."}, c.lm_head);
  v.field({"gates", "Storage of the gates' matrices and of their momentum."}, c.gates);
  v.field({"adam_state", "Storage of Adam's moments: that of the parameter, or bfloat16."}, c.adam_state);
  v.field({"head", "The head's product has the precision of the activations, or 8-bit operands."}, c.head);
  v.active_when("head", c.head, ProductPrecision::kFp8);
  v.group({"fp8", "The head in 8-bit floating point."}, c.fp8);
  v.active_always();
  v.field(
      {"mlp_up", "The first product of an MLP has the precision of the activations, or in training 8-bit operands."},
      c.mlp_up);
  v.field({"mlp_down",
           "The second product of an MLP has the precision of the activations, or in training 8-bit "
           "operands with earlier ranges."},
          c.mlp_down);
  v.active_when("mlp_down", c.mlp_down, ProductPrecision::kFp8);
  v.group({"mlp_down_fp8", "The ranges of the MLP's second product in 8-bit floating point."}, c.mlp_down_fp8);
  v.active_always();
}

static void visit_fields(FieldVisitor& v, DistributedConfig& c) {
  v.field({"processes", "Processes of the run; each plays data/ranks over processes ranks.", "processes"}, c.processes,
          1, 1 << 16);
  v.field({"gradient_sync", "Gradients are summed over processes after the last micro-step, or after each."},
          c.gradient_sync);
  v.field({"reduction",
           "Gradients are summed in buckets during the backward pass, in buckets after it, or one "
           "parameter after the other."},
          c.reduction);
  v.field({"buckets", "Gradients live in the buckets, or are copied in and out."}, c.buckets);
  v.field({"bucket_bytes", "Size of a bucket of gradients.", "bytes"}, c.bucket_bytes, 1, std::int64_t{1} << 40);
  v.field({"muon",
           "Who makes Muon's updates orthogonal: every process all of them, or each its share, which is then "
           "summed or gathered."},
          c.muon);
  v.field({"all_gather", "A round of updates is gathered while the next one is computed, or waited for."},
          c.all_gather);
  v.field({"gather_buffer", "Updates are gathered into one contiguous tensor, or into one for each process."},
          c.gather_buffer);
  v.field({"ragged_groups", "The matrices of one size need not be a multiple of the processes."}, c.ragged_groups);
  v.field({"muon_groups", "Matrices that are shared out together have as many elements, or the same shape."},
          c.muon_groups);
  v.field({"gradient_sums",
           "Every process gets every sum of gradients, or each only those from which it updates its share of the "
           "parameters, which are gathered afterwards."},
          c.gradient_sums);
}

static void visit_fields(FieldVisitor& v, GpuConfig& c) {
  v.field({"expandable_segments", "LibTorch's allocator grows its segments instead of adding new ones."},
          c.expandable_segments);
  v.field({"initial_backward", "A backward pass through one number comes before everything else."}, c.initial_backward);
  v.field({"step_graph", "Forward and backward pass of a sequence are one CUDA graph for the whole run."},
          c.step_graph);
  v.field({"attention_products",
           "Attention uses the tensor-core instructions of one warp, or of four (compute "
           "capability 9.0)."},
          c.attention_products);
}

void visit_fields(FieldVisitor& v, TrainConfig& c) {
  v.field({"name", "Name of the configuration in reports; no part of its identity."}, c.name);
  v.group({"model", "The GPT."}, c.model);
  v.group({"attention", "Which tokens see which, and how that is computed."}, c.attention);
  v.group({"optimizer", "One optimiser for each group of parameters."}, c.optimizer);
  v.group({"schedule", "What changes over the run."}, c.schedule);
  v.group({"data", "Batches of training and validation."}, c.data);
  v.group({"run", "Length of the run, validations and clock."}, c.run);
  v.group({"loss", "The training loss."}, c.loss);
  v.group({"init", "How parameters begin."}, c.init);
  v.group({"precision", "Where values are rounded; arithmetic stays float32 or float64."}, c.precision);
  v.group({"distributed", "Data parallelism over processes; all but processes acts only with two or more."},
          c.distributed);
  v.group({"gpu", "Settings of the GPU itself; a run on the CPU refuses features that change them."}, c.gpu);
}

}  // namespace nanobench::core
