// Bindings: what learners are made of, that is kernels, losses, tasks, rules and budgets. No arithmetic here.
#include "budgets/approximate.hpp"
#include "budgets/forget.hpp"
#include "budgets/least_squares.hpp"
#include "budgets/maintenance.hpp"
#include "budgets/merge.hpp"
#include "budgets/project.hpp"
#include "budgets/prune.hpp"
#include "budgets/removal.hpp"
#include "budgets/remove_half.hpp"
#include "budgets/sampling.hpp"
#include "budgets/swap.hpp"
#include "dual/dual_maintenance.hpp"
#include "dual/dual_projection.hpp"
#include "model/kernels.hpp"
#include "model/losses.hpp"
#include "model/recruiting.hpp"
#include "model/rules.hpp"
#include "model/tasks.hpp"
#include "python/bind.hpp"
#include "support/layouts.hpp"

namespace budgetron {
namespace {

// k(x, z) for all rows x of X and z of Z.
NewArray<double> kernel_matrix(const Kernel& kernel, const BoundRows& X, const BoundRows& Z, std::size_t features) {
  const auto support = support_set(Layout::FeatureMajor, kernel.reduction(), Precision::Double, features);
  for (std::size_t j = 0; j < Z.rows.size(); ++j) support->append(Z.rows[j], support->norm(Z.rows[j]));
  std::vector<double> out, k(support->padded());
  const auto rows = support->ahead(X.rows, 64);
  for (std::size_t i = 0; i < X.rows.size(); ++i) {
    rows->kernel_row(i, kernel, k);
    out.insert(out.end(), k.begin(), k.begin() + static_cast<std::ptrdiff_t>(support->size()));
  }
  return array(std::move(out), {X.rows.size(), Z.rows.size()});
}

}  // namespace

void bind_parts(nb::module_& m) {
  nb::class_<Recruiting>(m, "Recruiting")
      .def(nb::init<std::size_t, std::size_t, std::size_t, Counter>(), "members"_a, "every"_a, "patience"_a, "seed"_a);
  nb::class_<Kernel>(m, "Kernel").def("matrix", &kernel_matrix, "X"_a, "Z"_a, "features"_a);
  nb::class_<Gaussian, Kernel>(m, "Gaussian").def(nb::init<double>(), "gamma"_a);
  nb::class_<Laplacian, Kernel>(m, "Laplacian").def(nb::init<double>(), "gamma"_a);
  nb::class_<Polynomial, Kernel>(m, "Polynomial")
      .def(nb::init<double, double, int>(), "gamma"_a, "coef0"_a, "degree"_a);
  nb::class_<Linear, Kernel>(m, "Linear").def(nb::init<>());
  nb::class_<Sigmoid, Kernel>(m, "Sigmoid").def(nb::init<double, double>(), "gamma"_a, "coef0"_a);

  nb::class_<Loss>(m, "Loss").def("value", &Loss::value, "f"_a, "y"_a).def("slope", &Loss::slope, "f"_a, "y"_a);
  nb::class_<Hinge, Loss>(m, "Hinge").def(nb::init<>());
  nb::class_<SquaredHinge, Loss>(m, "SquaredHinge").def(nb::init<>());
  nb::class_<Logistic, Loss>(m, "Logistic").def(nb::init<>());
  nb::class_<Squared, Loss>(m, "Squared").def(nb::init<>());
  nb::class_<OutsideTube, Loss>(m, "OutsideTube")
      .def(nb::init<std::shared_ptr<const Loss>, double>(), "loss"_a, "epsilon"_a);
  nb::class_<Absolute, Loss>(m, "Absolute").def(nb::init<>());
  nb::class_<EpsilonInsensitive, Loss>(m, "EpsilonInsensitive").def(nb::init<double>(), "epsilon"_a);

  nb::class_<Task>(m, "Task");
  nb::class_<Binary, Task>(m, "Binary").def(nb::init<>());
  nb::class_<Multiclass, Task>(m, "Multiclass").def(nb::init<std::size_t>(), "classes"_a);
  nb::class_<Regression, Task>(m, "Regression").def(nb::init<>());

  nb::class_<Rule>(m, "Rule");
  nb::class_<Perceptron, Rule>(m, "Perceptron").def(nb::init<double>(), "eta"_a);
  nb::class_<MarginPerceptron, Rule>(m, "MarginPerceptron").def(nb::init<double, double>(), "eta"_a, "margin"_a);
  nb::class_<AggressivePerceptron, Rule>(m, "AggressivePerceptron")
      .def(nb::init<double, double, double>(), "eta"_a, "margin"_a, "radius"_a);
  nb::class_<PerceptronRegression, Rule>(m, "PerceptronRegression")
      .def(nb::init<double, double>(), "eta"_a, "epsilon"_a);
  nb::class_<PassiveAggressive, Rule>(m, "PassiveAggressive").def(nb::init<double>(), "C"_a);
  nb::class_<PassiveAggressiveRegression, Rule>(m, "PassiveAggressiveRegression")
      .def(nb::init<double, double>(), "C"_a, "epsilon"_a);
  nb::class_<OGD, Rule>(m, "OGD").def(nb::init<std::shared_ptr<const Loss>, double, double>(), "loss"_a, "eta"_a,
                                      "lam"_a);
  nb::class_<ImplicitOGD, Rule>(m, "ImplicitOGD")
      .def(nb::init<std::shared_ptr<const Loss>, double, double>(), "loss"_a, "eta"_a, "lam"_a);
  nb::class_<OGDRegression, Rule>(m, "OGDRegression")
      .def(nb::init<std::shared_ptr<const Loss>, double, double, double>(), "loss"_a, "eta"_a, "lam"_a, "epsilon"_a);
  nb::class_<SGD, Rule>(m, "SGD").def(nb::init<std::shared_ptr<const Loss>, double>(), "loss"_a, "lam"_a);
  nb::class_<SGDInBall, Rule>(m, "SGDInBall").def(nb::init<std::shared_ptr<const Loss>, double>(), "loss"_a, "lam"_a);
  nb::class_<NORMA, Rule>(m, "NORMA")
      .def(nb::init<double, double, double, double>(), "eta"_a, "nu"_a, "lam"_a, "epsilon"_a);

  nb::class_<Budget>(m, "Budget");
  nb::class_<Unbounded, Budget>(m, "Unbounded").def(nb::init<>());
  nb::class_<Approximate, Budget>(m, "Approximate").def(nb::init<double>(), "threshold"_a);
  nb::class_<Stop, Budget>(m, "Stop").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<RemoveRandom, Budget>(m, "RemoveRandom").def(nb::init<std::size_t, Counter>(), "budget"_a, "seed"_a);
  nb::class_<RemoveOldest, Budget>(m, "RemoveOldest").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<RemoveRedundant, Budget>(m, "RemoveRedundant").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<Forget, Budget>(m, "Forget").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<ForgetLargerRoot, Budget>(m, "ForgetLargerRoot").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<SampleUniform, Budget>(m, "SampleUniform")
      .def(nb::init<std::size_t, double, Counter>(), "budget"_a, "cap"_a, "seed"_a);
  nb::class_<SampleUniformScaled, Budget>(m, "SampleUniformScaled")
      .def(nb::init<std::size_t, double, Counter>(), "budget"_a, "cap"_a, "seed"_a);
  nb::class_<SampleByWeight, Budget>(m, "SampleByWeight")
      .def(nb::init<std::size_t, double, Counter>(), "budget"_a, "cap"_a, "seed"_a);
  nb::class_<Threshold>(m, "Threshold");
  nb::class_<FixedThreshold, Threshold>(m, "FixedThreshold").def(nb::init<double>(), "eta"_a);
  nb::class_<ProgressThreshold, Threshold>(m, "ProgressThreshold").def(nb::init<double>(), "U"_a);
  nb::class_<Project, Budget>(m, "Project")
      .def(nb::init<std::size_t, std::shared_ptr<const Threshold>>(), "budget"_a, "threshold"_a);
  nb::class_<ProjectPlus, Budget>(m, "ProjectPlus")
      .def(nb::init<std::size_t, std::shared_ptr<const Threshold>, double>(), "budget"_a, "threshold"_a, "U"_a);
  nb::class_<ProjectLowRank, Budget>(m, "ProjectLowRank")
      .def("__init__", &init_with_lapack<ProjectLowRank, std::size_t, std::size_t>, "budget"_a, "rank"_a);
  nb::class_<LeastSquares, Budget>(m, "LeastSquares")
      .def(nb::init<std::size_t, double, double>(), "budget"_a, "nu"_a, "lam"_a);
  nb::class_<Prune, Budget>(m, "Prune").def(nb::init<double, std::size_t>(), "error"_a, "budget"_a);
  nb::class_<RemoveHalf, Budget>(m, "RemoveHalf").def(nb::init<std::size_t, double>(), "budget"_a, "ridge"_a);
  nb::class_<Maintained, Budget>(m, "Maintained");
  nb::class_<RemoveSmallest, Maintained>(m, "RemoveSmallest").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<ProjectSmallest, Maintained>(m, "ProjectSmallest").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<ProjectNearest, Maintained>(m, "ProjectNearest")
      .def(nb::init<std::size_t, std::size_t>(), "budget"_a, "neighbours"_a);
  nb::class_<Merge, Maintained>(m, "Merge").def(nb::init<std::size_t, double>(), "budget"_a, "gamma"_a);
  nb::class_<Sometimes, Budget>(m, "Sometimes")
      .def(nb::init<std::shared_ptr<Maintained>, double, Counter>(), "inner"_a, "beta"_a, "seed"_a);
  m.def("best_merge", &BestMerge::h, "m"_a, "L"_a, "The best h for m and L = log kap.");
  nb::class_<Swap, Budget>(m, "Swap").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<SwapNearest, Budget>(m, "SwapNearest").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<SwapProject, Budget>(m, "SwapProject").def(nb::init<std::size_t>(), "budget"_a);

  nb::class_<DualMaintenance>(m, "DualMaintenance");
  nb::class_<DualUnbounded, DualMaintenance>(m, "DualUnbounded").def(nb::init<>());
  nb::class_<DualRemoval, DualMaintenance>(m, "DualRemoval").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<DualRemovalThenNearest, DualMaintenance>(m, "DualRemovalThenNearest")
      .def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<DualProjection, DualMaintenance>(m, "DualProjection")
      .def(nb::init<std::size_t, bool>(), "budget"_a, "exact"_a);
  nb::class_<DualProjectionClipped, DualMaintenance>(m, "DualProjectionClipped")
      .def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<DualNearest, DualMaintenance>(m, "DualNearest").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<DualRemovalThenProjection, DualMaintenance>(m, "DualRemovalThenProjection")
      .def(nb::init<std::size_t>(), "budget"_a);
}

}  // namespace budgetron
