"""A store's own connections, and how a call is sent on any: for synchronous code, and for asynchronous."""
