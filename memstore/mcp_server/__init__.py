"""`memstore mcp`: the memories of one account for agents, by the Model Context Protocol.

`tools` has the tools, `answers` what they answer, and `server` makes a server of them. No rule of the
database is written down here: what it refuses comes back as the tool's error, in its own words.
"""
