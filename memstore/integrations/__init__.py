"""memstore behind the interfaces of agents' frameworks: a module each, for those who have the framework."""
