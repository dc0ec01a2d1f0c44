#include "engine/ops/device_embedding.h"

#include "core/base/op_timer.h"

namespace nanobench::core {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Properties of a weight's gradient, kept in autograd's saved data.
struct WeightShape {
  std::int64_t rows, tables, width;

  std::int64_t stride() const { return tables * width; }
};
struct WeightShapes : torch::CustomClassHolder {
  explicit WeightShapes(std::vector<WeightShape> weights) : all(std::move(weights)) {}
  std::vector<WeightShape> all;
};

struct DeviceEmbedding : torch::autograd::Function<DeviceEmbedding> {
  static variable_list forward(AutogradContext* context, const at::Tensor& tokens, at::TensorList weights,
                               const c10::intrusive_ptr<WeightShapes>& shapes) {
    const OpTimer timer("embedding_tables");
    variable_list outputs;
    std::vector<cuda::EmbeddingTable> tables;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const WeightShape& shape = shapes->all[i];
      for (std::int64_t table = 0; table < shape.tables; ++table) {
        outputs.push_back(at::empty({tokens.numel(), shape.width}, weights[i].options().dtype(at::kBFloat16)));
        tables.push_back({.rows = float_data(weights[i]) + table * shape.width,
                          .stride = shape.stride(),
                          .width = shape.width,
                          .output = bf16_data(outputs.back())});
      }
    }
    const CudaKernels& kernels = *cuda_kernels();
    kernels.embedding_forward(tokens.numel(), tokens.const_data_ptr<std::int32_t>(), tables, kernels.stream());
    context->save_for_backward({tokens});
    context->saved_data["shapes"] = c10::IValue::make_capsule(shapes);
    context->set_materialize_grads(false);
    return outputs;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const OpTimer timer("embedding_tables");
    const at::Tensor tokens = context->get_saved_variables()[0];
    const auto shapes = c10::static_intrusive_pointer_cast<WeightShapes>(context->saved_data["shapes"].toCapsule());
    variable_list result(shapes->all.size() + 2);  // of the tokens, the weights, the shapes
    std::vector<cuda::EmbeddingGradient> tables;
    auto gradient = gradients.begin();
    for (std::size_t i = 0; i < shapes->all.size(); ++i) {
      const WeightShape& shape = shapes->all[i];
      at::Tensor& dweight = result[i + 1];
      for (std::int64_t table = 0; table < shape.tables; ++table, ++gradient) {
        if (!gradient->defined()) continue;
        *gradient = as_bfloat16(*gradient);
        if (!dweight.defined())
          dweight = at::zeros({shape.rows, shape.stride()}, gradient->options().dtype(at::kFloat));
        tables.push_back({.output = bf16_data(*gradient),
                          .rows = float_data(dweight) + table * shape.width,
                          .stride = shape.stride(),
                          .width = shape.width});
      }
    }
    if (!tables.empty()) sum_by_token(tokens, tables);
    return result;
  }

 private:
  static void sum_by_token(const at::Tensor& tokens, const std::vector<cuda::EmbeddingGradient>& tables) {
    const auto [sorted, positions] = at::sort(tokens, /*stable=*/std::optional(true), /*dim=*/0);
    const CudaKernels& kernels = *cuda_kernels();
    kernels.embedding_backward(tokens.numel(), sorted.const_data_ptr<std::int32_t>(),
                               positions.const_data_ptr<std::int64_t>(), tables, kernels.stream());
  }
};

}  // namespace

std::vector<at::Tensor> device_embedding(const at::Tensor& tokens, const std::vector<JoinedTables>& tables) {
  variable_list weights;
  std::vector<WeightShape> shapes;
  for (const auto& [weight, count] : tables) {
    TORCH_CHECK(weight.dim() == 2 && weight.is_contiguous() && weight.size(1) % count == 0,
                "device_embedding: ", weight.sizes(), " does not join ", count, " tables");
    weights.push_back(weight);
    shapes.push_back({.rows = weight.size(0), .tables = count, .width = weight.size(1) / count});
  }
  return DeviceEmbedding::apply(tokens.to(at::kInt).contiguous(), at::TensorList(weights),
                                c10::make_intrusive<WeightShapes>(std::move(shapes)));
}

}  // namespace nanobench::core
