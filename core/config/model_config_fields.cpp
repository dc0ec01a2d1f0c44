// The fields of the model in the list of TrainConfig's JSON fields (train_config_fields.cpp).
#include "core/config/train_config_fields.h"
#include "core/config/train_config_names.h"

namespace nanobench::core {

static void visit_fields(FieldVisitor& v, RopeConfig& c) {
  v.field({"base", "Base of the geometric series of rotary frequencies."}, c.base, 1.0, 1e9);
  v.field({"half_truncate", "Half of the rotary pairs turn and the others stand still; false: all pairs turn."},
          c.half_truncate);
  v.field({"precompute",
           "The tables are computed once for max_seq_len positions; false: in each forward pass. The "
           "numbers are the same."},
          c.precompute);
  v.field({"max_seq_len", "Positions in the rotary tables, or rows of the table of learned positions.", "tokens"},
          c.max_seq_len, 1, kMaxTokens);
  v.field({"window_scaling", "Each change of the attention window slows the rotary frequencies down (YaRN), or not."},
          c.window_scaling);
  v.field({"pairing", "Rotated pairs are halves of a head apart, or neighbours."}, c.pairing);
}

static void visit_fields(FieldVisitor& v, ValueEmbeddingConfig& c) {
  v.field({"source",
           "What is mixed into the attention values of a layer: nothing, the values of the first layer, or a "
           "table that is looked up by token."},
          c.source);
  v.field({"num_tables", "Number of value tables; 0 unless the source is \"tokens\".", "tables"}, c.num_tables, 0,
          1024);
  v.field({"layer_map", "The value table of each layer, or null; one entry a layer."}, c.layer_map, 0, 1023);
  v.field({"mix",
           "How values are mixed: not at all, by one weight a layer (v + w (v1 - v)), by a pair of weights, as a sum, "
           "or as a sum with learned gates."},
          c.mix);
  v.field(
      {"layout", "The tables are separate parameters, or lie side by side in one matrix. The numbers are the same."},
      c.layout);
  v.field({"gate_dim", "Features that the gates of values read.", "features"}, c.gate_dim, 1, 1 << 20);
  v.field({"split_gate_layers", "Layers whose gates read half of these features from the value table's row."},
          c.split_gate_layers, 0, 1023);
}

static void visit_fields(FieldVisitor& v, SkipConfig& c) {
  v.field({"from", "The layer whose output is added.", "layer"}, c.from, 0, 1023);
  v.field({"to", "The layer that begins with the addition; null: none does.", "layer"}, c.to, 0, 1023);
  v.field({"gate", "The skip has a gate that reads the embedding, or a generated one, or none."}, c.gate);
  v.field({"gate_dim", "Features that this gate reads.", "features"}, c.gate_dim, 1, 1 << 20);
  v.field({"tap", "What is added: the layer's output, or the stream between its attention and its MLP."}, c.tap);
}

static void visit_fields(FieldVisitor& v, TwoLanesConfig& c) {
  v.field({"first_layer",
           "The first layer with two residual streams, of which attention reads one and the MLP the "
           "other; null: there is one.",
           "layers"},
          c.first_layer, 0, 1023);
  v.field({"injection",
           "What gets the embedding and the pair's row: the output of attention, or the first stream; the output of "
           "attention then has no weight in the layers before."},
          c.injection);
}

static void visit_fields(FieldVisitor& v, LateAttentionConfig& c) {
  v.field({"first_layer", "From this layer on attention reads an earlier output; null: nowhere.", "layer"},
          c.first_layer, 0, 1023);
  v.field({"source_layer", "The layer whose output it reads.", "layer"}, c.source_layer, 0, 1023);
}

static void visit_fields(FieldVisitor& v, MuddConfig& c) {
  v.field({"hidden", "Width of the MLPs that make the coefficients; 0: there are none.", "features"}, c.hidden, 0,
          1 << 20);
  v.field({"scale", "Factor on the coefficients."}, c.scale, 0.0, 1e3);
  v.field({"layer", "The layer whose sums have coefficients of each token.", "layer"}, c.layer, 0, 1023);
  v.field({"cached_layer", "The layer whose output all sums contain.", "layer"}, c.cached_layer, 0, 1023);
  v.field({"skip_layer", "The layer whose output the sum before the head contains.", "layer"}, c.skip_layer, 0, 1023);
  v.field({"value_table", "The value table whose row the sum before the head contains.", "table"}, c.value_table, 0,
          1023);
}

static void visit_fields(FieldVisitor& v, GateSetConfig& c) {
  v.field({"at", "The layer whose input is read; null: the embedding.", "layer"}, c.at, 0, 1023);
  v.field({"xsa_layers", "Layers that get the shares of own values."}, c.xsa_layers, 0, 1023);
  v.field({"attention_gate_layers", "Layers that get gates of heads."}, c.attention_gate_layers, 0, 1023);
  v.field({"inject_layers", "Layers that get weights of the embedding and of the pair's row."}, c.inject_layers, 0,
          1023);
  v.field({"has_skip", "The skip's gate is among them."}, c.has_skip);
  v.field({"dc_layers", "Layers whose heads are composed."}, c.dc_layers, 0, 1023);
}

static void visit_fields(FieldVisitor& v, GeneratedGatesConfig& c) {
  v.field({"hidden", "Width of the MLPs that make the numbers; 0: there are none.", "features"}, c.hidden, 0, 1 << 20);
  v.list({"sets",
          "A list of sets: `at`, the layer whose input an MLP reads (null: the embedding), and what it makes: "
          "`xsa_layers`, `attention_gate_layers`, `inject_layers`, `has_skip`, `dc_layers`."},
         c.sets);
}

static void visit_fields(FieldVisitor& v, DcAttentionConfig& c) {
  v.field({"window", "Keys that composed heads see.", "tokens"}, c.window, 1, kMaxTokens);
  v.field({"eps", "Added to the mean square of the factors of the heads."}, c.eps, 0.0, 1.0);
}

static void visit_fields(FieldVisitor& v, BigramConfig& c) {
  v.field({"rows", "Rows of the table; 0: there is none.", "rows"}, c.rows, 0, kMaxTokens - 1);
  v.field({"dim", "Features of a row; the rest of the stream gets nothing.", "features"}, c.dim, 1, 1 << 20);
  v.field({"token_multiplier", "Factor on the token in the hash."}, c.token_multiplier, 1, kMaxTokens - 1);
  v.field({"previous_multiplier", "Factor on the token before it in the hash."}, c.previous_multiplier, 1,
          kMaxTokens - 1);
  v.field({"previous_of_first", "What the second position hashes for the first token: the reserved row, or the token."},
          c.previous_of_first);
  v.field({"sign_rows", "Rows of a table of signs that multiply the features of a pair; 0: none.", "rows"}, c.sign_rows,
          0, 1 << 24);
  v.field({"x0_included", "The embedding contains the pair's row wherever it is read after the first addition."},
          c.x0_included);
}

static void visit_fields(FieldVisitor& v, LogitCapConfig& c) {
  v.field({"scale", "Factor on the sigmoid; null: logits have another cap, or none."}, c.scale, 1e-3, 1e6);
  v.field({"shift", "Added to the logits before the sigmoid."}, c.shift, -1e6, 1e6);
  v.field({"divisor", "Divides the shifted logits."}, c.divisor, 1e-3, 1e6);
}

/// Fields of what joins the layers: skips and what is added to the stream.
static void visit_fields_of_layers(FieldVisitor& v, ModelConfig& c) {
  v.field({"unet_skips",
           "The second half of the layers adds the outputs of the first half in mirrored order, each with "
           "a learned weight."},
          c.unet_skips);
  v.field({"unet_skip_gate", "A U-net skip is multiplied by its learned weight, or by the sigmoid of that weight."},
          c.unet_skip_gate);
  v.group({"skip", "One skip connection, times the sigmoid of a learned number."}, c.skip);
  v.group({"bigram", "A table that is looked up by hashed pairs of tokens."}, c.bigram);
  v.field({"residual_scaling",
           "Every layer blends its input with the embedding by learned weights of one list for all layers, or not."},
          c.residual_scaling);
  v.field(
      {"x0_injection",
       "The embedding is added at the start of each layer, or after its attention, by learned or generated weights."},
      c.x0_injection);
  v.group({"two_lanes", "Two residual streams in the last layers."}, c.two_lanes);
  v.group({"late_attention_input", "An earlier layer's output as the input of late attention."},
          c.late_attention_input);
  v.group({"generated_gates", "Numbers of each token in place of learned numbers."}, c.generated_gates);
  v.group({"dc_attention", "Heads composed for each token, in layers that the generated gates name."}, c.dc_attention);
  v.group({"mudd", "Coefficients of each token for the sums of one layer and of the head."}, c.mudd);
  v.field({"x0_lambdas", "Every layer blends its input with the embedding by two learned weights."}, c.x0_lambdas);
}

/// Fields of attention in records #47 on.
static void visit_fields_of_late_attention(FieldVisitor& v, ModelConfig& c) {
  v.field({"attention_weight_lambdas",
           "Learned numbers multiply the weights of queries, keys and values, and the value embedding or the output's "
           "weight, or not."},
          c.attention_weight_lambdas);
  v.field(
      {"paired_head_layers",
       "Layers that read their heads as half as many over a sequence twice as long: one of two sees the other's keys."},
      c.paired_head_layers, 0, 1023);
  v.field({"paired_head_order", "Paired heads lie half of all heads apart, or are neighbours with positions in order."},
          c.paired_head_order);
  v.field({"xsa_layers", "Layers whose heads lose a learned share of their part along the token's own values."},
          c.xsa_layers, 0, 1023);
  v.field({"key_offset_layers", "Layers whose keys take some dimensions from the key before them."},
          c.key_offset_layers, 0, 1023);
  v.field({"key_offset_dims", "Those dimensions: the upper half of a head, or its second and its fourth quarter."},
          c.key_offset_dims);
  v.field({"key_offset_copy",
           "Each key copies them from the previous key as computed, or from the previous key after its own copy, which "
           "spreads the first key's."},
          c.key_offset_copy);
}

/// Fields of layouts of parameters, gates and factors.
static void visit_fields_of_layouts(FieldVisitor& v, ModelConfig& c) {
  v.field({"embed_norm", "The token embedding is normalised."}, c.embed_norm);
  v.field({"tied_head", "The head's matrix is the token table."}, c.tied_head);
  v.field({"untie_step",
           "The head and the token table share their weights until the update of this step; -1: they only start equal; "
           "null: neither.",
           "steps"},
          c.untie_step, -1, kMaxCount);
  v.field({"merged_qkv", "Queries, keys and values come from one parameter of shape [3, C, C]."}, c.merged_qkv);
  v.field({"qkv_rows", "Queries, keys and values have a matrix each, or are stacked as the rows of one matrix."},
          c.qkv_rows);
  v.field({"merged_qkvo",
           "The projections of queries, keys, values and output have parameters of their own, or are one of shape [4, "
           "C, C], or one of shape [C, 4 C] or [4 C, C]."},
          c.merged_qkvo);
  v.field({"mlp_proj_transposed", "The second matrix of the MLP is stored with its inputs as rows."},
          c.mlp_proj_transposed);
  v.field({"mlp_fc_transposed", "The first matrix of the MLP is stored with its inputs as rows."}, c.mlp_fc_transposed);
  v.field({"attention_gate_dim", "Features that a learned gate of each head reads; 0: no gate.", "features"},
          c.attention_gate_dim, 0, 1 << 20);
  v.field({"attention_gate_skip_layers", "Layers without these gates, counted from 0."}, c.attention_gate_skip_layers,
          0, 1023);
  v.field(
      {"smear_gate_dim",
       "Features that the gate reads by which each embedding takes a share of the one before it; 0: none.", "features"},
      c.smear_gate_dim, 0, 1 << 20);
  v.field({"backout_layer",
           "Layer whose output, times a learned factor, is subtracted before the head; null: nothing is subtracted."},
          c.backout_layer, 0, 1023);
  v.field(
      {"unread_rows",
       "Keeps rows of weights that nothing reads: those that pad the sets of coefficients and of generated gates to "
       "the size of the larger one, and one row of the gates of value embeddings."},
      c.unread_rows);
  v.field({"attention_scale", "Factor on the products of queries and keys; null: 1 over the root of the head width."},
          c.attention_scale, 1e-6, 1e3);
  v.field({"attention_scale_growth",
           "When the window changes, attention_scale is multiplied by 1 + this times the logarithm of their ratio."},
          c.attention_scale_growth, 0.0, 10.0);
  v.field({"attention_branch_scale", "Factor on the output of attention before it joins the residual stream."},
          c.attention_branch_scale, -1e3, 1e3);
  v.field({"linear_init_std",
           "Standard deviation of initial matrices, times the root of their inputs; null: uniform "
           "within plus and minus 1 over that root."},
          c.linear_init_std, 0.0, 1e3);
}

void visit_fields(FieldVisitor& v, ModelConfig& c) {
  v.field({"num_layers", "Number of transformer blocks (L).", "layers"}, c.num_layers, 1, 1024);
  v.field({"num_heads", "Number of attention heads (H).", "heads"}, c.num_heads, 1, 1024);
  v.field({"num_kv_heads", "Number of heads of keys and values; must divide num_heads.", "heads"}, c.num_kv_heads, 1,
          1024);
  v.field({"model_dim", "Width of the residual stream (C).", "features"}, c.model_dim, 2, 1 << 20);
  v.field({"mlp_ratio", "Width of the MLP's hidden layer over model_dim."}, c.mlp_ratio, 1, 64);
  v.field({"vocab_size", "Number of distinct tokens (V).", "tokens"}, c.vocab_size, 2, 65536);
  v.field({"vocab_pad_multiple", "The head's rows are padded to a multiple of this.", "tokens"}, c.vocab_pad_multiple,
          1, 65536);
  v.field({"vocab_pad_embeddings", "The token and value tables are padded like the head."}, c.vocab_pad_embeddings);
  v.field({"norm", "RMSNorm without parameters, or LayerNorm with weight and bias."}, c.norm);
  v.field({"position",
           "How positions enter: by rotation of queries and keys, by a learned table added to the token "
           "embedding, or not at all."},
          c.position);
  v.field({"bias", "Every linear layer of the blocks has a bias."}, c.bias);
  v.field({"activation", "Activation of the MLP."}, c.activation);
  v.field({"norm_eps", "Added to the mean square inside a norm."}, c.norm_eps, 0.0, 1.0);
  v.field({"qk_norm", "Queries and keys are normalised in each head."}, c.qk_norm);
  v.field({"qk_norm_eps", "Added to the mean square in the norm of queries and keys; null: norm_eps."}, c.qk_norm_eps,
          0.0, 1.0);
  v.field(
      {"qk_norm_position", "Queries and keys are normalised before or after their rotation; only rounding differs."},
      c.qk_norm_position);
  v.group({"rope", "Rotary position encoding."}, c.rope);
  v.group({"value_embeddings", "What is mixed into the values of attention."}, c.value_embeddings);
  v.field({"attention_skip_layers", "Layers without attention, counted from 0."}, c.attention_skip_layers, 0, 1023);
  v.field({"mlp_skip_layers", "Layers without MLP, counted from 0."}, c.mlp_skip_layers, 0, 1023);
  v.field({"skip_layers", "Layers that are left out altogether; the others keep their numbers."}, c.skip_layers, 0,
          1023);
  v.field({"logit_softcap", "Logits are squashed smoothly into plus and minus this value; null: not at all."},
          c.logit_softcap, 1e-3, 1e6);
  v.field({"logit_softcap_form", "The squashing function: the scaled hyperbolic tangent or a sigmoid."},
          c.logit_softcap_form);
  v.group({"logit_cap", "Logits as a multiple of a sigmoid with shift."}, c.logit_cap);
  v.field({"logit_scale", "Factor on the logits before they are squashed."}, c.logit_scale, 1e-6, 1e3);
  visit_fields_of_layers(v, c);
  visit_fields_of_late_attention(v, c);
  visit_fields_of_layouts(v, c);
}

}  // namespace nanobench::core
