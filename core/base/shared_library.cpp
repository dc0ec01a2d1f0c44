#include "core/base/shared_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/text.h"

namespace nanobench::core {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPieces = 64;
constexpr std::uint64_t kPieceBytes = 64 * 1024;
constexpr std::uint64_t kMaxTableBytes = 64 * 1024 * 1024;  // of a damaged header

/// The part of an ELF file's dynamic section that lists loaded libraries.
class DynamicSection {
 public:
  explicit DynamicSection(const fs::path& file) {
    Elf64_Ehdr header{};
    if (in_.open(file) || !read(0, &header, 1) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr))
      return;
    segments_.resize(header.e_phnum);
    if (!read(header.e_phoff, segments_.data(), segments_.size())) return;
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type == PT_DYNAMIC) read_entries(segment);
    }
  }

  std::vector<std::string> needed() const {
    std::vector<std::string> names;
    for (const Elf64_Dyn& entry : entries_) {
      if (entry.d_tag == DT_NEEDED) names.push_back(text(entry));
    }
    return names;
  }
  /// "" when there is none.
  std::string path(Elf64_Sxword tag) {
    for (const Elf64_Dyn& entry : entries_) {
      if (entry.d_tag == tag) return text(entry);
    }
    return "";
  }

 private:
  template <class Value>
  bool read(std::uint64_t offset, Value* values, std::size_t count) {
    return in_.read_at(offset, values, count * sizeof(Value));
  }

  void read_entries(const Elf64_Phdr& segment) {
    if (segment.p_filesz > kMaxTableBytes) return;
    entries_.resize(segment.p_filesz / sizeof(Elf64_Dyn));
    if (!read(segment.p_offset, entries_.data(), entries_.size())) entries_.clear();
    std::uint64_t address = 0, bytes = 0;
    for (const Elf64_Dyn& entry : entries_) {
      if (entry.d_tag == DT_STRTAB) address = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRSZ) bytes = entry.d_un.d_val;
    }
    for (const Elf64_Phdr& loaded : segments_) {
      const bool holds =
          loaded.p_type == PT_LOAD && address >= loaded.p_vaddr && address < loaded.p_vaddr + loaded.p_filesz;
      if (!holds || bytes > kMaxTableBytes) continue;
      texts_.resize(bytes);
      if (!read(address - loaded.p_vaddr + loaded.p_offset, texts_.data(), bytes)) texts_.clear();
    }
  }

  std::string text(const Elf64_Dyn& entry) const {
    if (entry.d_un.d_val >= texts_.size()) return "";
    const std::string_view rest(texts_.data() + entry.d_un.d_val, texts_.size() - entry.d_un.d_val);
    return std::string(rest.substr(0, rest.find('\0')));
  }

  InputFile in_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Dyn> entries_;
  std::vector<char> texts_;
};

/// The folders of a run path, with $ORIGIN filled in.
void add_folders(std::vector<fs::path>& folders, const std::string& path, const fs::path& origin) {
  for (const std::string_view part : split_at(path, ':')) {
    std::string folder(part);
    for (const std::string_view name : {"${ORIGIN}", "$ORIGIN"}) {
      for (std::size_t at = folder.find(name); at != std::string::npos; at = folder.find(name))
        folder.replace(at, name.size(), origin.string());
    }
    if (!folder.empty()) folders.emplace_back(folder);
  }
}

}  // namespace

std::vector<std::string> needed_names(const fs::path& program) {
  return DynamicSection(program).needed();
}

std::optional<fs::path> needed_library(const fs::path& program, const std::string& name, const fs::path& loader) {
  DynamicSection dynamic(program);
  const std::vector<std::string> names = dynamic.needed();
  if (std::find(names.begin(), names.end(), name) == names.end()) return std::nullopt;
  std::error_code ignored;
  const fs::path origin = fs::canonical(program, ignored).parent_path();
  const std::string run_path = dynamic.path(DT_RUNPATH);
  std::vector<fs::path> folders;
  if (run_path.empty()) {
    add_folders(folders, dynamic.path(DT_RPATH), origin);
    if (!loader.empty())
      add_folders(folders, DynamicSection(loader).path(DT_RPATH), fs::canonical(loader, ignored).parent_path());
  }
  if (const char* asked = std::getenv("LD_LIBRARY_PATH")) add_folders(folders, asked, origin);
  add_folders(folders, run_path, origin);
  add_folders(folders,
              "/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib:/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:"
              "/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu",
              origin);
  for (const fs::path& folder : folders) {
    if (fs::is_regular_file(folder / name, ignored)) return folder / name;
  }
  return std::nullopt;
}

std::string sampled_digest(const fs::path& file) {
  const InputFile in(file);
  const std::uint64_t bytes = in.size();
  if (bytes <= kPieces * kPieceBytes) return digest_of_file(file);
  Digest digest;
  digest.update(&bytes, sizeof bytes);
  std::vector<char> piece(kPieceBytes);
  for (std::uint64_t i = 0; i < kPieces; ++i) {
    if (!in.read_at((bytes - kPieceBytes) * i / (kPieces - 1), piece.data(), piece.size()))
      throw Error(ErrorCode::kIo, "cannot read " + file.string());
    digest.update(piece.data(), piece.size());
  }
  return digest.hex();
}

namespace {

std::string loader_reason() {
  const char* reason = dlerror();
  return reason == nullptr ? "no reason given" : reason;
}

}  // namespace

std::filesystem::path plugin_file(const std::filesystem::path& program, const std::string& file_name) {
  const char* const folder = std::getenv("NANOBENCH_PLUGINS");
  return (folder != nullptr ? std::filesystem::path(folder) : program.parent_path()) / file_name;
}

const void* load_plugin(const std::string& file_name, const std::string& symbol, const std::string& remedy) {
  const std::filesystem::path file = plugin_file(std::filesystem::read_symlink("/proc/self/exe"), file_name);
  if (!std::filesystem::exists(file))
    throw Error(ErrorCode::kUnavailable, "there is no " + file.string() + "; " + remedy);
  // Global: the library's dependencies (an MPI, LibTorch's GPU library) look up their own parts by name.
  void* library = dlopen(file.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  if (library == nullptr)
    throw Error(ErrorCode::kUnavailable, "cannot load " + file.string() + ": " + loader_reason() + "; " + remedy);
  using Entry = const void* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, symbol.c_str()));
  if (entry == nullptr)
    throw Error(ErrorCode::kUnavailable,
                file.string() + " is not what it should be: " + loader_reason() + "; " + remedy);
  return entry();
}

}  // namespace nanobench::core
