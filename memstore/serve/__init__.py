"""`memstore serve` and `memstore web`: memories over HTTP, for agents by MCP and for people as pages.

`server` starts it, `application` puts it together, `guards` are before everything else, `acting` has each
call's account and scope decided by the database, `agents` serves the tools of `memstore.mcp_server`, and the
`pages_…` modules the pages. No rule of the database is repeated here.
"""
