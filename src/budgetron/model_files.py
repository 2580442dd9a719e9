"""Model files as data: the public name of ``budgetron.model.files.model_files``."""

from budgetron.model.files.model_files import ModelFile as ModelFile
from budgetron.model.files.model_files import encoded as encoded
from budgetron.model.files.model_files import load as load
from budgetron.model.files.model_files import read as read
from budgetron.model.files.model_files import save as save
