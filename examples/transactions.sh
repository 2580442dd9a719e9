#!/bin/sh
# The same in the shell: sh examples/transactions.sh [FOLDER]. PYTHON is the Python that has budgetron.
set -e
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
cd "${1:-.}"
budgetron() { "$python" -m budgetron "$@"; }

[ -f transactions.csv ] || "$python" "$here/transactions.py" . > /dev/null

# A row that is cut off, as a crash leaves it. It is kept in bad/bad_rows.jsonl, and the run goes on.
cp transactions.csv dirty.csv
echo 't6000,2024-03-10 12:00' >> dirty.csv

# Predict each transaction, then learn it. The model is saved every 1000 rows; the same command resumes it.
budgetron run dirty.csv --target label --time when --id number --on-error bad \
  --save shell_model --checkpoint-every 1000 --resume --every 1000 --metrics kappa --predictions predictions.tsv \
  > run.txt

# Ask the model about new transactions, with other columns in another order.
printf 'device,amount,country\nphone,250,US\nlaptop,20,DE\nwatch,5,\n' > new.csv
budgetron predict shell_model new.csv > new.txt

# Compare the default with two others over random orders of the rows, and draw it.
budgetron compare transactions.csv --target label --time when --drop number --learners auto,bpa_nn,fogd \
  --budget 100 --components 100 --standardise --permutations 2 --figure compare.png > compare.txt

{
  echo 'Each row predicted, then learned:'; cat run.txt
  echo; echo 'The row that could not be read:'; cat bad/bad_rows.jsonl
  echo; echo 'New transactions:'; tail -n +2 new.csv | paste - new.txt
  echo; echo 'Beside others:'; cat compare.txt
  echo; echo 'The model:'; budgetron inspect shell_model | head -10
} > shell_report.txt
cat shell_report.txt
