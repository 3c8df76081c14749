"""The local engine: llama.cpp in child processes of ours, its weights, and the line before it.

    models, wheel, requantize   which weights there are, and how they get here
    sealed, watch               files that are whole or not there; progress and cancelling
    question, script            a call in the words of the server; a check of what it writes
    settings, worker            how an engine runs; the child process it is
    engine                      the life of one child process
    wire, client                one streamed answer over its socket
    lease, pool                 who may use which engine, in which order
    provider                    `LocalProvider`, the seam to plans
    machine                     cores, and who else uses them

Nothing here is loaded, started or downloaded by an import.
"""
