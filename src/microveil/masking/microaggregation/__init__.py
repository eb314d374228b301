"""Microaggregation is grouping times publishing: a partitioner makes groups, an aggregator says what each publishes."""
