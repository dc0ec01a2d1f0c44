#include "results/import/script_identity.h"

#include <gtest/gtest.h>

#include <vector>

namespace nanobench::results {
namespace {

constexpr const char* kScript = R"(import os
import torch

class Model:
    """A model."""
    def forward(self, x: Tensor, sizes: dict[str, int] = {"a": 1}, key=lambda v: v) -> Tensor:
        return x[1:2] * 3  # thrice

@triton.jit
def kernel(a, BLOCK: tl.constexpr):
    pass

run_id: str = "first_" + f'{uuid.uuid4()}'[:8]
SEED = 4
torch.manual_seed(1337 + SEED)
os.makedirs("logs_a", exist_ok=True)
print0("the first version")
print0(f"val_loss:{val_loss:.4f}")
learning_rate: float = 0.5
val_loss_every: int = 125
)";

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kScript;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// The parts whose digests differ between the script and another one of the same code.
std::vector<ScriptPart> differing_parts(const std::string& other) {
  const ScriptIdentity a = identify_script(kScript);
  const ScriptIdentity b = identify_script(other);
  std::vector<ScriptPart> parts;
  for (std::size_t i = 0; i < kScriptParts; ++i) {
    if (a.parts[i] != b.parts[i]) parts.push_back(static_cast<ScriptPart>(i));
  }
  return parts;
}

TEST(ScriptIdentity, LeavesOutWhatDoesNotChangeTheTraining) {
  struct Case {
    const char* from;
    const char* to;
    std::vector<ScriptPart> parts;
  };
  const std::vector<Case> cases = {
      {"# thrice", "# 3 times", {ScriptPart::kComments}},
      {"  # thrice", "", {ScriptPart::kComments}},
      {"\"\"\"A model.\"\"\"", "'''One\n  model: \"x\" # and more'''", {ScriptPart::kComments}},
      {"x: Tensor", "x", {ScriptPart::kAnnotations}},
      {"dict[str, int]", "Sizes", {ScriptPart::kAnnotations}},
      {" -> Tensor", "", {ScriptPart::kAnnotations}},
      {"rate: float", "rate", {ScriptPart::kAnnotations}},
      {"first_", "second_", {ScriptPart::kRunNames}},
      {"logs_a", "logs_b", {ScriptPart::kRunNames}},
      {"SEED = 4", "SEED = 16", {ScriptPart::kSeeds}},
      {"1337", "1", {ScriptPart::kSeeds}},
      {"125", "250", {ScriptPart::kIntervals}},
      {"the first version", "the second", {ScriptPart::kMessages}},
      {"self, x", "self,\n                x", {}},
      {"import torch\n\n", "import torch\r\n\n\n   \n", {}},
  };
  for (const Case& item : cases) {
    const std::string other = changed(item.from, item.to);
    EXPECT_EQ(identify_script(other).code, identify_script(kScript).code) << item.from << " -> " << item.to;
    EXPECT_EQ(differing_parts(other), item.parts) << item.from << " -> " << item.to;
  }
}

TEST(ScriptIdentity, KeepsWhatMayChangeIt) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"* 3", "* 4"},
      {"[1:2]", "[1:]"},
      {"{\"a\": 1}", "{\"a\": 2}"},
      {"lambda v: v", "lambda v: 2"},
      {"BLOCK: tl.constexpr", "BLOCK"},
      {"= 0.5", "= 0.25"},
      {"{val_loss:.4f}", "{ema_loss:.4f}"},
      {"val_loss:", "train_loss:"},
      {"        return x", "    return x"},
      {"    pass", "    a = '# no comment'"},
  };
  for (const auto& [from, to] : cases) {
    EXPECT_NE(identify_script(changed(from, to)).code, identify_script(kScript).code) << from << " -> " << to;
  }
}

TEST(ScriptIdentity, AUuidInAStringIsTheNameOfARun) {
  const std::string a = "import os\npath = \"runs/0bdd5ee9-ac28-4202-bdf1-c906b102b0ec\"\n";
  const std::string b = "import os\npath = \"runs/c44090cc-1b99-4c95-8624-38fb4b5834f9\"\n";
  EXPECT_EQ(identify_script(a).code, identify_script(b).code);
  EXPECT_NE(identify_script(a).code, identify_script("import os\npath = \"runs/0bdd5ee9\"\n").code);
}

TEST(ScriptIdentity, AnyBytesGiveAnAnswer) {
  for (const std::string& text :
       {std::string(), std::string("("), std::string("\"\"\"never closed"), std::string("'\\"),
        std::string("))) : ->\n# only"), std::string("\xff\x00=\\", 4), std::string("def"), std::string("def f("),
        std::string("async"), std::string(200'000, '(')}) {
    EXPECT_EQ(identify_script(text).code, identify_script(text).code);
    EXPECT_EQ(identify_script(text).code.size(), 32U);
  }
}

}  // namespace
}  // namespace nanobench::results
