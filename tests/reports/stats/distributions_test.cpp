#include "reports/stats/distributions.h"

#include "core/base/error.h"
#include "tests/reports/stats/vectors.h"

namespace nanobench::reports {
namespace {

TEST(Normal, TailsAndQuantiles) {
  for (const nlohmann::json& entry : vectors("distributions").at("normal")) {
    const double x = entry.at("x");
    const double upper = entry.at("upper");
    expect_close(normal_upper(x), upper, entry.dump());
    expect_close(normal_cdf(-x), upper, entry.dump());
    if (x > 0.1) expect_close(-normal_quantile(upper), x, entry.dump());
  }
  EXPECT_DOUBLE_EQ(normal_density(0.0), 0.3989422804014327);
}

TEST(StudentsT, TailsAndQuantiles) {
  for (const nlohmann::json& entry : vectors("distributions").at("t")) {
    const double t = entry.at("t");
    const double df = entry.at("df");
    const double upper = entry.at("upper");
    expect_close(t_upper(t, df), upper, entry.dump());
    expect_close(t_cdf(-t, df), upper, entry.dump());
    if (t > 0.1) expect_close(-t_quantile(upper, df), t, entry.dump());
  }
}

TEST(StudentsT, InfiniteDegreesAreNormal) {
  EXPECT_DOUBLE_EQ(t_upper(1.5, INFINITY), normal_upper(1.5));
  EXPECT_DOUBLE_EQ(t_quantile(0.1, INFINITY), normal_quantile(0.1));
  EXPECT_NEAR(t_critical(0.95, 1e9), 1.959963984540054, 1e-8);
}

TEST(StudentsT, PValuesOfTails) {
  EXPECT_DOUBLE_EQ(t_p_value(2.0, 5, Tail::kLess) + t_p_value(2.0, 5, Tail::kGreater), 1.0);
  EXPECT_DOUBLE_EQ(t_p_value(-2.0, 5, Tail::kTwoSided), 2.0 * t_p_value(2.0, 5, Tail::kGreater));
  EXPECT_DOUBLE_EQ(t_p_value(0.0, 5, Tail::kTwoSided), 1.0);
}

TEST(NoncentralT, Tails) {
  for (const nlohmann::json& entry : vectors("distributions").at("noncentral_t")) {
    expect_close(noncentral_t_upper(entry.at("t"), entry.at("df"), entry.at("shift")), entry.at("upper"), entry.dump());
    // By symmetry, the other side of the reflected distribution.
    const double t = entry.at("t");
    const double shift = entry.at("shift");
    expect_close(noncentral_t_upper(-t, entry.at("df"), -shift), entry.at("cdf"), entry.dump());
  }
}

TEST(NoncentralT, WithoutShiftIsStudents) {
  for (const double t : {-30.0, -2.0, 0.0, 1.0, 8.0, 500.0}) {
    expect_close(noncentral_t_upper(t, 3.5, 0.0), t_upper(t, 3.5), "t = " + std::to_string(t));
  }
}

TEST(NoncentralT, EndsForAnyArgument) {
  EXPECT_NEAR(noncentral_t_upper(12.7, 1.0, 1e9), 1.0, 1e-12);
  EXPECT_NEAR(noncentral_t_upper(3.0, 1e6, 1e5), 1.0, 1e-12);
  EXPECT_NEAR(noncentral_t_upper(12.7, 1.0, -1e9), 0.0, 1e-300);
  EXPECT_NEAR(noncentral_t_upper(1e8, 1.0, 1.0), 0.0, 1e-7);
}

TEST(SpreadIntegral, OfOneIsOne) {
  for (const double df : {0.5, 1.0, 2.0, 9.0, 31.9, 32.1, 1e3, 1e6}) {
    EXPECT_NEAR(integrate_over_spread([](double) { return 1.0; }, df, 0.0), 1.0, 1e-11) << df;
  }
}

TEST(Distributions, RefuseWhatTheyAreNotDefinedFor) {
  EXPECT_THROW(t_upper(std::nan(""), 3), core::Error);
  EXPECT_THROW(t_upper(1.0, 0.0), core::Error);
  EXPECT_THROW(t_upper(1.0, std::nan("")), core::Error);
  EXPECT_THROW(t_quantile(0.0, 3), core::Error);
  EXPECT_THROW(normal_quantile(1.0), core::Error);
  EXPECT_THROW(noncentral_t_upper(1.0, 3, INFINITY), core::Error);
}

TEST(FDistribution, OfOneDegreeIsTheSquareOfT) {
  for (const double t : {0.2, 1.0, 2.5, 7.0}) {
    EXPECT_NEAR(f_upper(t * t, 1.0, 5.0), 2.0 * t_upper(t, 5.0), 1e-12);
    EXPECT_NEAR(f_cdf(t * t, 1.0, 5.0) + f_upper(t * t, 1.0, 5.0), 1.0, 1e-12);
  }
  EXPECT_NEAR(f_cdf(2.0, 3.0, 7.0), f_upper(0.5, 7.0, 3.0), 1e-12);
  EXPECT_EQ(f_cdf(0.0, 2.0, 3.0), 0.0);
  EXPECT_THROW(f_cdf(-1.0, 2.0, 3.0), core::Error);
  EXPECT_THROW(f_upper(1.0, 0.0, 3.0), core::Error);
}

TEST(Trigamma, HasItsKnownValuesAndItsInverse) {
  EXPECT_NEAR(digamma(1.0), -0.57721566490153286, 1e-14);
  EXPECT_NEAR(trigamma(1.0), 1.6449340668482264, 1e-14);
  for (const double x : {0.01, 0.3, 1.0, 4.0, 500.0}) EXPECT_NEAR(inverse_trigamma(trigamma(x)), x, 1e-9 * x);
  EXPECT_THROW(inverse_trigamma(0.0), core::Error);
}

}  // namespace
}  // namespace nanobench::reports
