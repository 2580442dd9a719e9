"""Messages of Redis Streams, NATS JetStream and Kafka as rows. docs/brokers.md says what is guaranteed.

==================  ==================================================================
``address``         URLs such as ``redis://host/stream``
``broker``          the interface of all three: seek, receive, commit
``redis_streams``   Redis Streams
``nats_jetstream``  NATS JetStream
``kafka``           Kafka
``following``       messages without end: a lost connection is made again
``records``         the bodies of messages to rows
``messages``        the stream of rows behind ``budgetron run``
==================  ==================================================================
"""
