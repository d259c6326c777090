"""LSQB, the labelled subgraph query benchmark (Mhedhbi et al., GRADES-NDA 2021): its nine queries on two small graphs.

Matches are homomorphisms with the inequalities that a query states, and each query is one text: what may be missing is
OPTIONAL, what must not be there a negated edge. The graphs are those of the benchmark as one table of edges.
"""

import pandas as pd
import paths
import pytest
from lsqb_queries import LSQB_QUERIES, TAGGED_MESSAGE

import cusubmatch as csm

TRUTH = pd.read_csv(paths.TRUTH / "lsqb.tsv", sep="\t", index_col="query")

NEGATED = {"q8": "NOT (comment)-[:hasTag]->(tag1)", "q9": "NOT (person1)-[:knows]-(person3)"}


@pytest.fixture(params=["example", "sf0.003"])
def scale(request):
    return request.param


@pytest.fixture
def lsqb(data_graph, scale):
    return data_graph(f"lsqb-{scale}.directed")


@pytest.mark.parametrize("query", LSQB_QUERIES)
def test_the_count_of_a_query_is_the_benchmarks(lsqb, scale, query):
    assert csm.count_matches(lsqb, LSQB_QUERIES[query], semantics="homomorphism") == TRUTH.loc[query, scale]


@pytest.mark.parametrize("query", ["q1", "q3", "q6", "q7", "q8", "q9"])
def test_the_matches_of_a_query_are_as_many_rows_as_its_count(lsqb, scale, query):
    assert len(csm.subgraph_match(lsqb, LSQB_QUERIES[query], semantics="homomorphism")) == TRUTH.loc[query, scale]


def test_the_rows_of_q7_are_those_of_joined_matches(lsqb):
    def matches(text):
        return csm.subgraph_match(lsqb, text, semantics="homomorphism")

    tagged = matches(TAGGED_MESSAGE)
    likes = matches("(liker:Person)-[:likes]->(message:Post|Comment)")
    replies = matches("(comment:Comment)-[:replyOf]->(message:Post|Comment)")
    joined = tagged.merge(likes, on="message", how="left").merge(replies, on="message", how="left")
    rows = matches(LSQB_QUERIES["q7"])
    columns = list(joined.columns)
    assert sorted(rows[columns].fillna(-1).to_numpy().tolist()) == sorted(joined.fillna(-1).to_numpy().tolist())


@pytest.mark.parametrize("query", NEGATED)
def test_a_negated_edge_may_be_said_as_what_does_not_exist(lsqb, scale, query):
    negated = NEGATED[query]
    text = LSQB_QUERIES[query].replace(negated, f"NOT EXISTS {{ {negated.removeprefix('NOT ')} }}")
    assert csm.count_matches(lsqb, text, semantics="homomorphism") == TRUTH.loc[query, scale]
