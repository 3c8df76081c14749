"""Everything round the model that can run in process: encoders, indexes, caches, routing.

| modules (each group may use those above it) | what they are |
| --- | --- |
| script, vectors, libraries | reading text; the encoder seam; lazy imports |
| encoder_models, encoders, pool | which encoder reads what; encoding beside an event loop |
| index, keywords, fuse, rerank | the stages of a search |
| keys, store, store_redis | what an answer depends on; where entries lie |
| search, assemble | a library of documents; what of it goes into a prompt |
| quantities, critical_terms, guards, semantic, cache | the layers of a cache |
| router, gate, prefix | topic without a model; small model's answer; static prompt |
| quality, speed, bench_*, measure | figures, and the tables the simulator reads |
"""
