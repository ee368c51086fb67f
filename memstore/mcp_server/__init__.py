"""`memstore mcp`: the memories of one account for agents, by the Model Context Protocol.

`tools` has the tools, `answers` what they answer, and `server` serves them. No rule of the database is
repeated here: its refusals are the tools' errors.
"""
