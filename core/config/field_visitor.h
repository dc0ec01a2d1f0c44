/// What goes through the fields of a TrainConfig (train_config_fields.h). Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/json.h"
#include "core/config/settings_reference.h"

namespace nanobench::core {

struct OptimizerConfig;

inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;
inline constexpr std::int64_t kMaxTokens = std::int64_t{1} << 31;

/// A field's JSON name, what it does in one sentence, and its unit ("" for none).
struct FieldLabel {
  const char* name;
  const char* meaning;
  const char* unit = "";
};

/// A member that is an enumeration, as its name.
class EnumField {
 public:
  template <NamedEnum Enum>
  explicit EnumField(Enum& member)
      : member_(&member),
        names_(enum_names<Enum>),
        name_([](const void* enumeration) { return enum_name(*static_cast<const Enum*>(enumeration)); }),
        set_([](void* enumeration, std::string_view name) {
          const std::optional<Enum> value = enum_value<Enum>(name);
          if (value) *static_cast<Enum*>(enumeration) = *value;
          return value.has_value();
        }) {}

  std::string name() const { return name_(member_); }
  /// All that are possible.
  std::vector<std::string> names() const { return names_(); }
  /// Returns false, and changes nothing, for another name.
  bool set(std::string_view name) const { return set_(member_, name); }

 private:
  void* member_;
  std::vector<std::string> (*names_)();
  std::string (*name_)(const void*);
  bool (*set_)(void*, std::string_view);
};

class FieldVisitor;

/// A member that is a list of groups of fields.
class GroupList {
 public:
  virtual ~GroupList() = default;
  virtual std::size_t size() const = 0;
  virtual void clear() = 0;
  /// Appends a group with the defaults of its fields.
  virtual void add() = 0;
  virtual void visit(std::size_t index, FieldVisitor& visitor) = 0;
  /// Visits a group with the defaults of its fields that is not in the list.
  virtual void visit_defaults(FieldVisitor& visitor) const = 0;
};

/// Knows whether the fields that follow apply: writers skip those that do not, readers reject them.
class FieldVisitor {
 public:
  FieldVisitor() = default;
  FieldVisitor(const FieldVisitor&) = delete;
  FieldVisitor& operator=(const FieldVisitor&) = delete;
  virtual ~FieldVisitor() = default;

  // Numbers and entries of lists lie in [low, high].
  virtual void field(const FieldLabel& label, bool& member) = 0;
  virtual void field(const FieldLabel& label, std::string& member) = 0;
  virtual void field(const FieldLabel& label, std::optional<std::string>& member) = 0;
  virtual void field(const FieldLabel& label, const EnumField& member) = 0;
  virtual void field(const FieldLabel& label, std::int64_t& member, std::int64_t low, std::int64_t high) = 0;
  virtual void field(const FieldLabel& label, std::optional<std::int64_t>& member, std::int64_t low,
                     std::int64_t high) = 0;
  virtual void field(const FieldLabel& label, double& member, double low, double high) = 0;
  virtual void field(const FieldLabel& label, std::optional<double>& member, double low, double high) = 0;
  virtual void field(const FieldLabel& label, std::vector<std::int64_t>& member, std::int64_t low,
                     std::int64_t high) = 0;
  virtual void field(const FieldLabel& label, std::vector<std::optional<std::int64_t>>& member, std::int64_t low,
                     std::int64_t high) = 0;
  virtual void field(const FieldLabel& label, std::vector<double>& member, double low, double high) = 0;
  template <NamedEnum Enum>
  void field(const FieldLabel& label, Enum& member) {
    field(label, EnumField(member));
  }
  /// Two numbers, each in [low, high).
  virtual void pair(const FieldLabel& label, double& first, double& second, double low, double high) = 0;

  /// A nested object.
  template <class Group>
  void group(const FieldLabel& label, Group& member) {
    nested(label, [&member](FieldVisitor& visitor) { visit_fields(visitor, member); });
  }
  /// A list of them.
  template <class Group>
  void list(const FieldLabel& label, std::vector<Group>& members) {
    ListOf<Group> groups(members);
    nested_list(label, groups);
  }
  /// The families of parameters that the optimiser treats in a way of their own, by name.
  virtual void families(const FieldLabel& label, OptimizerConfig& optimizer) = 0;

  /// The fields that follow apply only while the sibling field has the wanted value.
  template <NamedEnum Enum>
  void active_when(const char* sibling, Enum value, Enum wanted) {
    begin_condition(sibling, enum_name(wanted), value == wanted);
  }
  virtual void active_always() { is_active_ = true; }

 protected:
  using VisitGroup = std::function<void(FieldVisitor&)>;
  virtual void nested(const FieldLabel& label, const VisitGroup& visit) = 0;
  virtual void nested_list(const FieldLabel& label, GroupList& groups) = 0;
  virtual void begin_condition(const char* /*sibling*/, const std::string& /*wanted*/, bool holds) {
    is_active_ = holds;
  }
  bool is_active() const { return is_active_; }

 private:
  template <class Group>
  class ListOf final : public GroupList {
   public:
    explicit ListOf(std::vector<Group>& members) : members_(members) {}
    std::size_t size() const override { return members_.size(); }
    void clear() override { members_.clear(); }
    void add() override { members_.emplace_back(); }
    void visit(std::size_t index, FieldVisitor& visitor) override { visit_fields(visitor, members_.at(index)); }
    void visit_defaults(FieldVisitor& visitor) const override {
      Group group;
      visit_fields(visitor, group);
    }

   private:
    std::vector<Group>& members_;
  };

  bool is_active_ = true;
};

/// A visitor to which the type of a field's member does not matter.
class ValueVisitor : public FieldVisitor {
 public:
  void field(const FieldLabel& label, bool& member) override;
  void field(const FieldLabel& label, std::string& member) override;
  void field(const FieldLabel& label, std::optional<std::string>& member) override;
  void field(const FieldLabel& label, const EnumField& member) override;
  void field(const FieldLabel& label, std::int64_t& member, std::int64_t low, std::int64_t high) override;
  void field(const FieldLabel& label, std::optional<std::int64_t>& member, std::int64_t low,
             std::int64_t high) override;
  void field(const FieldLabel& label, double& member, double low, double high) override;
  void field(const FieldLabel& label, std::optional<double>& member, double low, double high) override;
  void field(const FieldLabel& label, std::vector<std::int64_t>& member, std::int64_t low, std::int64_t high) override;
  void field(const FieldLabel& label, std::vector<std::optional<std::int64_t>>& member, std::int64_t low,
             std::int64_t high) override;
  void field(const FieldLabel& label, std::vector<double>& member, double low, double high) override;
  void pair(const FieldLabel& label, double& first, double& second, double low, double high) override;

 protected:
  /// What is known of a field besides its label and value.
  struct FieldKind {
    SettingType type;
    bool is_optional = false;
    const EnumField* enumeration = nullptr;
    std::optional<SettingRange> range = std::nullopt;
  };
  virtual void value(const FieldLabel& label, Json value, const FieldKind& kind) = 0;
};

}  // namespace nanobench::core
