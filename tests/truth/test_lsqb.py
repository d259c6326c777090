"""LSQB, the labelled subgraph query benchmark (Mhedhbi et al., GRADES-NDA 2021): its nine queries on two small graphs.

Matches are homomorphisms with the inequalities that a query states. A pattern says q1 to q6 as they stand. It cannot
say yet what may be missing or must not be there, so q7 (optional parts) joins frames of matches, and q8 and q9 (a
negated edge) are differences of two counts: all matches less those that have the edge.
"""

import pandas as pd
import paths
import pytest

import cusubmatch as csm

TRUTH = pd.read_csv(paths.TRUTH / "lsqb.tsv", sep="\t", index_col="query")

TAGGED_REPLY = "(tag1:Tag)<-[:hasTag]-(message:Post|Comment)<-[:replyOf]-(comment:Comment)-[:hasTag]->(tag2:Tag)"
FRIEND_OF_FRIEND = "(person1:Person)-[:knows]-(person2:Person)-[:knows]-(person3:Person)-[:hasInterest]->(tag:Tag)"
TAGGED_MESSAGE = "(tag:Tag)<-[:hasTag]-(message:Post|Comment)-[:hasCreator]->(creator:Person)"

QUERIES = {
    "q1": """(:Country)<-[:isPartOf]-(:City)<-[:isLocatedIn]-(person:Person)<-[:hasMember]-(forum:Forum)
             -[:containerOf]->(:Post)<-[:replyOf]-(:Comment)-[:hasTag]->(:Tag)-[:hasType]->(:TagClass)""",
    "q2": """(person1:Person)-[:knows]-(person2:Person),
             (person1)<-[:hasCreator]-(comment:Comment)-[:replyOf]->(post:Post)-[:hasCreator]->(person2)""",
    "q3": """(person1:Person)-[:knows]-(person2:Person)-[:knows]-(person3:Person)-[:knows]-(person1),
             (person1)-[:isLocatedIn]->(:City)-[:isPartOf]->(country:Country),
             (person2)-[:isLocatedIn]->(:City)-[:isPartOf]->(country),
             (person3)-[:isLocatedIn]->(:City)-[:isPartOf]->(country)""",
    "q4": f"{TAGGED_MESSAGE}, (liker:Person)-[:likes]->(message)<-[:replyOf]-(comment:Comment)",
    "q5": TAGGED_REPLY,
    "q6": FRIEND_OF_FRIEND,
}
DISTINCT = {"q5": [("tag1", "tag2")], "q6": [("person1", "person3")]}


@pytest.fixture(params=["example", "sf0.003"])
def scale(request):
    return request.param


@pytest.fixture
def lsqb(data_graph, scale):
    return data_graph(f"lsqb-{scale}.directed")


def count(G, text, distinct=()):
    return csm.count_matches(G, csm.Pattern.parse(text, distinct=distinct), semantics="homomorphism")


@pytest.mark.parametrize("query", QUERIES)
def test_queries_that_a_pattern_can_say(lsqb, scale, query):
    assert count(lsqb, QUERIES[query], DISTINCT.get(query, ())) == TRUTH.loc[query, scale]


@pytest.mark.parametrize("query", ["q1", "q3", "q6"])
def test_the_matches_of_a_query_are_as_many_rows_as_its_count(lsqb, scale, query):
    pattern = csm.Pattern.parse(QUERIES[query], distinct=DISTINCT.get(query, ()))
    assert len(csm.subgraph_match(lsqb, pattern, semantics="homomorphism")) == TRUTH.loc[query, scale]


def test_q7_keeps_messages_without_likes_or_replies_by_joining_matches(lsqb, scale):
    def matches(text):
        return csm.subgraph_match(lsqb, text, semantics="homomorphism")

    tagged = matches(TAGGED_MESSAGE)
    likes = matches("(liker:Person)-[:likes]->(message:Post|Comment)")
    replies = matches("(comment:Comment)-[:replyOf]->(message:Post|Comment)")
    optional = tagged.merge(likes, on="message", how="left").merge(replies, on="message", how="left")
    assert len(optional) == TRUTH.loc["q7", scale]


def test_q8_is_tagged_replies_less_those_that_share_the_tag(lsqb, scale):
    distinct = [("tag1", "tag2")]
    shared = f"{TAGGED_REPLY}, (comment)-[:hasTag]->(tag1)"
    assert count(lsqb, TAGGED_REPLY, distinct) - count(lsqb, shared, distinct) == TRUTH.loc["q8", scale]


def test_q9_is_friends_of_friends_less_those_who_are_friends(lsqb, scale):
    distinct = [("person1", "person3")]
    friends = f"{FRIEND_OF_FRIEND}, (person1)-[:knows]-(person3)"
    assert count(lsqb, FRIEND_OF_FRIEND, distinct) - count(lsqb, friends, distinct) == TRUTH.loc["q9", scale]
