"""Social graphs: methods, attacks and losses for tables with links between their records, crawling and profiles, and
what there is for graphs as arrays."""

from typing import TYPE_CHECKING

from microveil.entries import homes, offered

if TYPE_CHECKING:
    from microveil.graphs import crawling
    from microveil.graphs.extraction import extract_microdata
    from microveil.microdata.edges import Edges
    from microveil.microdata.files.graph_files import from_networkx, to_networkx
    from microveil.numerics.graphs.adjacency import Adjacency, adjacency, clean_edges, edge_list
    from microveil.numerics.graphs.candidates import DegreeCandidates
    from microveil.numerics.graphs.degree_anonymity import (
        anonymised_degrees,
        degree_anonymous_graph,
        degree_anonymous_supergraph,
    )
    from microveil.numerics.graphs.graph_matching import degree_signature_candidates, expand_seeds, friends_vote
    from microveil.numerics.graphs.mixing import (
        aamil,
        assortativity,
        cdil,
        degree_weighted_cdil,
        numeric_assortativity,
    )
    from microveil.numerics.graphs.mixing_model import mixing_model_graph
    from microveil.numerics.graphs.neighbourhoods import (
        consistent_neighbourhoods,
        equal_neighbourhoods,
        known_neighbours,
    )
    from microveil.numerics.graphs.paths import distances_from, path_lengths
    from microveil.numerics.graphs.rewiring import replace_edges, swap_edges
    from microveil.numerics.graphs.statistics import degree_entropy, graph_statistics, node_importance
    from microveil.numerics.graphs.structural_loss import (
        Structure,
        adjusted_rand,
        communities,
        modularity,
        structural_loss,
    )

_NAMES = {
    "adjacency": ("Adjacency", "adjacency", "clean_edges", "edge_list"),
    "candidates": ("DegreeCandidates",),
    "degree_anonymity": ("anonymised_degrees", "degree_anonymous_graph", "degree_anonymous_supergraph"),
    "graph_matching": ("degree_signature_candidates", "expand_seeds", "friends_vote"),
    "mixing": ("aamil", "assortativity", "cdil", "degree_weighted_cdil", "numeric_assortativity"),
    "mixing_model": ("mixing_model_graph",),
    "neighbourhoods": ("consistent_neighbourhoods", "equal_neighbourhoods", "known_neighbours"),
    "paths": ("distances_from", "path_lengths"),
    "rewiring": ("replace_edges", "swap_edges"),
    "statistics": ("degree_entropy", "graph_statistics", "node_importance"),
    "structural_loss": ("Structure", "adjusted_rand", "communities", "modularity", "structural_loss"),
}
__all__ = [
    "Adjacency",
    "DegreeCandidates",
    "Edges",
    "Structure",
    "aamil",
    "adjacency",
    "adjusted_rand",
    "anonymised_degrees",
    "assortativity",
    "cdil",
    "clean_edges",
    "communities",
    "consistent_neighbourhoods",
    "crawling",
    "degree_anonymous_graph",
    "degree_anonymous_supergraph",
    "degree_entropy",
    "degree_signature_candidates",
    "degree_weighted_cdil",
    "distances_from",
    "edge_list",
    "equal_neighbourhoods",
    "expand_seeds",
    "extract_microdata",
    "friends_vote",
    "from_networkx",
    "graph_statistics",
    "known_neighbours",
    "mixing_model_graph",
    "modularity",
    "node_importance",
    "numeric_assortativity",
    "path_lengths",
    "replace_edges",
    "structural_loss",
    "swap_edges",
    "to_networkx",
]

# kernels are compiled when one of these is first used, not when the package is imported
__getattr__, __dir__ = offered(
    globals(),
    {
        **{name: f"microveil.numerics.graphs.{module}" for module, names in _NAMES.items() for name in names},
        "Edges": "microveil.microdata.edges",
        "extract_microdata": "microveil.graphs.extraction",
        **dict.fromkeys(("from_networkx", "to_networkx"), "microveil.microdata.files.graph_files"),
        **homes(__name__),
    },
    [*__all__, *homes(__name__)],
    {"crawling": "microveil.graphs.crawling"},
)
