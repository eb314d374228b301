"""From a social network to a graph of profiles: sources, the random-frontier crawler, topics, profiles and links."""

from microveil.graphs.crawling.crawler import LOCAL, Crawl, Limits, RateLimiter, UserRecord, crawl
from microveil.graphs.crawling.profiles import CrawledGraph, Profile, crawled_graph, extract_profiles, ranked_topics
from microveil.graphs.crawling.sources import (
    FileSource,
    PageProvider,
    Post,
    SocialSource,
    SyntheticSource,
    TopicProvider,
    TryAgainError,
    UnreachableUserError,
    User,
)
from microveil.graphs.crawling.topic_words import OTHER, TOPICS
from microveil.graphs.crawling.topics import TopicDecision, WordTopics

__all__ = [
    "LOCAL",
    "OTHER",
    "TOPICS",
    "Crawl",
    "CrawledGraph",
    "FileSource",
    "Limits",
    "PageProvider",
    "Post",
    "Profile",
    "RateLimiter",
    "SocialSource",
    "SyntheticSource",
    "TopicDecision",
    "TopicProvider",
    "TryAgainError",
    "UnreachableUserError",
    "User",
    "UserRecord",
    "WordTopics",
    "crawl",
    "crawled_graph",
    "extract_profiles",
    "ranked_topics",
]
