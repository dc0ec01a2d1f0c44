// Functions that every path defines in its own namespace; engine/kernels/dispatch/paths.h includes this once per path.
void multiply_matrices(const MatrixProduct& product, ThreadPool& threads);
void attention_forward(const AttentionShape& shape, const AttentionInputs& in, float* y, float* log_sums,
                       ThreadPool& threads);
void attention_backward(const AttentionShape& shape, const AttentionInputs& in, const float* y, const float* log_sums,
                        const float* dy, float* dq, float* dk, float* dv, ThreadPool& threads);
void qkv_forward(const QkvShape& shape, const QkvInputs& in, const QkvActivations& out, ThreadPool& threads);
void qkv_backward(const QkvShape& shape, const QkvInputs& in, const QkvActivations& saved,
                  const QkvGradients& gradients, ThreadPool& threads);
void mlp_forward(const MlpShape& shape, const MlpInputs& in, const MlpActivations& out, ThreadPool& threads);
void mlp_backward(const MlpShape& shape, const MlpInputs& in, const MlpActivations& saved,
                  const MlpGradients& gradients, ThreadPool& threads);
void blend_forward(std::int64_t length, std::int64_t model_dim, const ResidualBlend& blend, float* x,
                   ThreadPool& threads);
void blend_backward(std::int64_t length, std::int64_t model_dim, const ResidualBlend& blend, const float* dx,
                    const ResidualBlendGradients& gradients, ThreadPool& threads);
void rms_norm_forward(std::int64_t rows, std::int64_t width, const float* x, float eps, float* y, float* inverse,
                      ThreadPool& threads);
void rms_norm_backward(std::int64_t rows, std::int64_t width, const float* x, const float* inverse, const float* dy,
                       float* dx, ThreadPool& threads);
double head_loss(const HeadShape& shape, const HeadInputs& in, const HeadOutputs& out, ThreadPool& threads);
void newton_schulz_update(std::span<const NewtonSchulzMatrix> matrices, const NewtonSchulzSettings& settings,
                          ThreadPool& threads);
void adam_update(std::span<const AdamParameter> parameters, const AdamSettings& settings, ThreadPool& threads);
void head_gate_forward(const HeadGateShape& shape, const HeadGateInputs& in, const HeadGateActivations& out,
                       ThreadPool& threads);
void head_gate_backward(const HeadGateShape& shape, const HeadGateInputs& in, const HeadGateActivations& saved,
                        const HeadGateGradients& gradients, ThreadPool& threads);
void smear_forward(const SmearShape& shape, const SmearInputs& in, float* gates, float* out, ThreadPool& threads);
void smear_backward(const SmearShape& shape, const SmearInputs& in, const float* gates, const SmearGradients& gradients,
                    ThreadPool& threads);
void normalize_updates(std::span<const NormalizedUpdate> updates, double beta2, ThreadPool& threads);
