"""Microaggregation is grouping times publishing: a partitioner makes groups, an aggregator says what each publishes."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
