"""The settings user_floor and score_share with the ready embedder: turns about two things, and about none."""

from __future__ import annotations

from uuid import UUID

import psycopg
import pytest

from memstore import Store
from memstore.embedders import ready
from tests.client.test_similar import corpus
from tests.databases import skip_without

SHOP = """\
I use pnpm, not npm.
The shop runs on PostgreSQL 16 with Drizzle.
Tests of the shop run with vitest; run them before each commit.
Deploys of the shop happen on Tuesdays, by GitHub Actions.
Answer in English, briefly.
The checkout module must not be changed without asking Marta.
I use tabs, never spaces.
My name is Ana and I live in Lisbon.
I am vegetarian.
"""
# Each with parts of what it wants to be told.
SHOP_TURNS = """\
Install the dependencies and run the tests.|I use pnpm|Tests of
Which database do we use?|PostgreSQL
Install the dependencies.|I use pnpm
Add zod to the project and deploy it.|I use pnpm|Deploys
Fix the typo in the checkout button.|checkout
When is the next deploy?|Deploys
Write a function that parses dates.|tabs
Set up CI for the project.|Deploys|vitest|pnpm
What shall I cook tonight?|vegetarian
Where do I live?|Lisbon
"""
BERGEN_TURNS = """\
Fix the login error and add a test for it.|Error messages|Integration tests
Plan a weekend in Oslo and find a bakery on the way.|parents in Oslo|bakery
Find me a flight to Tokyo in the spring.|afraid of flying|trip to Japan
When is stand-up, and who is our product owner?|stand-up|Silje
How do I get to the orchestra by public transport?|orchestra|tram
Give Bamse a bath and call the landlord.|Bamse|Haugen
Can we get a kitten for my daughter's birthday?|allergic to cats|Ida
Recommend new running shoes and a book for the journey.|size 44|Kindle
Start the build on CI and tell me when staging is clean.|self-hosted|staging environment
Rename the branch and squash the commits.|Branches|commit
Call my brother and pay the rent.|brother|rent
"""
IDLE = (
    "Hello!|Thanks!|ok|Good morning|yes please|Can you continue?|Sounds good.|lol|What do you think?"
    "|Great, go on.|Hmm.|One moment.|Never mind.|Bye!|Tell me more."
)


@pytest.mark.parametrize(
    ("memories", "turns", "wanted", "lines"),
    [(SHOP.splitlines(), SHOP_TURNS, 12, 15), (corpus("bergen")[0], BERGEN_TURNS, 22, 41)],
    ids=["shop", "bergen"],
)
def test_turns(
    db: psycopg.Connection, account: UUID, memories: list[str], turns: str, wanted: int, lines: int
) -> None:
    """The second thing that a turn is about stays, also where the memory has none of its words."""
    embedder = ready()
    if not embedder:
        skip_without("the extra embed")
    store = Store(db, embedder=embedder)
    store.configure(user_floor=0.2, score_share=0.4)
    for body in memories:
        store.insert_memory(account, body.rpartition("|")[2])
    told = attached = 0
    for line in turns.splitlines():
        turn, *parts = line.split("|")
        bodies = [memory.body for memory in store.recall(account, turn).memories]
        told += sum(any(part in body for body in bodies) for part in parts)
        attached += len(bodies)
    assert told >= wanted
    assert attached <= lines
    idle = [len(store.recall(account, turn).memories) for turn in IDLE.split("|")]
    assert sum(idle) / len(idle) <= 1.8
