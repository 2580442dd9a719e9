"""Budgeted online kernel learning: nonlinear models from a stream, in bounded memory and time.

The public names, by the modules that define them. A module is imported when one of its names is first used:
see ``_util/exports.py``.
"""

from budgetron._util.exports import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "_util.errors": "DataError DivergedError ModelFileError RefusedRow SaveError",
        "_util.progress": "Progress",
        "_util.version": "__version__",
        "estimators.classifier": "OnlineClassifier",
        "estimators.regressor": "OnlineRegressor",
        "evaluate.parallel": "progressive_predict_many",
        "export.c.export": "to_c",
        "export.onnx.converters": "register_converters",
        "export.onnx.export": "to_onnx",
        "learners.algorithms.double_updating": "bduol duol",
        "learners.algorithms.features": "fogd",
        "learners.algorithms.gradients": "bogd bogd_pp klms nogd norma ogd qklms silk",
        "learners.algorithms.passive_aggressive": "bpa_nn bpa_p bpa_s pa",
        "learners.algorithms.perceptrons": "budget_perceptron forgetron perceptron projectron "
        "projectron_pp rbp stoptron",
        "learners.algorithms.stochastic": "avm bsgd nbsgd sgd",
        "learners.algorithms.tune_free": "auto",
        "learners.automatic": "Auto",
        "learners.averaged": "Averaged",
        "learners.double_updating": "DoubleUpdating DualMaintenance DualNearest DualProjection "
        "DualProjectionClipped DualRemoval DualRemovalThenNearest DualRemovalThenProjection",
        "learners.kernelized": "Kernelized",
        "learners.learner": "Learner",
        "learners.mapped": "Mapped",
        "learners.neighbours": "Neighbours",
        "learners.random_iterate": "RandomIterate",
        "learners.scaled": "Ranged Standardised",
        "learners.stacked": "Stacked",
        "merging.models": "merge",
        "merging.promises": "merge_promise",
        "model.files.model_files": "load",
        "model.one_by_one": "OneByOne",
        "parts.budgets.approximation": "Approximate",
        "parts.budgets.budget": "Budget",
        "parts.budgets.maintenance": "Maintained Merge ProjectSmallest RemoveSmallest Sometimes",
        "parts.budgets.projection": "Project ProjectPlus",
        "parts.budgets.removal": "Forget ForgetLargerRoot RemoveOldest RemoveRandom RemoveRedundant Stop "
        "Unbounded",
        "parts.budgets.sampling": "SampleByWeight SampleUniform SampleUniformScaled",
        "parts.budgets.swapping": "Swap SwapNearest SwapProject",
        "parts.features.cells": "Bins CellMap RandomBinning Tiles",
        "parts.features.feature_map": "FeatureMap",
        "parts.features.fourier": "HadamardFourier OrthogonalFourier RandomFourier SobolFourier "
        "SparseFourier",
        "parts.features.hashing": "Hashed",
        "parts.features.nystrom": "Nystrom",
        "parts.features.recruited": "Recruited",
        "parts.features.spectrum": "Law Spectrum",
        "parts.features.stack": "Identity Stack",
        "parts.kernels": "Gaussian Kernel Laplacian Linear Polynomial Sigmoid",
        "parts.losses": "Absolute EpsilonInsensitive Hinge Logistic Loss Squared SquaredHinge",
        "parts.rules": "ImplicitOGD MarginPerceptron NORMA OGD PA Perceptron Rule SGD",
        "parts.vector_rules": "AROW AdaGrad CoinBetting Kalman OnlineNewton VectorRule",
        "records.encoder": "Encoder",
        "streams.tables": "table",
    },
    modules={
        "algorithms": "learners.algorithms",
        "budgets": "parts.budgets",
        "client": "client",
        "datasets": "datasets",
        "distributed": "distributed",
        "evaluate": "evaluate",
        "executors": "_util.executors",
        "export_c": "export_c",
        "model_files": "model_files",
        "onnx": "onnx",
        "plots": "plots",
        "river": "river",
        "streams": "streams",
    },
)
