"""Tools of MCP servers: servers are started when first needed and run as long as a solve; what they say is not trusted.

announced    what a server says about a tool, checked and cut
connection   one started server, through AutoGen's workbench
servers      all servers of a run: calls, time-outs, one restart, the end
toolbox      the tools of a library's servers, under names that are free
specs        such a tool as the library and members see it
"""
