// What every path defines, in its own namespace: paths.h includes this once for each.
void multiply_matrices(const MatrixProduct& product, ThreadPool& threads);
void attention_forward(const AttentionShape& shape, const AttentionInputs& in, float* y, float* log_sums,
                       ThreadPool& threads);
void attention_backward(const AttentionShape& shape, const AttentionInputs& in, const float* y, const float* log_sums,
                        const float* dy, float* dq, float* dk, float* dv, ThreadPool& threads);
