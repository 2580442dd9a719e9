"""Model files: everything that a fitted estimator holds, as data. :func:`read` shows what is in a file."""

from budgetron.model.files.model_files import FORMAT as FORMAT
from budgetron.model.files.model_files import FORMAT_VERSION as FORMAT_VERSION
from budgetron.model.files.model_files import ModelFile as ModelFile
from budgetron.model.files.model_files import Path as Path
from budgetron.model.files.model_files import encoded as encoded
from budgetron.model.files.model_files import from_code_points as from_code_points
from budgetron.model.files.model_files import load as load
from budgetron.model.files.model_files import read as read
from budgetron.model.files.model_files import save as save
