"""``budgetron serve``: learn and predict over HTTP. docs/service.md has the contract.

==============  ======================================================================
``rows``        bodies of requests to rows
``ipc``         whether an Arrow stream is compressed
``learning``    a group of requests learned on a copy of a model
``log``         what is on disk: requests, idempotency keys, kept rows (SQLite)
``entries``     the tables of the log, with checksums; ``end`` where it ends
``log_check``   what is wrong with a log, and what of it can be kept; ``fsck``
``snapshot``    saved models, from which a restart replays the log
``settings``    what a model is, chosen when its folder is created
``tally``       how well the rows were predicted before they were learned
``writer``      the only thread that changes a model: group commit
``models``      a model in its folder, and all models of a service
``replica``     a model that follows the log of another service
``input``       messages of a broker, learned by the writer
``routes``      endpoints of /v1; ``oip`` those of /v2; ``openapi`` describes them
``connections`` limits on connections and headers, before anyone is known
``app``         the application and its process
==============  ======================================================================
"""
