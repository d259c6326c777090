"""The nine queries of LSQB (Mhedhbi et al., GRADES-NDA 2021) as patterns: homomorphisms, inequalities stated."""

TAGGED_REPLY = "(tag1:Tag)<-[:hasTag]-(message:Post|Comment)<-[:replyOf]-(comment:Comment)-[:hasTag]->(tag2:Tag)"
FRIEND_OF_FRIEND = "(person1:Person)-[:knows]-(person2:Person)-[:knows]-(person3:Person)-[:hasInterest]->(tag:Tag)"
TAGGED_MESSAGE = "(tag:Tag)<-[:hasTag]-(message:Post|Comment)-[:hasCreator]->(creator:Person)"

LSQB_QUERIES = {
    "q1": """(:Country)<-[:isPartOf]-(:City)<-[:isLocatedIn]-(person:Person)<-[:hasMember]-(forum:Forum)
             -[:containerOf]->(:Post)<-[:replyOf]-(:Comment)-[:hasTag]->(:Tag)-[:hasType]->(:TagClass)""",
    "q2": """(person1:Person)-[:knows]-(person2:Person),
             (person1)<-[:hasCreator]-(comment:Comment)-[:replyOf]->(post:Post)-[:hasCreator]->(person2)""",
    "q3": """(person1:Person)-[:knows]-(person2:Person)-[:knows]-(person3:Person)-[:knows]-(person1),
             (person1)-[:isLocatedIn]->(:City)-[:isPartOf]->(country:Country),
             (person2)-[:isLocatedIn]->(:City)-[:isPartOf]->(country),
             (person3)-[:isLocatedIn]->(:City)-[:isPartOf]->(country)""",
    "q4": f"{TAGGED_MESSAGE}, (liker:Person)-[:likes]->(message)<-[:replyOf]-(comment:Comment)",
    "q5": f"{TAGGED_REPLY} WHERE tag1 <> tag2",
    "q6": f"{FRIEND_OF_FRIEND} WHERE person1 <> person3",
    "q7": f"""{TAGGED_MESSAGE} OPTIONAL (liker:Person)-[:likes]->(message)
              OPTIONAL (message)<-[:replyOf]-(comment:Comment)""",
    "q8": f"{TAGGED_REPLY} WHERE tag1 <> tag2 AND NOT (comment)-[:hasTag]->(tag1)",
    "q9": f"{FRIEND_OF_FRIEND} WHERE person1 <> person3 AND NOT (person1)-[:knows]-(person3)",
}
