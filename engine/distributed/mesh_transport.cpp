#include "engine/distributed/mesh_transport.h"

#include <algorithm>
#include <cstring>

namespace nanobench::core {
namespace {

std::span<std::byte> bytes_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  return {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()};
}

template <class T>
std::span<std::byte> bytes_of(T* data, const std::pair<std::size_t, std::size_t>& part) {
  return std::as_writable_bytes(std::span(data + part.first, part.second - part.first));
}

}  // namespace

MeshTransport::MeshTransport(Mesh& mesh, std::size_t chunk_bytes)
    : mesh_(mesh), chunk_bytes_(std::max<std::size_t>(chunk_bytes / 64 * 64, 64)) {}

void MeshTransport::carry_out(const Collective& collective) {
  const at::Tensor& tensor = collective.tensor;
  switch (collective.kind) {
    case Collective::Kind::kBarrier: exchange(collective.kind, nothing_out(), nothing_in()); break;
    case Collective::Kind::kAllGather: all_gather(bytes_of(tensor), collective.outputs); break;
    case Collective::Kind::kBroadcast: broadcast(bytes_of(tensor), collective.root); break;
    case Collective::Kind::kAllReduceSum:
      with_summed_type(
          tensor, [&]<class T>(T*) { all_reduce(tensor.data_ptr<T>(), static_cast<std::size_t>(tensor.numel())); });
      break;
    case Collective::Kind::kReduceScatterSum:
      with_summed_type(tensor, [&]<class T>(T*) { reduce_scatter<T>(collective.outputs); });
      break;
  }
}

void MeshTransport::exchange(Collective::Kind kind, const Outgoing& outgoing, const Incoming& incoming) {
  mesh_.exchange(static_cast<std::uint32_t>(kind), outgoing, incoming);
}

template <class T>
void MeshTransport::all_reduce(T* data, std::size_t count) {
  const std::size_t chunk = chunk_bytes_ / sizeof(T);
  for (std::size_t begin = 0; begin < count; begin += chunk) {
    T* const values = data + begin;
    const std::size_t length = std::min(chunk, count - begin);
    const auto mine = part_of(length, rank(), size());
    const std::size_t terms = mine.second - mine.first;
    terms_.resize(static_cast<std::size_t>(size()) * terms * sizeof(T));
    auto* const theirs = reinterpret_cast<T*>(terms_.data());
    Outgoing out = nothing_out();
    Incoming in = nothing_in();
    for (int process = 0; process < size(); ++process) {
      const auto p = static_cast<std::size_t>(process);
      out[p] = bytes_of(values, part_of(length, process, size()));
      in[p] = bytes_of(theirs, {p * terms, (p + 1) * terms});
    }
    exchange(Collective::Kind::kAllReduceSum, out, in);
    std::copy_n(values + mine.first, terms, theirs + static_cast<std::size_t>(rank()) * terms);
    std::copy_n(theirs, terms, values + mine.first);
    for (std::size_t p = 1; p < static_cast<std::size_t>(size()); ++p) {
      for (std::size_t i = 0; i < terms; ++i) values[mine.first + i] += theirs[p * terms + i];
    }
    for (int process = 0; process < size(); ++process) {
      const auto p = static_cast<std::size_t>(process);
      out[p] = bytes_of(values, mine);
      in[p] = bytes_of(values, part_of(length, process, size()));
    }
    exchange(Collective::Kind::kAllReduceSum, out, in);
  }
}

template <class T>
void MeshTransport::reduce_scatter(const std::vector<at::Tensor>& parts) {
  const std::size_t processes = parts.size();
  const std::size_t chunk = std::max<std::size_t>(chunk_bytes_ / sizeof(T) / processes, 1);
  const auto range_at = [&](std::size_t part, std::size_t begin) {
    const auto total = static_cast<std::size_t>(parts[part].numel());
    return std::pair{std::min(begin, total), std::min(begin + chunk, total)};
  };
  const auto own = static_cast<std::size_t>(rank());
  std::int64_t longest = 0;
  for (const at::Tensor& part : parts) longest = std::max(longest, part.numel());
  for (std::size_t begin = 0; begin < static_cast<std::size_t>(longest); begin += chunk) {
    const auto mine = range_at(own, begin);
    const std::size_t terms = mine.second - mine.first;
    terms_.resize(processes * terms * sizeof(T));
    auto* const theirs = reinterpret_cast<T*>(terms_.data());
    Outgoing out = nothing_out();
    Incoming in = nothing_in();
    for (std::size_t p = 0; p < processes; ++p) {
      const auto range = range_at(p, begin);
      if (range.first < range.second) out[p] = bytes_of(parts[p].data_ptr<T>(), range);
      in[p] = bytes_of(theirs, {p * terms, (p + 1) * terms});
    }
    exchange(Collective::Kind::kReduceScatterSum, out, in);
    if (terms == 0) continue;
    T* const sum = parts[own].data_ptr<T>() + mine.first;
    std::copy_n(sum, terms, theirs + own * terms);
    std::copy_n(theirs, terms, sum);
    for (std::size_t p = 1; p < processes; ++p) {
      for (std::size_t i = 0; i < terms; ++i) sum[i] += theirs[p * terms + i];
    }
  }
}

void MeshTransport::all_gather(std::span<const std::byte> input, const std::vector<at::Tensor>& outputs) {
  const bool is_one_piece = outputs.size() == 1;
  const auto place_of = [&](std::size_t process) {
    return is_one_piece ? bytes_of(outputs.front()).subspan(process * input.size(), input.size())
                        : bytes_of(outputs[process]);
  };
  const std::span<std::byte> own = place_of(static_cast<std::size_t>(rank()));
  if (!input.empty() && own.data() != input.data()) std::memmove(own.data(), input.data(), input.size());
  for (std::size_t begin = 0; begin < input.size(); begin += chunk_bytes_) {
    const std::size_t length = std::min(chunk_bytes_, input.size() - begin);
    Incoming in = nothing_in();
    for (std::size_t process = 0; process < in.size(); ++process)
      in[process] = place_of(process).subspan(begin, length);
    exchange(Collective::Kind::kAllGather, Outgoing(in.size(), input.subspan(begin, length)), in);
  }
}

void MeshTransport::broadcast(std::span<std::byte> data, int root) {
  for (std::size_t begin = 0; begin < data.size(); begin += chunk_bytes_) {
    const std::span<std::byte> part = data.subspan(begin, std::min(chunk_bytes_, data.size() - begin));
    Outgoing out = nothing_out();
    Incoming in = nothing_in();
    if (rank() == root) {
      std::fill(out.begin(), out.end(), part);
    } else {
      in[static_cast<std::size_t>(root)] = part;
    }
    exchange(Collective::Kind::kBroadcast, out, in);
  }
}

}  // namespace nanobench::core
